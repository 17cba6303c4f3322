"""One case, compiled with some plans for one target and run with some numbers
of threads.

A case is a folder with model.onnx, input_I.npy, case.json, and output_I.npy
where ONNX Runtime has answered. These must hold:

- nnv12c and nnv12-run end as they should: no crash, no refusal, no end that
  does not come;
- outputs are ONNX Runtime's within TOLERANCE, or HALF_TOLERANCE;
- they are equal bit by bit for every number of threads, and in a first and a
  later run, unless a GPU computes parts of layers in later ones;
- and between plans whose operations call the same kernels.
"""
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/lib"))
import nnv12tools  # noqa: E402

# As nnv12-run --expect has it: |a-b| <= 1e-4 * max|b| + 1e-5. An output is a
# chain of some ten sums of up to some thousand products in f32, in another
# order than ONNX Runtime's: the error of each is some 1e-7 of its largest
# element, and the worst of 1,592 outputs was 3.4e-6 beside. Faults move whole
# elements.
TOLERANCE, LEAST = 1e-4, 1e-5
# With tensors in f16 on a GPU, where each rounding is up to 2^-10 of a number:
# the worst of 372 outputs of 60 graphs was at 4.7e-3, 2^-8.
HALF_TOLERANCE = 2.0**-6
THREADS = (1, 2, 3, 7)
PLANS = {
    "none": ["--plan=none", "--mode=cold"],
    "K": ["--plan=K", "--mode=cold"],
    "K+C": ["--plan=K+C", "--mode=cold"],
    "K+C+P": ["--plan=K+C+P", "--mode=cold"],
    "auto": ["--mode=auto", "--memory=most"],
    "continuous": ["--mode=continuous"],
    "least": ["--memory=least"],
    # Layouts that no cost would select, and those that costs select.
    "layouts": ["--mode=cold", "--layouts=random", "--layout-seed=1"],
    "net": ["--mode=cold", "--layouts=net"],
}
SWITCHING = ("auto", "continuous")  # other kernels may take over
# Kernels of one name read and write in another order; and no GPU shares these.
OTHER_LAYOUTS = ("layouts", "net")
TARGETS = ("x86-64-v4", "x86-64-v3", "aarch64")
TIMEOUT = 120  # seconds: nothing takes ten


class Failure(Exception):
    """`kind` is one of a few words, `text` one line about it, `commands` the
    calls, `plan` the one that failed where it was one."""

    def __init__(self, kind, text, commands=()):
        super().__init__(f"{kind}: {text}")
        self.kind, self.text, self.commands = (
            kind,
            text,
            [" ".join(map(str, c)) for c in commands],
        )
        self.plan = None

    def alike(self, other):
        """Whether both are likely one fault: of one kind and, for messages, of
        the same words. Damaged memory ends a process here or there."""

        def words(text):
            return re.sub(r"'[^']*'|[0-9][0-9.x,e+-]*|/\S+", "#", text)

        return self.kind == other.kind and (
            not self.kind.endswith("fails")
            or words(self.text) == words(other.text)
        )


@dataclass
class Setup:
    """The plans, target and threads that a case is tried with."""

    plans: list
    target: str
    # How many threads plans are made for: never this machine's number.
    planned: int = 2
    threads: tuple = THREADS  # how many it runs on
    split: str = None  # nnv12c --split

    def __str__(self):
        plans = " ".join(self.plans)
        split = f", --split {self.split}" if self.split else ""
        return f"plans {plans} for {self.planned} threads, {self.target}{split}"


@dataclass
class Toolbox:
    """The tools, and how the programs of a target are run."""

    bin_dir: Path
    arm_dir: Path = None  # the runtime's tools for aarch64
    emulator: list = field(default_factory=list)
    flags: list = field(default_factory=list)  # more options for nnv12c
    run_flags: list = field(default_factory=list)  # and for nnv12-run
    gpu: bool = False  # computes all that it can
    halves: bool = False  # it has tensors of f32 in f16
    splits: bool = False  # it computes parts of layers in later runs

    @property
    def tolerance(self):
        return HALF_TOLERANCE if self.halves else TOLERANCE

    def run_command(self, target):
        if target == "aarch64" and os.uname().machine != "aarch64":
            return [*self.emulator, self.arm_dir / "nnv12-run"]
        return [self.bin_dir / "nnv12-run"]

    def plans(self):
        """Those that these tools compile."""
        return [p for p in PLANS if not (self.gpu and p in OTHER_LAYOUTS)]

    def targets(self):
        """Those whose programs run here."""
        if self.gpu:  # CPUs are tried without it
            return ["x86-64-v3"]
        if os.uname().machine == "aarch64":
            return ["aarch64"]
        features = set(Path("/proc/cpuinfo").read_text().split())
        wide = {
            "avx512f",
            "avx512bw",
            "avx512cd",
            "avx512dq",
            "avx512vl",
        } <= features
        return (
            ["x86-64-v4"] * wide
            + ["x86-64-v3"]
            + ["aarch64"] * bool(self.arm_dir)
        )


