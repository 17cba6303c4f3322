#!/usr/bin/python3
"""wheel.py WHEEL [SAMPLE_BUNDLE]: installs the wheel into a clean virtual
environment of each Python from 3.9 on that is found, compiles SqueezeNet there
and runs it."""

import base64
import csv
import hashlib
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from trypackage import (
    DEMO,
    build_user,
    call,
    check_answer,
    check_command,
    check_size,
    check_start,
    check_time,
    has_numpy,
    pythons,
    try_python,
    wrong,
)


def check_record(wheel, names):
    """RECORD has the digest and the size of every other file."""
    (record,) = [n for n in names if n.endswith(".dist-info/RECORD")]
    rows = {}
    for name, digest, size in csv.reader(
        wheel.read(record).decode().splitlines()
    ):
        rows[name] = digest, size
    if sorted(rows) != sorted(names):
        other = min(set(rows) ^ set(names))
        wrong(f"RECORD: found {other} in one of RECORD and wheel alone")
    for name in names:
        data = wheel.read(name)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        expected = ("sha256=" + digest.decode().rstrip("="), str(len(data)))
        if name != record and rows[name] != expected:
            wrong(f"RECORD: {name}: found {rows[name]}, expected {expected}")


def check_format(path):
    """Checks the rules of the specification; returns the wheel's names."""
    match = re.fullmatch(
        r"nnv12-([\d.]+)-(py3-none-manylinux_2_\d+_x86_64)\.whl",
        Path(path).name,
    )
    if not match:
        wrong(f"{path}: expected nnv12-VERSION-py3-none-manylinux….whl")
    version, tag = match.groups()
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        if len(names) != len(set(names)):
            wrong(f"{path}: found a name twice")
        check_record(wheel, names)
        info = f"nnv12-{version}.dist-info"
        if f"Tag: {tag}\n" not in wheel.read(f"{info}/WHEEL").decode():
            wrong(f"WHEEL: expected Tag: {tag}")
        metadata = wheel.read(f"{info}/METADATA").decode()
        if f"\nVersion: {version}\n" not in metadata:
            wrong(f"METADATA: expected Version: {version}")
        for name in "LICENSE", "NOTICE":
            wheel.read(f"{info}/licenses/{name}")
    return names


def try_wheel(python, wheel, sample, work, options=()):
    """One virtual environment, from its making to its end. Returns pip and its
    variables."""
    call([python, "-m", "venv", *options, work / "venv"])
    inside = work / "venv/bin/python"
    pip = [inside, "-m", "pip", "--disable-pip-version-check"]
    # Nothing of this checkout or of the user's is seen.
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(work), "LC_ALL": "C.UTF-8"}
    start = time.monotonic()
    call([*pip, "install", "--no-index", "--no-deps", wheel], env=clean)
    where = call(
        [inside, "-c", "import nnv12; print(list(nnv12.__path__)[0])"],
        env=clean,
        cwd=work,
    ).strip()
    files = Path(where, "_files")
    bundle = work / "s.nnv"
    call(
        [files / "bin/nnv12c", DEMO / "squeezenet.onnx", "-o", bundle],
        env=clean,
    )
    check_answer(
        call(
            [
                files / "bin/nnv12-run", bundle, "--input",
                DEMO / "espresso.jpg", "--bgr", "--scale", "1",
                "--labels", DEMO / "labels.txt",
            ],
            env=clean,
        )  # fmt: skip
    )
    check_time(f"{python}: installed, compiled, run", time.monotonic() - start)
    try_python(inside, work, clean)
    check_command([work / "venv/bin/nnv12"], work, clean)
    if sample is not None:
        check_start(files / "bin/nnv12c")
        build_user(files, work / "user", sample or None)
        check_damage(inside, files, work, clean)
    if not options:
        call([*pip, "check"], env=clean)
    call([*pip, "uninstall", "--yes", "nnv12"], env=clean)
    if Path(where).exists():
        left = [p for p in Path(where).rglob("*") if p.is_file()]
        if left:
            wrong(f"uninstalled: found {left[0]}")
    return pip, clean


def check_damage(python, files, work, clean):
    """Without the library or nnv12c the package is imported, and says in a line
    what is missing."""
    for name, use in (
        ("lib/libnnv12.so.0.1", "nnv12.Session('s.nnv')"),
        ("bin/nnv12c", "nnv12.compile('none.onnx')"),
    ):
        path = files / name
        kept = path.read_bytes()
        # As on a processor that the wheel is not for.
        path.write_bytes(kept[:18] + b"\xff\xff" + kept[20:])
        code = f"""
import nnv12
try: {use}
except nnv12.Error as error: print(error)
"""
        found = call([python, "-c", code], env=clean, cwd=work)
        path.write_bytes(kept)
        if found.count("\n") != 1 or path.name[:7] not in found:
            wrong(f"{name}: found '{found.strip()}', expected one line")


def check_foreign(pip, wheel, work, clean):
    """Another libc, or an older glibc: pip refuses in a line."""
    for platform in "musllinux_1_2_x86_64", "manylinux_2_17_x86_64":
        done = subprocess.run(
            [*pip, "install", "--no-index", "--no-deps",
             "--only-binary=:all:", "--platform", platform, "--target",
             work / "other", wheel],
            capture_output=True, text=True, env=clean,
        )  # fmt: skip
        line = done.stderr.strip()
        refused = done.returncode and "not a supported" in line
        if not refused or "\n" in line:
            wrong(f"{platform}: found '{line}', expected a line that refuses")


def main():
    wheel = sys.argv[1]
    # Programs are built against the wheel once; "" says that there is no
    # bundle to run them with.
    sample = sys.argv[2] if len(sys.argv) > 2 else ""
    check_size(wheel)
    names = check_format(wheel)
    for part in (
        "bin/nnv12c",
        "include/nnv12.h",
        "lib/libnnv12-media.so.0.1",
        "lib/libnnv12.so.0.1",
    ):
        if f"nnv12/_files/{part}" not in names:
            wrong(f"{wheel}: found no {part}")
    found = pythons()
    if not found:
        wrong("found no Python from 3.9 on")
    for version, python in sorted(found.items()):
        # NumPy is the interpreter's own, where it has one.
        for options in [[], ["--system-site-packages"]]:
            if options and not has_numpy(python):
                continue
            with tempfile.TemporaryDirectory(prefix="nnv12-wheel-") as work:
                work = Path(work)
                pip, clean = try_wheel(python, wheel, sample, work, options)
                if sample is not None:
                    check_foreign(pip, wheel, work, clean)
            sample = None
    print("wheel: runs with", *(f"{a}.{b}" for a, b in sorted(found)))


if __name__ == "__main__":
    main()
