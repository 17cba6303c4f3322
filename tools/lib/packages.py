"""Makes a wheel and a tarball of installed files. tools/wheel calls it.

  packages.py wheel INSTALLED PYTHON_PACKAGE VERSION EPOCH OUT_FOLDER
  packages.py tarball INSTALLED PYTHON_PACKAGE VERSION EPOCH OUT_FOLDER

INSTALLED is the folder of `cmake --install`, PYTHON_PACKAGE that of the sources
in Python, whether or not it is there. Prints the path of the package. Refuses
files that would need anything but glibc.
"""

import os
import sys
from pathlib import Path

from glibcneeds import is_elf, manylinux_tag
from wheelfile import files_below, write_tarball, write_wheel

# Where the Python package looks for library and tools.
INSIDE = "nnv12/_files"
METADATA = """\
Metadata-Version: 2.1
Name: nnv12
Version: {version}
Summary: Compiler and runtime for neural networks that answer at once
License: Apache-2.0
Keywords: onnx,inference,compiler
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Description-Content-Type: text/plain

nnv12c turns an ONNX model into one file of code and weights, a bundle. A small
runtime maps the bundle and runs it. Both are in this package, with the other
tools, headers for C and C++, and files for CMake and pkg-config: below _files.
"""


def sources(package):
    """The files of the Python package, relative to it."""
    return [
        name
        for name in files_below(package)
        if name.endswith((".py", "py.typed"))
    ]


def check(installed):
    """The tag of the platform that the installed programs run on."""
    files = [Path(installed, name) for name in files_below(installed)]
    programs = [f for f in files if not f.is_symlink() and is_elf(f)]
    # Programs link installed libraries and glibc, nothing else.
    return manylinux_tag(programs, {f.name for f in files})


def make_wheel(installed, package, version, epoch, out):
    tag = f"py3-none-{check(installed)}"
    files = {
        f"{INSIDE}/{name}": Path(installed, name)
        for name in files_below(installed)
    }
    files.update(
        {f"nnv12/{name}": Path(package, name) for name in sources(package)}
    )
    for name in ("LICENSE", "NOTICE"):
        files[f"nnv12-{version}.dist-info/licenses/{name}"] = Path(
            installed, "share/doc/nnv12", name
        )
    commands = {}
    if Path(package, "command.py").exists():
        commands["nnv12"] = "nnv12.command:main"
    path = Path(out, f"nnv12-{version}-{tag}.whl")
    metadata = METADATA.format(version=version)
    write_wheel(path, "nnv12", version, tag, files, metadata, commands, epoch)
    return path


def make_tarball(installed, package, version, epoch, out):
    check(installed)
    top = f"nnv12-{version}-linux-x86_64"
    files = {name: Path(installed, name) for name in files_below(installed)}
    # With the folder python on PYTHONPATH, the package finds the files above.
    files.update(
        {
            f"python/nnv12/{name}": Path(package, name)
            for name in sources(package)
        }
    )
    path = Path(out, f"{top}.tar.gz")
    links = {"python/nnv12/_files": "../.."}
    write_tarball(path, top, files, links, epoch)
    return path


def main():
    make = {"wheel": make_wheel, "tarball": make_tarball}[sys.argv[1]]
    installed, package, version, epoch, out = sys.argv[2:]
    os.makedirs(out, exist_ok=True)
    try:
        print(make(installed, package, version, int(epoch), out))
    except ValueError as error:
        sys.exit(f"tools/wheel: error: {error}")


if __name__ == "__main__":
    main()
