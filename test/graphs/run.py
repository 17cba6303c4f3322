#!/usr/bin/python3
"""Tries random graphs, and folders with cases, against ONNX Runtime and against
themselves.

    run.py --from 1000 --count 500          seeds 1000 to 1499
    run.py --cases FOLDER...                what stands in folders, with every
                                            plan and target
    run.py --found                          what was found before: data/,
                                            ../shared/regress/graphs
    run.py --from 1000 --count 500 --compiler-flag=--check-bounds
    run.py --gpu --gpu-precision f16        on a GPU, or lavapipe
    run.py --gpu --split force              layers cut in two in later runs
    run.py --half-constants                 weights as files of f16 have them

Each seed draws two plans of nnv12c (trial.PLANS) and one
target; every bundle runs on 1, 2, 3 and 7 threads. Outputs must be ONNX
Runtime's, and equal bit by bit for all threads, and for plans that call the
same kernels (trial.py has it exactly). Without onnxruntime-node (tools/check
installs it) only the latter is tried.

A failure is one line: the seed, its class, what was found. Its folder under
--work holds the model, inputs, ONNX Runtime's outputs and the commands;
reduce.py makes it small. The last line is "N graphs, N failed"; after an
interrupt the one before it says how to go on. Exits with 77 where nothing fails
but ONNX Runtime or ../shared is missing.
"""
import argparse
import json
import multiprocessing
import os
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np

import generate
import trial
from graph import Draw
from halves import with_half_constants
from trial import Failure, Setup, Toolbox

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools/lib"))
import nnv12tools  # noqa: E402
from nnv12tools import LineServer, ToolError  # noqa: E402


class Answers:
    """ONNX Runtime in a process of its own, started again where a model ended
    it."""

    def __init__(self, modules):
        self.modules, self.server = modules, None

    def ask(self, folder, into=None):
        """Writes output_I.npy of the case in `folder`. Raises ToolError."""
        if self.server is None:
            self.server = LineServer(
                ["node", HERE / "answers.js", self.modules]
            )
        note = json.loads((folder / "case.json").read_text())
        question = {
            "model": str(folder / "model.onnx"),
            "folder": str(into or folder),
            "inputs": {
                i["name"]: str(folder / i["file"]) for i in note["inputs"]
            },
        }
        try:
            return self.server.ask(json.dumps(question))["outputs"]
        except ToolError:
            if self.server.process.poll() is not None:
                self.server = None
            raise


def drawn(seed, args, tools):
    """The Setup of a seed, with another target where its own does not run
    here."""
    draw = Draw(seed + 2**40)
    plans = draw.sample(tools.plans(), 2)
    target = draw.weighted([(5, "x86-64-v4"), (4, "x86-64-v3"), (1, "aarch64")])
    planned = draw.pick([1, 2, 2, 4])
    known = tools.targets()
    return Setup(
        args.plan or plans,
        args.target or (target if target in known else known[0]),
        args.plan_threads or planned,
        args.threads,
        drawn_split(draw) if args.split == "force" else args.split,
    )


def drawn_split(draw):
    """--split force, more often with a dimension and a place."""
    dim = draw.pick([None, "batch", "channels", "channels", "rows", "rows"])
    return f"force={dim}:{draw.pick(range(1, 100))}" if dim else "force"


def usual_size(folder):
    """Answers must be finite: others hide their faults."""
    for file in sorted(folder.glob("output_*.npy")):
        answer = np.load(file)
        if answer.dtype.kind == "f" and not np.isfinite(answer).all():
            raise Failure(
                "generator", f"ONNX Runtime's {file.stem} is not finite"
            )


def write_failure(folder, failure, setup):
    note = {
        "kind": failure.kind,
        "text": failure.text,
        "plans": setup.plans,
        "target": setup.target,
        "planned": setup.planned,
        "split": setup.split,
        "commands": failure.commands,
    }
    (folder / "failure.json").write_text(json.dumps(note, indent=1) + "\n")


