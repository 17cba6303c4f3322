#!/usr/bin/python3
"""wheel.py WHEEL [SAMPLE_BUNDLE]: installs the wheel into a clean virtual
environment of each Python from 3.9 on that is found, compiles SqueezeNet there
and runs it."""

import base64
import csv
import hashlib
import os
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
    check_size,
    check_time,
    wrong,
)

# Runs in the virtual environment, without NumPy. {0} is the model, {1} where
# the bundle goes.
TRY = """
import array, nnv12
nnv12.compile({0!r}, {1!r})
with nnv12.Session({1!r}) as session:
    shape = session.inputs[0].shape
    size = 1
    for extent in shape:
        size *= extent
    image = memoryview(array.array("f", [0.5] * size))
    image = image.cast("B").cast("f", tuple(shape))
    result = session.run({{session.inputs[0].name: image}})
    print(len(result))
"""


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


def pythons():
    """One interpreter for each version from 3.9 on that is found."""
    folders = os.environ.get("PATH", "").split(":")
    versions = Path.home() / ".pyenv/versions"
    candidates = [Path("/usr/bin/python3")]
    candidates += [p / "bin/python3" for p in sorted(versions.glob("*"))]
    for folder in folders:
        candidates += sorted(Path(folder or ".").glob("python3.[0-9]*"))
    found = {}
    for path in candidates:
        if not re.fullmatch(r"python3(\.\d+)?", path.name):
            continue
        done = (
            subprocess.run(
                [path, "-c", "import sys; print(*sys.version_info[:2])"],
                capture_output=True,
                text=True,
            )
            if path.exists()
            else None
        )
        if done and done.returncode == 0:
            version = tuple(map(int, done.stdout.split()))
            if version >= (3, 9):
                found.setdefault(version, path)
    return found


def try_python(python, wheel, sample, work):
    """One virtual environment, from its making to its end."""
    call([python, "-m", "venv", work / "venv"])
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
    if Path(where, "session.py").exists():
        model, made = str(DEMO / "squeezenet.onnx"), str(work / "p.nnv")
        found = call(
            [inside, "-c", TRY.format(model, made)], env=clean, cwd=work
        ).strip()
        if found != "1":
            wrong(f"{python}: found '{found}', expected one result")
    if Path(where, "command.py").exists():
        call([work / "venv/bin/nnv12", "--help"], env=clean, cwd=work)
    if sample is not None:
        build_user(files, work / "user", sample or None)
    call([*pip, "check"], env=clean)
    call([*pip, "uninstall", "--yes", "nnv12"], env=clean)
    if Path(where).exists():
        left = [p for p in Path(where).rglob("*") if p.is_file()]
        if left:
            wrong(f"uninstalled: found {left[0]}")
    return pip, clean


def check_foreign(pip, wheel, work, clean):
    """Another libc: pip refuses in a line."""
    done = subprocess.run(
        [*pip, "install", "--no-index", "--no-deps", "--only-binary=:all:",
         "--platform", "musllinux_1_2_x86_64", "--target", work / "musl",
         wheel],
        capture_output=True, text=True, env=clean,
    )  # fmt: skip
    line = done.stderr.strip()
    if done.returncode == 0 or "\n" in line or "not a supported" not in line:
        wrong(f"musl: found '{line}', expected a line that refuses")


def main():
    wheel = sys.argv[1]
    # Programs are built against the wheel once; "" says that there is no
    # bundle to run them with.
    sample = sys.argv[2] if len(sys.argv) > 2 else ""
    check_size(wheel)
    names = check_format(wheel)
    for part in "bin/nnv12c", "lib/libnnv12.so.0.1", "include/nnv12.h":
        if f"nnv12/_files/{part}" not in names:
            wrong(f"{wheel}: found no {part}")
    found = pythons()
    if not found:
        wrong("found no Python from 3.9 on")
    for version, python in sorted(found.items()):
        with tempfile.TemporaryDirectory(prefix="nnv12-wheel-") as work:
            work = Path(work)
            pip, clean = try_python(python, wheel, sample, work)
            if sample is not None:
                check_foreign(pip, wheel, work, clean)
        sample = None
    print("wheel: runs with", *(f"{a}.{b}" for a, b in sorted(found)))


if __name__ == "__main__":
    main()
