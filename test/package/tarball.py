#!/usr/bin/python3
"""tarball.py TARBALL [SAMPLE_BUNDLE]: unpacks the tarball in a root folder that
has glibc alone, compiles SqueezeNet there and runs it; then moves it.

Exit status 77: the machine lets nobody change the root.
"""

import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from trypackage import Root, build_user, check_size, pythons, try_python, wrong


def main():
    tarball = sys.argv[1]
    sample = sys.argv[2] if len(sys.argv) > 2 else None
    check_size(tarball)
    with Root() as root, tarfile.open(tarball) as tar:
        names = tar.getnames()
        tops = {name.partition("/")[0] for name in names}
        if len(tops) != 1 or any(".." in n.split("/") for n in names):
            wrong(f"{tarball}: found {sorted(tops)}, expected one folder")
        (top,) = tops
        start = time.monotonic()
        tar.extractall(root.path)
        if not root.can_run(f"/{top}/bin/nnv12c"):
            print("skipped: package.tarball: nobody may change the root here")
            sys.exit(77)
        root.try_tools(f"/{top}/bin", start)
        # Elsewhere it works as well.
        (root.path / top).rename(root.path / "moved")
        root.answer("/moved/bin")
        root.try_copies("/moved/bin")
        with tempfile.TemporaryDirectory() as work:
            build_user(root.path / "moved", Path(work) / "user", sample)
            clean = {"PYTHONPATH": str(root.path / "moved/python")}
            for python in pythons().values():
                try_python(python, Path(work), clean)
        # Without glibc, as on musl, no program starts.
        (root.path / "lib64/ld-linux-x86-64.so.2").unlink()
        done = subprocess.run(
            [str(w) for w in root.command("/moved/bin/nnv12c", "--version")],
            capture_output=True,
            text=True,
        )
        if done.returncode == 0 or done.stderr.count("\n") != 1:
            wrong(f"without glibc: found '{done.stderr}', expected one line")
    print("tarball: runs with glibc alone, wherever it lies")


if __name__ == "__main__":
    main()