def try_seed(job):
    """One line that says what failed, or None; how many pairs of plans had the
    same kernels; and whether there were layers cut in two, where these are
    tried, else tensors in f16."""
    seed, args, tools = job
    folder, work = args.work / str(seed), args.work / f"at.{os.getpid()}"
    setup = drawn(seed, args, tools)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        model, inputs = generate.make(seed)
        if args.half_constants:
            model = with_half_constants(model)
        generate.write_case(folder, model, inputs)
        if answers.modules:
            try:
                answers.ask(folder)
            except ToolError as error:
                raise Failure("generator", f"ONNX Runtime: {error}")
            usual_size(folder)
        pairs, special = trial.try_case(tools, folder, work, setup)
    except Failure as failure:
        write_failure(folder, failure, setup)
        return f"FAIL {seed}: {failure}", 0, False
    except Exception:  # a fault of these scripts must not stop the others
        return (
            f"FAIL {seed}: script: {traceback.format_exc().splitlines()[-1]}",
            0,
            False,
        )
    shutil.rmtree(folder)
    return None, pairs, special


def try_folder(job):
    folder, args, tools = job
    work = args.work / f"at.{os.getpid()}"
    special = False
    for target in [args.target] if args.target else tools.targets():
        try:
            # An emulated machine takes its time.
            plans = (
                tools.plans() if target != "aarch64" else ["none", "continuous"]
            )
            _, is_special = trial.try_case(
                tools,
                folder,
                work,
                Setup(
                    args.plan or plans,
                    target,
                    args.plan_threads or 2,
                    args.threads,
                    args.split,
                ),
            )
            special |= is_special
        except Failure as failure:
            return f"FAIL {folder.name}: {failure}", 0, False
    return None, 0, special


def start_worker(modules):
    """Gives a process an ONNX Runtime of its own; the parent handles
    interrupts."""
    global answers
    answers = Answers(modules)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def add_tool_arguments(parser):
    parser.add_argument(
        "--bin-dir",
        type=Path,
        default=nnv12tools.ROOT / "build/bin",
        help="folder of the built tools (build/bin)",
    )
    parser.add_argument(
        "--arm-dir",
        type=Path,
        default=nnv12tools.ROOT / "build/aarch64/bin",
        help="folder of nnv12-run for aarch64, which a tenth of the seeds is "
        "for where there is one and qemu-aarch64 (build/aarch64/bin)",
    )
    parser.add_argument(
        "--target", choices=trial.TARGETS, help="only this target"
    )
    parser.add_argument(
        "--plan",
        choices=list(trial.PLANS),
        action="append",
        help="only these plans; may be repeated",
    )
    parser.add_argument(
        "--threads",
        type=lambda s: [int(n) for n in s.split(",")],
        default=list(trial.THREADS),
        metavar="LIST",
        help="numbers of threads (1,2,3,7)",
    )
    parser.add_argument(
        "--plan-threads",
        type=int,
        metavar="N",
        help="how many threads plans are made for (drawn: 1, 2 or 4)",
    )
    parser.add_argument(
        "--compiler-flag",
        action="append",
        default=[],
        metavar="FLAG",
        help="passed on to nnv12c, e.g. --compiler-flag=--check-bounds; may be "
        "repeated",
    )
    parser.add_argument(
        "--run-flag",
        action="append",
        default=[],
        metavar="FLAG",
        help="passed on to nnv12-run",
    )
    nnv12tools.add_gpu_arguments(parser)
    parser.add_argument(
        "--no-answers", action="store_true", help="leave ONNX Runtime out"
    )


def toolbox(args):
    arm = (
        args.arm_dir
        if (args.arm_dir / "nnv12-run").is_file()
        and shutil.which("qemu-aarch64")
        else None
    )
    return Toolbox(
        args.bin_dir.resolve(),
        arm and arm.resolve(),
        ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
        args.compiler_flag + gpu_flags(args),
        args.run_flag + (nnv12tools.ON_GPU if args.gpu else []),
        args.gpu,
        args.gpu and args.gpu_precision == "f16",
        args.gpu and bool(args.split),
    )


