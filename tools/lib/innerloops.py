"""Inner loops of a kernel's assembly for aarch64, and their cycles by llvm-mca.

A loop is inner if it holds no other. llvm-mca repeats its instructions as if
each access hit the first cache.
"""
import json
import re
from dataclasses import dataclass

import nnv12tools

MCA = "llvm-mca-22"
ROUNDS = 100  # that llvm-mca repeats a loop

FUNCTION = re.compile(r'"?([A-Za-z_][\w.+]*)"?:')
LABEL = re.compile(r"(\.L\w+):")
BRANCH = re.compile(
    r"\t(?:b\.\w+|b|cbn?z\s+\w+,|tbn?z\s+\w+, #\d+,)\s+(\.L\w+)$"
)
# The instructions that a micro-kernel is for: of floats, and of bytes.
MULTIPLY_ADD = re.compile(r"\t(?:fmla|u?sdot|us?mmla|sml[as]l2?|smull2?)\t")


@dataclass(frozen=True)
class Loop:
    function: str
    lines: tuple  # of assembly

    @property
    def multiply_adds(self):
        return sum(bool(MULTIPLY_ADD.match(line)) for line in self.lines)

    @property
    def stack_accesses(self):
        return sum("[sp" in line for line in self.lines)


def inner_loops(assembly):
    """The inner loops with multiply-adds, in order."""
    loops = []
    function, labels, lines = "", {}, []
    for line in assembly.splitlines():
        if match := FUNCTION.match(line):
            function, labels, lines = match[1], {}, []
        elif match := LABEL.match(line):
            labels[match[1]] = len(lines)
        elif line.startswith("\t") and not line.startswith("\t."):
            lines.append(line)
            back = BRANCH.match(line)
            if back and back[1] in labels:
                body = lines[labels[back[1]] :]
                if not any(
                    inner and inner[1] in labels
                    for inner in map(BRANCH.match, body[:-1])
                ):
                    loops.append(Loop(function, tuple(body)))
    return [loop for loop in loops if loop.multiply_adds]


def cycles(loops, cpu):
    """Cycles of one round of each loop."""
    different = list(dict.fromkeys(loop.lines for loop in loops))
    if not different:
        return []
    text = "".join(
        "\n".join([f"// LLVM-MCA-BEGIN {i}", *lines, "// LLVM-MCA-END\n"])
        for i, lines in enumerate(different)
    )
    path = nnv12tools.ROOT / "build" / "tile-costs.s"
    path.write_text(text)
    answer = nnv12tools.call(
        [
            *(MCA, "-mtriple=aarch64", f"-mcpu={cpu}", "-json"),
            "-mattr=+dotprod,+i8mm",
            *(f"-iterations={ROUNDS}", "-resource-pressure=false"),
            *("-instruction-info=false", path),
        ]
    )
    regions = json.loads(answer[answer.index("{") :])["CodeRegions"]
    found = {
        different[int(region["Name"])]: region["SummaryView"]["TotalCycles"]
        / ROUNDS
        for region in regions
    }
    return [found[loop.lines] for loop in loops]
