#!/usr/bin/python3
"""debian.py NNV12_DEB LIBNNV12_DEV_DEB [SAMPLE_BUNDLE]: looks at the packages'
fields, unpacks them in a root folder that has glibc alone, compiles SqueezeNet
there and runs it.

Exit status 77: the machine lets nobody change the root.
"""

import re
import sys
import tempfile
import time
from pathlib import Path

from trypackage import Root, build_user, call, check_size, wrong


def field(package, name):
    return call(["dpkg-deb", "--field", package, name]).strip()


def files(package):
    """Names of files and links in a package."""
    lines = call(["dpkg-deb", "--contents", package]).splitlines()
    return {line.split()[5] for line in lines if not line.startswith("d")}


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
    for part in "bin/nnv12c", "libnnv12.so.0.1", "doc/nnv12/NOTICE":
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
    print("debian: both packages are whole, and need libc6 alone")


if __name__ == "__main__":
    main()