def gpu_flags(args):
    """Options of nnv12c but --split, which a Setup has."""
    if not args.gpu:
        return []
    if args.split:
        return nnv12tools.for_gpu(args.gpu_precision)
    return nnv12tools.all_on_gpu(args.gpu_precision)


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--from",
        dest="first",
        type=int,
        default=1,
        metavar="SEED",
        help="first seed (1)",
    )
    parser.add_argument(
        "--count",
        type=int,
        metavar="N",
        help="how many seeds (60; none with --cases or --found)",
    )
    parser.add_argument(
        "--cases",
        type=Path,
        nargs="+",
        default=[],
        metavar="DIR",
        help="folders with a case, or with folders of cases",
    )
    parser.add_argument(
        "--found",
        action="store_true",
        help="cases of faults that were found: those in data/, and in "
        "../shared/regress/graphs (or where NNV12_SHARED says) where it is "
        "there",
    )
    parser.add_argument(
        "--halves-at-least",
        type=int,
        default=0,
        metavar="N",
        help="with --gpu-precision f16: how many must have tensors in f16",
    )
    parser.add_argument(
        "--splits-at-least",
        type=int,
        default=0,
        metavar="N",
        help="with --split: in how many layers must be cut in two",
    )
    parser.add_argument(
        "--half-constants",
        action="store_true",
        help="constants of the random graphs are halves, cast to f32",
    )
    parser.add_argument(
        "--jobs", type=int, default=2, help="graphs at a time (2)"
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=nnv12tools.ROOT / "build/graphs",
        help="where the folders of failing graphs go (build/graphs)",
    )
    add_tool_arguments(parser)
    args = parser.parse_args()
    args.work = args.work.resolve()
    if args.count is None:
        args.count = 0 if args.cases or args.found else 60
    if args.found:
        shared = nnv12tools.shared_folder()
        args.cases += [HERE / "data"] + [
            f
            for f in [shared and shared / "regress/graphs"]
            if f and f.is_dir()
        ]
    return args


def peers(args):
    """node_modules with onnxruntime-node, or None and why."""
    if args.no_answers:
        return None, "by --no-answers"
    try:
        return nnv12tools.find_peers(), ""
    except (ToolError, OSError) as error:
        return None, str(error)


def case_folders(args):
    found = []
    for folder in args.cases:
        if not folder.is_dir():
            sys.exit(
                f"run.py: error: {folder}: found no such folder, "
                "expected one with a case"
            )
        found += (
            [folder]
            if (folder / "case.json").is_file()
            else sorted(f.parent for f in folder.glob("*/case.json"))
        )
    return [f.resolve() for f in found]


def main():
    args = parse()
    tools = toolbox(args)
    if args.gpu and nnv12tools.why_no_gpu():
        print(f"skipped: {nnv12tools.why_no_gpu()}")
        return 77
    folders, seeds = case_folders(args), range(
        args.first, args.first + args.count
    )
    modules, missing = peers(args) if seeds else (None, "")
    args.work.mkdir(parents=True, exist_ok=True)
    jobs = [(try_folder, f) for f in folders] + [(try_seed, s) for s in seeds]
    done, failed, pairs, special, start = 0, 0, 0, 0, time.monotonic()
    with multiprocessing.Pool(args.jobs, start_worker, [modules]) as pool:
        try:
            for line, same, is_special in pool.imap(
                work_on, [(job, what, args, tools) for job, what in jobs]
            ):
                done, failed, pairs, special = (
                    done + 1,
                    failed + bool(line),
                    pairs + same,
                    special + is_special,
                )
                if line:
                    print(line, flush=True)
                if done % 500 == 0:
                    print(
                        f"... {done} graphs, {failed} failed, "
                        f"{time.monotonic() - start:.0f} s",
                        flush=True,
                    )
        except KeyboardInterrupt:
            seed = args.first + max(0, done - len(folders))
            print(f"\nstopped; go on with --from {seed}")
    for folder in args.work.glob("at.*"):
        shutil.rmtree(folder)
    if seeds:
        print(
            f"{pairs} pairs of plans had the same kernels; "
            f"{time.monotonic() - start:.0f} s"
        )
    if tools.splits or tools.halves:
        what, least = (
            ("layers were cut in two", args.splits_at_least)
            if tools.splits
            else ("tensors were in f16", args.halves_at_least)
        )
        print(f"{what} in {special} of {done} graphs")
        if special < least:
            failed += 1
            print(f"FAIL: at least {least} must be")
    skipped = []
    if seeds and not modules:
        skipped.append(f"ONNX Runtime's answers: {missing}")
    if args.found and not any("regress" in f.parts for f in folders):
        skipped.append("no ../shared/regress/graphs")
    for line in skipped:
        print(f"skipped: {line}")
    print(f"{done} graphs, {failed} failed")
    return 1 if failed or not done else 77 if skipped else 0


def work_on(job):
    function, what, args, tools = job
    return function((what, args, tools))


if __name__ == "__main__":
    sys.exit(main())
