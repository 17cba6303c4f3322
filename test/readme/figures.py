#!/usr/bin/python3
"""README's figures are those of docs/results, of the lists of tests, and of
the built library: none goes stale in silence.

  figures.py README.md [LIBRARY]

LIBRARY, libnnv12.so of a release build, is stripped and weighed. Says each
figure that differs, and exits 1 if one does.
"""
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs/results"


def table(file, heading=None):
    """Rows of the first table behind a heading: a list of cells each."""
    text = (RESULTS / file).read_text()
    if heading:
        assert heading in text, f"{file}: found no '{heading}'"
        text = text[text.index(heading) :]
    rows = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE).group(0)
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in rows.splitlines()
    ]
    return [dict(zip(cells[0], row)) for row in cells[2:]], cells[2:]


def number(cell):
    return float(re.match(r"[\d.]+", cell.replace(",", "")).group(0))


def geomean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def cold_ratios(threads):
    heading = f"### Cold against ONNX Runtime, ms, {threads}"
    return [
        number(row["untuned / best ORT"])
        for row in table("cold.md", heading)[0]
    ]


def continuous_ratios(threads):
    heading = "### Warm in continuous mode against ONNX Runtime, ms, "
    return [
        number(row["ratio"])
        for row in table("cold-parts.md", heading + threads)[0]
    ]


def warm_ratios(column):
    return [number(row[column]) for row in table("warm.md")[1]]


def cost(what):
    for row in table("costs.md")[1]:
        if row[0].startswith(what):
            return number(row[1])
    raise KeyError(f"costs.md: found no row '{what}'")


def passing(cases, list_name):
    lines = (ROOT / "test/conformance" / list_name).read_text().splitlines()
    failing = [x for x in lines if x.strip() and not x.startswith("#")]
    return cases - len(failing)


def stripped_kilobytes(library):
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder) / "libnnv12.so"
        subprocess.run(["strip", "-o", stripped, library], check=True)
        return stripped.stat().st_size / 1e3


# README's claims, and their sources. Each group of a pattern is compared
# with one value, rounded as README does. "Times sooner" is theirs over ours.
FIGURES = [
    (
        r"\*\*(\S+) times\*\* sooner on one thread and \*\*(\S+) times\*\* "
        r"sooner on two than ONNX Runtime's best of four settings; the slowest "
        r"model (\S+) times",
        lambda: [
            1 / geomean(cold_ratios("1 thread")),
            1 / geomean(cold_ratios("2 threads")),
            1 / max(cold_ratios("1 thread") + cold_ratios("2 threads")),
        ],
    ),
    (
        r"nobody measured \(.*?\): \*\*(\S+) times\*\* sooner on one thread "
        r"and \*\*(\S+) times\*\* on two; the slowest model takes (\S+) times",
        lambda: [
            1 / geomean(warm_ratios(3)),
            1 / geomean(warm_ratios(6)),
            max(warm_ratios(3) + warm_ratios(6)),
        ],
    ),
    (
        r"a tuned form: \*\*(\S+) times\*\* sooner on one thread and "
        r"\*\*(\S+) times\*\* on two",
        lambda: [
            1 / geomean(continuous_ratios("1 thread")),
            1 / geomean(continuous_ratios("2 threads")),
        ],
    ),
    (
        r"compiles in (\S+) s and (\S+) MB. Its bundle of (\S+) MB opens in "
        r"(\S+) ms and runs in (\S+) MB\.",
        lambda: [
            cost("compile, median"),
            cost("compile, peak"),
            cost("bundle"),
            cost("open"),
            cost("run, peak"),
        ],
    ),
    (
        r"library\*\* takes (\S+) KB, stripped",
        lambda: [cost("runtime library")],
    ),
    (
        r"cases:\*\* (\S+) of 1,072 \(as of 1.12\) and (\S+) of 1,884",
        lambda: [
            passing(1072, "expected_failures.txt"),
            passing(1884, "expected_failures_1.23.txt"),
        ],
    ),
]


def differs(found, value):
    """Whether `value`, rounded to the digits of `found`, is another number."""
    digits = len(found.partition(".")[2])
    if digits == 0 and found.endswith("0") and value < 1000:
        return abs(float(found) - value) > 10
    return f"{value:,.{digits}f}" != found


def main():
    # Lines may be broken anywhere.
    readme = " ".join(Path(sys.argv[1]).read_text().split())
    faults = 0

    def complain(line):
        nonlocal faults
        faults += 1
        print(f"{sys.argv[1]}: {line}")

    for pattern, source in FIGURES:
        match = re.search(pattern, readme)
        if not match:
            complain(f"found nothing like '{pattern}'")
            continue
        for found, value in zip(match.groups(), source(), strict=True):
            if differs(found, value):
                complain(
                    f"'{match.group(0).strip()}': found {found}, "
                    f"expected {value:.4g}"
                )
    if len(sys.argv) > 2:
        # Another compiler makes a little more or less of it.
        said, is_now = cost("runtime library"), stripped_kilobytes(sys.argv[2])
        if abs(said - is_now) > 2:
            complain(
                f"the runtime library, stripped: found {said} KB, expected "
                f"{is_now:.1f} (tools/measure --into docs/results/costs.md)"
            )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
