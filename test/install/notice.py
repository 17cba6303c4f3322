#!/usr/bin/python3
"""NOTICE names every work that the installed files contain, and no other.

  notice.py SOURCE_DIR BUILD_DIR NINJA

Asks ninja for the headers that objects of the project were compiled with, but
for those of tests, and for the libraries that programs are linked with
statically. Says what is not as it should be, a line each, and exits 1 then.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

# Where a work's headers and static libraries lie, and its section in NOTICE.
WORKS = [
    (r"/CLI/", "CLI11"),
    (r"/nlohmann/", "JSON for Modern C++ (nlohmann-json)"),
    (r"/stb/", "stb: stb_image and stb_image_resize"),
    (r"/flatbuffers/", "FlatBuffers"),
    (r"/spirv/", "SPIR-V headers"),
    (r"/(vulkan|vk_video)/", "Vulkan headers"),
    (r"/llvm(-c)?-\d+/", "LLVM, MLIR and lld"),
    (r"/google/protobuf/|/libprotobuf\.a$", "Protocol Buffers (protobuf)"),
    (r"/onnx/", "ONNX"),
    (r"/zstd\.h$|/libzstd\.a$", "Zstandard (zstd)"),
    (r"/libz\.a$", "zlib"),
    (
        r"/(include/c\+\+|c\+\+/\d+|lib/gcc|lib/gcc-cross)/|/include/c\+\+",
        "GCC runtime libraries: libstdc++ and libgcc",
    ),
]
# Sections of works that packages alone hold (the preset `package`).
PACKAGED = ["zlib", "libsodium"]
# Packages of headers that are the system's own.
SYSTEM = re.compile(r"(libc6|linux-libc|libcrypt)-dev")
# Names that NOTICE has beside the sections: libraries that are only loaded.
LOADED = ["libzstd", "libsodium", "Vulkan loader", "libLLVM", "libprotobuf"]


def ninja(tool, build, *arguments):
    return subprocess.run(
        [sys.argv[3], "-C", build, "-t", tool, *arguments],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def headers(build):
    """Files outside of the project that installed objects depend on."""
    mine = False
    for line in ninja("deps", build).splitlines():
        if line and not line.startswith(" "):
            mine = not line.startswith("test/")
        elif mine and line.strip().startswith("/"):
            yield os.path.normpath(line.strip())


def static_libraries(source, build):
    """Those outside of the project in the commands that link programs."""
    for command in ninja("commands", build).splitlines():
        if " -o bin/nnv12" in command or " -o lib/libnnv12" in command:
            for word in command.split():
                if word.startswith("/") and word.endswith(".a"):
                    yield word


def owners(files):
    """The package of each file; without dpkg-query nothing is known."""
    if not files or not shutil.which("dpkg-query"):
        return
    lines = subprocess.run(
        ["dpkg-query", "-S", *files], capture_output=True, text=True
    ).stdout.splitlines()
    known = {
        file: package
        for package, _, file in (line.partition(": ") for line in lines)
    }
    for file in files:
        yield file, known.get(file, "no package")


def main():
    source, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    text = (source / "NOTICE").read_text()
    sections = re.findall(r"^=+\n(.+)\n=+$", text, re.MULTILINE)
    own = (str(source) + os.sep, str(build) + os.sep)
    faults, found = [], {}
    others = []
    for file in {*headers(build), *static_libraries(source, build)}:
        if file.startswith(own):
            continue
        for pattern, section in WORKS:
            if re.search(pattern, file):
                found.setdefault(section, file)
                break
        else:
            others.append(file)
    for file, package in owners(others):
        if not SYSTEM.match(package):
            faults.append(
                f"found {file} of {package}, which NOTICE does not name"
            )
    if not found:
        faults.append(f"{build}: found nothing that was compiled")
    known = [section for _, section in WORKS] + PACKAGED
    for section in known:
        if section in found and section not in sections:
            faults.append(
                f"NOTICE: found no section '{section}', expected one for "
                f"{found[section]}"
            )
    for section in sections:
        if section not in known:
            faults.append(f"NOTICE: found '{section}', which nothing contains")
        body = text.partition(f"\n{section}\n===")[2].partition("\n====")[0]
        if "Copyright" not in body or not re.search(
            "Redistribution|Permission is|License", body
        ):
            faults.append(f"NOTICE: {section}: found no licence")
    for name in LOADED:
        if name not in text:
            faults.append(f"NOTICE: found no '{name}'")
    print(*sorted(faults), sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
