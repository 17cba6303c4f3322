#!/usr/bin/python3
"""Says what a JUnit report of ctest holds, or what another test printed.

    testreport.py REPORT.xml [--require]
    testreport.py OUTPUT --name TEST [--require]

For a report the first line is "PASSED FAILED", in tests of ctest. A line
follows for each test that was skipped, with its reason, and for each reason for
which tests of GoogleTest in one were. With --require a skip for lack of a
package is a failure, and its line begins with "required:" instead of
"skipped:". It is one if its reason says which package to install.
"""
import argparse
import re
import xml.etree.ElementTree as tree
from collections import Counter
from pathlib import Path

# A line that tools print, and GoogleTest's text for GTEST_SKIP() << REASON.
SAID = re.compile(r"^skipped: (.*)$", re.M)
GOOGLE = re.compile(
    r"^\S+:\d+: Skipped\n(.*)\n(?:.*\n)*?\[  SKIPPED \] \S+ \(", re.M
)


def skips(case):
    """(name, reason) of each skip in a test of ctest."""
    name, output = case.get("name"), case.findtext("system-out") or ""
    inner = Counter(GOOGLE.findall(output))
    for reason, count in inner.items():
        yield f"{name}, {count} of its tests", reason
    said = SAID.findall(output)
    for reason in said:
        yield name, reason
    skipped = case.find("skipped")
    absent = case.get("status") in ("notrun", "disabled")
    if not said and (skipped is not None or absent):
        yield name, "did not run"


def is_lack(reason):
    """Whether a package that the project installs would have helped."""
    if "../shared" in reason:
        return False
    return bool(
        re.search(
            r"\binstall\b|\bpackage\b|ONNX Runtime|zoo:|did not run", reason
        )
    )


def tell(found, require):
    for name, reason in found:
        word = "required" if require and is_lack(reason) else "skipped"
        print(f"{word}: {name}: {reason}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--name")
    parser.add_argument("--require", action="store_true")
    args = parser.parse_args()
    if args.name:
        said = SAID.findall(args.file.read_text(errors="replace"))
        tell(((args.name, r) for r in said or ["did not run"]), args.require)
        return
    suite = tree.parse(args.file).getroot()
    cases = list(suite.iter("testcase"))
    failed = int(suite.get("failures", 0))
    unable = sum(
        c.find("skipped") is not None
        or c.get("status") in ("notrun", "disabled")
        for c in cases
    )
    print(len(cases) - failed - unable, failed)
    tell((skip for case in cases for skip in skips(case)), args.require)


if __name__ == "__main__":
    main()