def crash_place(lines):
    """The innermost function of ours on a stack that LLVM printed, else the
    first line."""
    for line in lines:
        frame = re.match(
            r" *#[0-9]+ 0x[0-9a-f]+ (.*(?:nnv12::|anonymous namespace).*)", line
        )
        if frame:
            return re.sub(
                r"<.*|\(anonymous namespace\)::|\([^()]*\).*| [^ ]+\.cpp:.*",
                "",
                frame[1],
            ).strip()
    return lines[0]


def call(kind, command, timeout=TIMEOUT):
    """A command's output; a Failure of `kind` where it does not end well."""
    try:
        done = subprocess.run(
            [str(c) for c in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"{kind} hangs", f"no end after {timeout} s", [command])
    if done.returncode == 0:
        return done.stdout
    lines = [
        l for l in (done.stderr + "\n" + done.stdout).splitlines() if l.strip()
    ] or ["in silence"]
    if done.returncode < 0 or done.returncode >= 128:  # qemu and shells add 128
        signal = (
            -done.returncode if done.returncode < 0 else done.returncode - 128
        )
        raise Failure(
            f"{kind} crashes",
            f"signal {signal} in {crash_place(lines)}",
            [command],
        )
    raise Failure(f"{kind} fails", lines[0], [command])


def inspect(tools, bundle):
    return json.loads(
        call("inspect", [tools.bin_dir / "nnv12-inspect", bundle, "--json"])
    )


def kernels_of(described):
    """The operations of a first run and of later runs: pairs of layer and
    kernel, in order."""
    program = described["programs"][0]
    first = [(o["layer"], o["kernel"]) for o in program["operations"]]
    later = list(first)
    place = {o["id"]: i for i, o in enumerate(program["operations"])}
    for switch in program.get("switches", ()):
        later[place[switch["operation"]]] = (
            later[place[switch["operation"]]][0],
            switch["kernel"],
        )
    later += [
        (tuple(s["executes"]), s["dim"], s["at"])
        for s in nnv12tools.splits_of(program)
    ]
    return first, later


def differs(found, expected, tolerance):
    """None, or in words where an output is not ONNX Runtime's."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return (
            f"is {found.dtype}{list(found.shape)}, "
            f"expected {expected.dtype}{list(expected.shape)}"
        )
    if found.dtype.kind != "f":
        wrong = found != expected
        error = wrong.astype(np.float64)
    else:
        a, b = found.astype(np.float64), expected.astype(np.float64)
        with np.errstate(invalid="ignore"):
            error = np.where(
                (a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b)
            )
        error = np.where(np.isnan(error), np.inf, error)
        finite = np.abs(b[np.isfinite(b)])
        wrong = error > tolerance * finite.max(initial=0) + LEAST
    if not wrong.any():
        return None
    at = np.unravel_index(int(error.argmax()), error.shape)
    return (
        f"element {[int(i) for i in at]} of {list(found.shape)} "
        f"is {found[at]}, expected {expected[at]}; "
        f"{int(wrong.sum())} of {wrong.size} differ"
    )


def load_outputs(folder, count):
    return [np.load(folder / f"output_{i}.npy") for i in range(count)]


def counted_axes(case):
    """The dimensions of which only a run tells the size, by the index of the
    output, in order."""
    graph = onnx.load(case / "model.onnx", load_external_data=False).graph
    axes = {}
    for i, output in enumerate(graph.output):
        for axis, d in enumerate(output.type.tensor_type.shape.dim):
            if d.dim_param:
                axes[i] = axis
    return axes


def without_padding(outputs, axes):
    """The outputs that the model has, of which counts follow."""
    model = len(outputs) - len(axes)
    cut = list(outputs[:model])
    for (i, axis), count in zip(axes.items(), outputs[model:]):
        cut[i] = cut[i].take(np.arange(count[0]), axis)
    return cut


def try_plan(tools, case, work, plan, setup):
    """Compiles and runs with one plan. Outputs of a first and of later runs,
    and whether the bundle has layers that are cut in two, where these are
    tried, else kernels with tensors in f16."""
    bundle = work / f"{plan}.nnv"
    compile_ = [
        tools.bin_dir / "nnv12c",
        case / "model.onnx",
        "-o",
        bundle,
        f"--target={setup.target}",
        "--quiet",
        f"--threads={setup.planned}",
        *PLANS[plan],
        *tools.flags,
    ]
    if setup.split:
        compile_.append(f"--split={setup.split}")
    changes = plan in SWITCHING or bool(setup.split)  # after the first run
    call("compile", compile_)
    note = json.loads((case / "case.json").read_text())
    inputs = [f"--input={i['name']}={case / i['file']}" for i in note["inputs"]]
    expected = load_outputs(case, len(list(case.glob("output_*.npy"))))
    axes = counted_axes(case)
    seen = {}
    for number, count in enumerate(setup.threads):
        # A first run finds fresh memory, a later one the contents that the one
        # before left.
        for when, option in (("first", []), ("later", ["--runs=3"])):
            if when == "later" and plan in SWITCHING:
                option = ["--settle"]
            elif when == "later" and number % 2:
                continue
            out = work / f"{plan}.{count}.{when}"
            run = [
                *tools.run_command(setup.target),
                bundle,
                *inputs,
                f"--threads={count}",
                "--oversubscribe",
                f"--output-dir={out}",
                *option,
                *tools.run_flags,
            ]
            call("run", run)
            outputs = load_outputs(out, len(list(out.glob("output_*.npy"))))
            commands = [compile_, run]
            counted = without_padding(outputs, axes)
            for i, answer in enumerate(expected):
                wrong = differs(counted[i], answer, tools.tolerance)
                if wrong:
                    raise Failure(
                        "wrong",
                        f"output {i}, {plan}, {setup.target}, "
                        f"{count} threads, {when} run: {wrong}",
                        commands,
                    )
            # Where kernels change, a later run may round otherwise than the
            # first.
            key = "later" if when == "later" and changes else "first"
            others, other_count, other_run = seen.setdefault(
                key, (outputs, count, run)
            )
            for i, (a, b) in enumerate(zip(others, outputs)):
                if a.tobytes() != b.tobytes():
                    kind = "runs" if count == other_count else "threads"
                    raise Failure(
                        kind,
                        f"output {i}, {plan}, {setup.target}: "
                        f"{other_count} and {count} threads, "
                        f"{when} run, differ in {unequal(a, b)}",
                        [compile_, other_run, run],
                    )
    described = inspect(tools, bundle)
    first, later = kernels_of(described)
    results = [(plan, first, seen["first"][0], [compile_, seen["first"][2]])]
    if "later" in seen:
        results.append(
            (
                f"{plan}, later",
                later,
                seen["later"][0],
                [compile_, seen["later"][2]],
            )
        )
    if tools.splits:
        program = described["programs"][0]
        return results, bool(nnv12tools.splits_of(program))
    return results, nnv12tools.kernels_in_f16(described) > 0


def unequal(a, b):
    wrong = np.atleast_1d(a).reshape(-1).view(np.uint8).reshape(
        a.size, -1
    ) != np.atleast_1d(b).reshape(-1).view(np.uint8).reshape(b.size, -1)
    return f"{int(wrong.any(axis=1).sum())} of {a.size} elements"


def try_case(tools, case, work, setup):
    """Raises a Failure, or returns how many pairs of plans had the same
    kernels, and whether try_plan() says yes of any of them."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    known, pairs, special = [], 0, False
    for plan in setup.plans:
        try:
            results, is_special = try_plan(tools, case, work, plan, setup)
        except Failure as failure:
            failure.plan = plan
            raise
        special |= is_special
        if plan in OTHER_LAYOUTS:
            continue
        for name, kernels, outputs, commands in results:
            for other, other_kernels, others, other_commands in known:
                if kernels != other_kernels:
                    continue
                pairs += 1
                for i, (a, b) in enumerate(zip(others, outputs)):
                    if a.tobytes() != b.tobytes():
                        raise Failure(
                            "plans",
                            f"output {i}, {setup.target}: "
                            f"plans {other} and {name} with the same "
                            f"kernels differ in {unequal(a, b)}",
                            other_commands + commands,
                        )
            known.append((name, kernels, outputs, commands))
    shutil.rmtree(work)
    return pairs, special
