#!/usr/bin/python3
"""Counts puzzle sentences: clauses that stand for a noun which nobody names.

    english.py [--list | --fix] [ROOT]

`What came of it` and `Of whom` make a reader guess the noun; "the result" and
"the thread" name it. The counter looks at comments and strings of C++,
TableGen, FlatBuffers and Python, and at the pages of docs/. It leaves ordinary
relative clauses ("the kernel whose layer ..."), questions, and indirect
questions ("says what was found") alone.

english.txt, beside this file, holds the number of puzzle sentences that each
top folder may have. That number may only fall: a folder that has more is an
error, and so is a folder that has fewer until --fix has lowered its number.
--list prints each place. Exit status: 0, or 1.
"""
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

BESIDE = Path(__file__).resolve().parent
ALLOWED = "tools/lib/english.txt"
SKIPPED = ("artifact/generated/", "test/graphs/data/")

# After these a clause with `what` or `who` is an indirect question.
ASKING = (
    r"(?:says?|said|saying|tells?|told|telling|knows?|knew|known|knowing|asks?"
    r"|asked|shows?|showed|shown|sees?|seen|decides?|decided|explains?"
    r"|explained|describes?|described|learns?|learnt|matters?|prints?|printed"
    r"|reports?|reported|notes?|noted|checks?|checked|understands?|proves?"
    r"|means?|guess|guesses|depends?|names?)"
)
ASKED = re.compile(rf"\b{ASKING}\b(?:\s+[\w'`()/.-]+,?){{0,8}}\s+$", re.I)
# The beginning of a sentence, or of a clause behind a colon or a semicolon.
START = r"(?:^|(?<=[.:;!?(]\s)|(?<=\())"
LINK = (
    r"(?:of|for|to|by|with|from|in|on|at|as|than|but|and|or|that|beside|beyond"
    r"|besides|before|after|behind|like|into|about|over|under|until|per|without"
    r"|because|if|is|are|was|were|does|do|both|only|all|between|against|not)"
)
PUZZLES = [
    re.compile(pattern, flags)
    for pattern, flags in (
        # `What lies there`; `of what it holds`; `keeps what it finds`.
        (r"\bwhat\b", re.I),
        # `Who waits`; `for who waits`; `whoever waits`.
        (rf"{START}(?:Who|Whom|Whose)\b|[:;] who\b", 0),
        (rf"\b{LINK}\s+who\b", 0),
        (r"\bwho(?:m|so)?ever\b", re.I),
        # `Whatever names a file`; not `whatever the order`.
        (rf"(?:{START}|\b{LINK}\s+)whatever\b", re.I),
        (r"\bthat which\b", re.I),
        # `Of those that wait`; `Those of a fold`; `The same of a row`.
        (rf"{START}[O]f\b(?! course)", 0),
        (rf"{START}(?:That|Those|These|Such) of\b", 0),
        # `That have ended.`
        (rf"{START}That (?:have|are|were)\b", 0),
        (r"\bthe same (?:of|for those)\b", re.I),
    )
]
QUOTED = re.compile(r"`[^`]*`|(?<![\w'])'[^']{1,40}'(?!\w)")
# Raw strings hold code; a comment is one that no string contains.
CPP = re.compile(
    r'R"(?P<tag>\w*)\(.*?\)(?P=tag)"'
    r"|(?P<block>/\*.*?\*/)"
    r"|(?P<line>//[^\n]*)"
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<prose>\[\{.*?\}\])"
    r"|'(?:[^'\\\n]|\\.)+'",
    re.S,
)


def blocks_of(pieces):
    """Joins (line, kind, text) of one kind on lines that follow each other."""
    joined = []
    for line, kind, text in pieces:
        ends = line + text.count("\n")
        if joined and joined[-1][1] == kind and line - joined[-1][0] <= 1:
            joined[-1][0] = ends
            joined[-1][2].append((line, text))
        else:
            joined.append([ends, kind, [(line, text)]])
    return [parts for _, _, parts in joined]


def pieces_of_cpp(text):
    number, at = 1, 0
    for match in CPP.finditer(text):
        number += text.count("\n", at, match.start())
        at = match.start()
        kind, found = match.lastgroup, match.group()
        if kind == "line":
            head = re.match(
                r"//===-+ (?:.*? - )?(.*?) -*(?:\*-.*)?=*//$", found
            )
            if head:
                yield number, "head", head.group(1)
            elif not re.match(r"//===-+=*//$|// end", found):
                own = not text[text.rfind("\n", 0, at) + 1 : at].strip()
                marker = re.match(r"//[/!]?<? ?", found).group()
                kind = marker if own else (number, marker)
                yield number, kind, found[len(marker) :]
        elif kind == "block":
            body = re.sub(
                r"^\s*(?:\*|\|\*) ?|\*\|$", "", found[2:-2], flags=re.M
            )
            yield number, (number, "block"), body.lstrip("*<!=-")
        elif kind == "prose":
            yield number, "prose", found[2:-2]
        elif kind == "string" and " " in found:
            yield number, "string", found[1:-1].replace("\\n", ". ")


