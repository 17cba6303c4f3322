#!/usr/bin/python3
"""Checks which way the project's includes point.

    includes.py [--graph]

Between top folders: tools -> passes -> compiler -> dialects -> artifact, and
tools -> runtime -> artifact; an arrow may skip floors, test/ may use all.
Between the folders inside of one, and between units (a header and the source of
the same name), there is no circle. A header's guard is its path. No two product
files share a name but those of SHARED_NAMES. One line says what is wrong.
--graph prints the arrows between folders. Exit status: 0, or 1.
"""
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MAY_USE = {
    "artifact": set(),
    "dialects": {"artifact"},
    "compiler": {"dialects", "artifact"},
    "passes": {"compiler", "dialects", "artifact"},
    "runtime": {"artifact"},
    "tools": {"passes", "compiler", "dialects", "runtime", "artifact"},
    "test": {"tools", "passes", "compiler", "dialects", "runtime", "artifact"},
}
# A public header, and the header that flatc writes.
NO_GUARD = {"artifact/generated/bundle_generated.h", "runtime/include/nnv12.h"}
# Names that several folders may have; the list may only become shorter.
SHARED_NAMES = {
    # A routine is called the same on every processor.
    "ConvFew.cpp",
    "ConvTranspose.cpp",
    "ConvWinograd.cpp",
    "Element.cpp",
    "MatMul.cpp",
    "Pool.cpp",
    "Registry.cpp",
    "Rows.cpp",
    "Rows.h",
    "ProfileJson.cpp",
    "Report.cpp",
    "Report.h",
}
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.M)


def sources():
    listed = subprocess.run(
        [
            "git",
            "ls-files",
            "-co",
            "--exclude-standard",
            "*.h",
            "*.cpp",
            "*.hpp",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return [f for f in listed if f.split("/")[0] in MAY_USE]


def circles(arrows):
    """Groups of nodes that all lead to one another (Tarjan's algorithm)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for target in sorted(arrows.get(node, ())):
            if target not in number:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == number[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(arrows):
        if node not in number:
            visit(node)
    return found


def shared_names(files):
    """Faults of names that more than one product file has."""
    paths = defaultdict(list)
    for file in files:
        if not file.startswith("test/"):
            paths[Path(file).name].append(file)
    for name, found in sorted(paths.items()):
        if len(found) > 1 and name not in SHARED_NAMES:
            yield f"{name}: found {', '.join(found)}, expected one file"
    for name in sorted(SHARED_NAMES):
        if len(paths[name]) < 2:
            yield f"{name}: is in SHARED_NAMES, but no two files share it"


def main():
    files = sources()
    faults = list(shared_names(files))
    units, folders = defaultdict(set), defaultdict(set)
    known = set(files)
    for file in files:
        text = (ROOT / file).read_text()
        folder, unit = str(Path(file).parent), str(Path(file).with_suffix(""))
        if file.endswith(".h") and file not in NO_GUARD:
            guard = "NNV12_" + re.sub(r"[-/.]", "_", file).upper()
            if f"#ifndef {guard}\n#define {guard}\n" not in text:
                faults.append(f"{file}: expected the guard {guard}")
        for name in INCLUDE.findall(text):
            if name not in known:
                near = f"{folder}/{name}"
                if near not in known:
                    continue
                name = near
            top, used = file.split("/")[0], name.split("/")[0]
            if top != used and used not in MAY_USE[top]:
                faults.append(
                    f"{file}: includes {name}, but {top}/ may not use {used}/"
                )
            target = str(Path(name).parent)
            if target != folder:
                folders[folder].add(target)
            if str(Path(name).with_suffix("")) != unit:
                units[unit].add(str(Path(name).with_suffix("")))
    if "--graph" in sys.argv[1:]:
        for folder in sorted(folders):
            print(folder, "->", ", ".join(sorted(folders[folder])))
    for what, arrows in (("folders", folders), ("files", units)):
        for group in circles(arrows):
            faults.append(f"a circle of {what}: {', '.join(group)}")
    for fault in faults:
        print(f"includes: {fault}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
