#!/usr/bin/python3
"""Checks the project's pages.

    pages.py [ROOT]

Lines have at most 120 columns outside of tables. Links lead to a file that is
there, and to a heading of it. Every page of docs/ is in README's index under
its title. Files that name a page of docs/ in a comment name one that is there.
One line says what is wrong. Exit status: 0, or 1.
"""
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

WIDTH = 120
HEADING = re.compile(r"(#+)\s+(.*?)\s*#*$")
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
# A page as comments and messages name it, below the top of the project.
NAMED = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md")


def listed(root, *patterns):
    """Tracked files, and new ones that git does not ignore."""
    found = subprocess.run(
        ["git", "-C", root, "ls-files", "-co", "--exclude-standard", *patterns],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return sorted(f for f in set(found) if (root / f).is_file())


def prose(text):
    """Numbered lines outside of fenced code."""
    fence = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif not fence:
            yield number, line


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    seen = Counter()
    for _, line in prose(text):
        heading = HEADING.match(line)
        if not heading:
            continue
        title = LINK.sub(r"\1", heading.group(2)).lower()
        slug = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        yield f"{slug}-{seen[slug]}" if seen[slug] else slug
        seen[slug] += 1


def title(text):
    """The first heading, if it is the page's."""
    for _, line in prose(text):
        heading = HEADING.match(line)
        if heading:
            return heading.group(2) if heading.group(1) == "#" else None
    return None


def check(root):
    pages = {f: (root / f).read_text() for f in listed(root, "*.md")}
    heads = {f: set(anchors(text)) for f, text in pages.items()}
    for name, text in pages.items():
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > WIDTH and not line.lstrip().startswith("|"):
                yield (
                    f"{name}:{number}: found {len(line)} columns, expected "
                    f"at most {WIDTH} outside of tables"
                )
        for number, line in prose(text):
            for _, target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                if re.match(r"\w+:", target):
                    continue
                path, _, anchor = target.partition("#")
                file = (root / name).parent / path if path else root / name
                if not file.exists():
                    yield f"{name}:{number}: link: found no '{path}'"
                    continue
                key = str(file.resolve().relative_to(root.resolve()))
                if anchor and key in heads and anchor not in heads[key]:
                    yield f"{name}:{number}: link: found no heading '{target}'"
    index = dict(
        (target.partition("#")[0], text)
        for text, target in LINK.findall(
            pages.get("README.md", "").partition("## Documentation")[2]
        )
    )
    for name, text in pages.items():
        if not re.fullmatch(r"docs/[^/]+\.md", name):
            continue
        if name not in index:
            yield f"README.md: Documentation: found no link to {name}"
        elif title(text) not in (None, index[name]):
            yield (
                f"README.md: Documentation: found '{index[name]}' for {name}, "
                f"expected its title '{title(text)}'"
            )
    for name in listed(root):
        if name.endswith((".md", ".png", ".jpg", ".onnx", ".nnv", ".npy")):
            continue
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        for page in sorted(set(NAMED.findall(text)) - set(pages)):
            yield f"{name}: found '{page}', which is not there"


if __name__ == "__main__":
    here = Path(__file__).resolve().parents[2]
    faults = list(check(Path(sys.argv[1]) if len(sys.argv) > 1 else here))
    print(*faults, sep="\n", end="\n" if faults else "")
    sys.exit(bool(faults))
