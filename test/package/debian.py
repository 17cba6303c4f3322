#!/usr/bin/python3
"""debian.py NNV12_DEB LIBNNV12_DEV_DEB [SAMPLE_BUNDLE]: looks at the packages'
fields, unpacks them in a root folder that has glibc alone, compiles SqueezeNet
there and runs it.

Exit status 77: the machine lets nobody change the root.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from trypackage import (
    DEMO,
    TRY,
    Root,
    build_user,
    call,
    check_answer,
    check_size,
    wrong,
)


def field(package, name):
    return call(["dpkg-deb", "--field", package, name]).strip()


def files(package):
    """Names of files and links in a package."""
    lines = call(["dpkg-deb", "--contents", package]).splitlines()
    return {line.split()[5] for line in lines if not line.startswith("d")}


# Mounts a copy of the root folder that keeps no change, and installs there.
MOUNT = """
set -e
mount -t tmpfs none "$1" || exit 77
mkdir "$1/changes" "$1/work" "$1/root"
mount -t overlay none "$1/root" \\
  -o "lowerdir=/,upperdir=$1/changes,workdir=$1/work" || exit 77
mount --rbind /proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
cp -R "$2" "$1/root/try"
exec chroot "$1/root" /bin/sh -ec "$3"
"""
INSTALL = """
cd /try
dpkg --install *.deb >&2
test -d /usr/lib/python3/dist-packages/nnv12/__pycache__
/sbin/ldconfig -p | grep -q libnnv12-media.so.0.1
/usr/bin/python3 try.py squeezenet.onnx s.nnv espresso.jpg labels.txt
nnv12 squeezenet.onnx espresso.jpg --cold 1 >&2
dpkg --remove nnv12 libnnv12-dev >&2
test ! -e /usr/lib/python3/dist-packages/nnv12
"""


def try_installed(packages):
    """Installs the packages as dpkg does, runs SqueezeNet from Python and by
    the command nnv12, and removes them. Returns whether the machine lets us."""
    if os.geteuid():
        return False
    with tempfile.TemporaryDirectory() as mounted, tempfile.TemporaryDirectory(
        dir="/tmp"
    ) as files:
        for source in [*packages, *DEMO.iterdir()]:
            shutil.copy(source, files)
        Path(files, "try.py").write_text(TRY)
        done = subprocess.run(
            ["unshare", "--mount", "/bin/sh", "-c", MOUNT, "sh", mounted, files,
             INSTALL],
            capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode == 77 or "unshare failed" in done.stderr:
            return False
        if done.returncode:
            wrong(f"installing: found {done.stderr.strip()}")
        check_answer(done.stdout)
    return True


def main():
    runtime, development = sys.argv[1:3]
    sample = sys.argv[3] if len(sys.argv) > 3 else None
    for package, name in (runtime, "nnv12"), (development, "libnnv12-dev"):
        check_size(package)
        found = field(package, "Package")
        if found != name:
            wrong(f"{package}: found package {found}, expected {name}")
    version = field(runtime, "Version")
    # libm belongs to libc6.
    needs = field(runtime, "Depends")
    if not re.fullmatch(r"libc6 \(>= [\d.]+\)", needs):
        wrong(f"nnv12: found Depends: {needs}, expected libc6 alone")
    if f"nnv12 (= {version})" not in field(development, "Depends"):
        wrong(f"libnnv12-dev: expected to depend on nnv12 (= {version})")
    both = files(runtime) & files(development)
    if both:
        wrong(f"found {min(both)} in both packages, expected it in one")
    for part in (
        "/bin/nnv12",
        "/bin/nnv12c",
        "/dist-packages/nnv12/session.py",
        "/doc/nnv12/NOTICE",
        "/lib/libnnv12-media.so.0.1",
        "/lib/libnnv12.so.0.1",
    ):
        if not any(name.endswith(part) for name in files(runtime)):
            wrong(f"nnv12: found no {part}")
    copies = [n for n in files(runtime) if "libzstd" in n or "sodium" in n]
    if copies:
        wrong(f"nnv12: found {copies[0]}, which Debian has a package of")
    with Root() as root:
        start = time.monotonic()
        for package in (runtime, development):
            call(["dpkg-deb", "--extract", package, root.path])
        if not root.can_run("/usr/bin/nnv12c"):
            print("skipped: package.debian: nobody may change the root here")
            sys.exit(77)
        root.try_tools("/usr/bin", start)
        with tempfile.TemporaryDirectory() as work:
            build_user(root.path / "usr", Path(work), sample)
    installed = try_installed([runtime, development])
    print(
        "debian: both packages are whole, and need libc6 alone;",
        "installed" if installed else "not installed: nobody may mount here",
    )


if __name__ == "__main__":
    main()
