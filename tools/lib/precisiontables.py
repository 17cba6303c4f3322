"""SoftNeuro's tables I to III: floats, 8 bits, and a mix of both, measured.

For `tools/measure-selection --precision`."""

import json
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path

from nnv12measure import figure, geometric_mean
from nnv12tools import Peer, Tools, call

PRECISIONS = ["f32", "int8", "hybrid"]
# Ranges and errors come from random numbers: most of these networks have
# random weights.
SAMPLES = ["--calibrate-random=4"]
# ONNX Runtime's threads spin for some 30 ms after a run.
PAUSE = 0.06


class Mixes:
    """One model in all precisions, for a number of threads."""

    def __init__(self, case, args, threads, folder):
        self.case, self.args, self.threads = case, args, threads
        self.folder = folder
        self.bin_dir = args.build_dir.resolve() / "bin"
        self.times = {}

    def bundle(self, mode, precision):
        return self.folder / f"{mode}.{precision}.nnv"

    def report(self, mode):
        return self.folder / f"{mode}.json"

    def compile(self, output, precision, *options):
        if precision != "f32":
            options += (f"--precision={precision}", *SAMPLES)
        Tools(self.bin_dir).compile(
            self.case.model,
            output,
            self.case.shapes,
            options=(
                f"--threads={self.threads}",
                f"--cache-dir={self.folder / 'cache'}",
                *options,
            ),
            timeout=3600,
        )

    def make(self):
        for mode in self.args.modes:
            options = ["--target=host"] if mode == "tuned" else []
            for precision in PRECISIONS:
                more = (
                    [f"--precision-report={self.report(mode)}"]
                    if precision == "hybrid"
                    else []
                )
                self.compile(
                    self.bundle(mode, precision), precision, *options, *more
                )
        self.qdq = self.folder / "int8.onnx"
        self.compile(self.qdq, "int8", "--emit=qdq")

    def read_reports(self):
        self.reports = {
            mode: json.loads(self.report(mode).read_text())
            for mode in self.args.modes
        }

    def warm(self, bundle):
        """The median of some warm runs of a fresh process, in milliseconds."""
        found = json.loads(
            call(
                [
                    self.bin_dir / "nnv12-bench",
                    bundle,
                    "--cold=0",
                    f"--warm={self.args.runs}",
                    f"--threads={self.threads}",
                    "--random",
                    "--json=-",
                ]
            )
        )
        return found["warm"]["stages_ms"]["run"]["median"]

    def run(self, modules):
        with ExitStack() as stack:
            runs = {}
            for mode in self.args.modes:
                for precision in PRECISIONS:
                    bundle = self.bundle(mode, precision)
                    runs[mode, precision] = lambda b=bundle: self.warm(b)
            for name, model in (
                [("f32", self.case.model), ("int8", self.qdq)]
                if modules
                else []
            ):
                peer = stack.enter_context(
                    Peer(modules, model, self.case.inputs, self.threads)
                )
                runs["onnxruntime", name] = lambda p=peer: (
                    statistics.median(p.ask(f"run {self.args.runs}")["ns"])
                    * 1e-6
                )
            self.times = {name: [] for name in runs}
            names = list(runs)
            for number in range(self.args.rounds):
                # Each is first in turn.
                at = number % len(names)
                for name in names[at:] + names[:at]:
                    self.times[name].append(runs[name]())

    def ratio(self, name, *others):
        """To the fastest of the others, round by round."""
        best = min(others, key=lambda o: statistics.median(self.times[o]))
        return figure(
            [a / b for a, b in zip(self.times[name], self.times[best])]
        )

    def median(self, name):
        return statistics.median(self.times[name])


def cell(found):
    return f"{found['median']:.3f} ± {found['noise']:.3f}"


def table_one(all_mixes, modes):
    lines = [
        "| model | threads | mode | f32, ms | int8 / f32 | hybrid / f32 | "
        "hybrid / best of both | layers in 8 bits | predicted: net | greedy | "
        "all in 8 bits |",
        "|---|---:|---|" + "---:|" * 8,
    ]
    ratios = {}
    for mixes in all_mixes:
        for mode in modes:
            f32, int8, hybrid = ((mode, p) for p in PRECISIONS)
            best = mixes.ratio(hybrid, f32, int8)
            ratios.setdefault(mode, []).append(best["median"])
            report = mixes.reports[mode]
            products = [x for x in report["layers"] if x["product"]]
            in8 = sum(x["in8"] for x in products)
            lines.append(
                f"| {mixes.case.name} | {mixes.threads} | {mode} | "
                f"{mixes.median(f32):.3f} | {cell(mixes.ratio(int8, f32))} | "
                f"{cell(mixes.ratio(hybrid, f32))} | {cell(best)} | "
                f"{in8} of {len(products)} | {report['net']:.3f} | "
                f"{report['greedy']:.3f} | {report['uniform']:.3f} |"
            )
    lines.append("")
    for mode, values in ratios.items():
        lines.append(
            f"- {mode}: hybrid / best of both, geometric mean "
            f"{geometric_mean(values):.3f}, most {max(values):.3f}"
        )
    return lines


def table_two(all_mixes, mode):
    lines = [
        "| model | threads | ONNX Runtime f32, ms | ONNX Runtime int8, ms | "
        f"ours, hybrid, {mode}, ms | / the faster one |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for mixes in all_mixes:
        ours = (mode, "hybrid")
        theirs = [("onnxruntime", p) for p in ("f32", "int8")]
        lines.append(
            f"| {mixes.case.name} | {mixes.threads} | "
            + " | ".join(f"{mixes.median(n):.3f}" for n in (*theirs, ours))
            + f" | {cell(mixes.ratio(ours, *theirs))} |"
        )
    return lines


def table_three(mixes, mode):
    described = json.loads(
        call(
            [
                mixes.bin_dir / "nnv12-inspect",
                mixes.bundle(mode, "hybrid"),
                "--json",
            ]
        )
    )
    lines = [f"| {mixes.case.name}: layer | routine |", "|---|---|"]
    for operation in described["programs"][0]["operations"]:
        lines.append(f"| {operation['layer']} | `{operation['kernel']}` |")
    return lines


def tables(cases, args, modules, say):
    """Measures, and returns the lines of all tables."""
    all_mixes, routines = [], []
    mode = args.modes[-1]
    for case in cases:
        for threads in args.threads:
            with tempfile.TemporaryDirectory(
                prefix="nnv12-precision-"
            ) as folder:
                mixes = Mixes(case, args, threads, Path(folder))
                mixes.make()
                mixes.run(modules)
                mixes.read_reports()  # before the folder goes
                all_mixes.append(mixes)
                if not routines:
                    routines = table_three(mixes, mode)
            say(f"{case.name}, {threads} threads: done")
    lines = table_one(all_mixes, args.modes)
    if modules:
        lines += ["", *table_two(all_mixes, mode)]
    return lines + ["", *routines]