def pieces_of_python(text):
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            yield line, "comment", token.string.lstrip("#! ")
        elif token.type == tokenize.STRING and " " in token.string:
            # Quotes, and the expressions of an f-string, are code.
            body = re.sub(
                r"^\w*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$|\{[^{}]*\}",
                "",
                token.string,
            )
            yield line, "string", body.replace("\\n", ". ")


def pieces_of_page(text):
    fence = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif line.lstrip().startswith("|") and not fence:
            for cell in line.strip("| ").split("|"):
                yield number, (number, cell), cell
        elif line.startswith("#") and not fence:
            yield number, "head", line.lstrip("# ")
        elif not fence and line.strip():
            item = re.match(r"\s*(?:[-*]|\d+\.)\s+", line)
            if item:
                yield number - 0.5, number, ""
            yield number, "text", line[item.end() if item else 0 :]


READERS = {".py": pieces_of_python, ".md": pieces_of_page}


def sentences(parts):
    """The sentences of a block: (line of the first word, sentence)."""
    text, lines = "", []
    for line, part in parts:
        for offset, row in enumerate(part.split("\n")):
            row = row.strip()
            # A list's item and an empty line begin a sentence.
            if not row or re.match(r"[-*] |\d+\. ", row):
                text += "\0"
                lines.append(line)
                row = re.sub(r"^(?:[-*]|\d+\.) ", "", row)
            text += row + " "
            lines += [int(line + offset)] * (len(row) + 1)
    for match in re.finditer(r"[^\0]+?(?:[.!?](?=\s)|\0|$)", text):
        sentence = match.group().strip("\0 ")
        if sentence:
            begin = match.start() + match.group().index(sentence[0])
            yield lines[min(begin, len(lines) - 1)], sentence


def is_puzzle(sentence):
    """Whether one stands for a noun; words in quotes are named, not used."""
    if sentence.endswith("?"):
        return False
    sentence = QUOTED.sub(lambda m: "x" * len(m.group()), sentence)
    for pattern in PUZZLES:
        for match in pattern.finditer(sentence):
            if not ASKED.search(sentence[: match.start()]):
                return True
    return False


def puzzles(path, text):
    """(line, sentence) of each puzzle sentence in a file's text."""
    read = READERS.get(Path(path).suffix, pieces_of_cpp)
    return [
        found
        for parts in blocks_of(read(text))
        for found in sentences(parts)
        if is_puzzle(found[1])
    ]


def allowed(root):
    """The number of each top folder, by the file that is checked in."""
    file = root / ALLOWED
    rows = file.read_text().splitlines() if file.exists() else []
    return {
        folder: int(number)
        for folder, number in (
            row.split() for row in rows if row and not row.startswith("#")
        )
    }


def main(arguments):
    options = {a for a in arguments if a.startswith("--")}
    roots = [Path(a) for a in arguments if not a.startswith("--")]
    root = roots[0] if roots else BESIDE.parents[1]
    listed = subprocess.run(
        [
            "git",
            "-C",
            root,
            "ls-files",
            "-co",
            "--exclude-standard",
            "*.cpp",
            "*.h",
            "*.hpp",
            "*.td",
            "*.fbs",
            "*.py",
            "docs/*.md",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    found, inner = Counter(), Counter()
    for file in sorted(set(listed)):
        if file.startswith(SKIPPED) or not (root / file).is_file():
            continue
        for line, sentence in puzzles(file, (root / file).read_text()):
            found[file.split("/")[0]] += 1
            inner["/".join(file.split("/")[:-1])] += 1
            if "--list" in options:
                print(f"{file}:{line}: {sentence}")
    if "--list" in options:
        for folder, number in sorted(inner.items()):
            print(f"{number:5} {folder}")
    limits, bad = allowed(root), False
    for folder in sorted(set(found) | set(limits)):
        number, limit = found[folder], limits.get(folder, 0)
        if number > limit:
            bad = True
            print(
                f"english: {folder}/: found {number} puzzle sentences, "
                f"expected at most {limit}; tools/lib/english.py --list shows "
                "them"
            )
        elif number < limit and "--fix" not in options:
            bad = True
            print(
                f"english: {folder}/: found {number} puzzle sentences, "
                f"{ALLOWED} allows {limit}; tools/lint --fix lowers it"
            )
        limits[folder] = min(number, limit)
    if "--fix" in options:
        heading = "# Puzzle sentences that a top folder may have: english.py.\n"
        (root / ALLOWED).write_text(
            heading + "".join(f"{f} {n}\n" for f, n in sorted(limits.items()))
        )
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
