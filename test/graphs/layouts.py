#!/usr/bin/python3
"""Layouts of the whole net against those of each other solver, by the times
that plans predict: the net is never worse where any gain counts.

    layouts.py --from 1000 --count 500      seeds 1000 to 1499
    layouts.py 1000 1392                    these seeds
    layouts.py FOLDER/model.onnx...         these models, of shapes that
                                            FOLDER/case.json has

The first inference counts in mode cold, that one and thirty warm ones in mode
auto. In the latter the net takes no plan whose first result is later than that
of preferred layouts, so solvers with such a plan are left out. Nothing is run.
"""
import argparse
import json
import multiprocessing
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import generate

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/lib"))
import nnv12tools  # noqa: E402

SOLVERS = ("first", "greedy", "uniform")
MODES = ("cold", "auto")
# As compiler/select/LayoutSelection.cpp has them.
WARM_RUNS, AS_SOON = 30, 1.005
# Plans say nanoseconds.
ROUNDING = 2


def times(args, model, mode, solver):
    """The predicted nanoseconds of a plan: cold and warm."""
    command = [
        *(args.bin_dir / "nnv12c", model, "--emit=plan", "-o", "-"),
        *(f"--target={args.target}", f"--mode={mode}"),
        *("--threads=1", f"--layouts={solver}", *args.option),
    ]
    note = Path(model).parent / "case.json"
    for i in json.loads(note.read_text())["inputs"] if note.is_file() else ():
        command.append(
            f"--shape={i['name']}={nnv12tools.shape_text(i['dims'])}"
        )
    if solver == "net":
        command.append("--layout-margin=0")
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{model}: {done.stderr.strip()}")
    program = re.search(
        r"plan\.program .* cold\((\d+)\) warm\((\d+)\)", done.stdout
    )
    return int(program[1]), int(program[2])


def compare(job):
    """The objectives of the net and of the solver, by mode and solver."""
    args, what = job
    with tempfile.TemporaryDirectory() as folder:
        model = what
        if isinstance(what, int):
            generate.write_case(Path(folder), *generate.make(what))
            model = Path(folder) / "model.onnx"
        found = {}
        for mode in args.mode or MODES:
            all = {s: times(args, model, mode, s) for s in (*SOLVERS, "net")}
            runs = 0 if mode == "cold" else WARM_RUNS
            sums = {s: cold + runs * warm for s, (cold, warm) in all.items()}
            for solver in SOLVERS:
                is_later = all[solver][0] > all["first"][0] * AS_SOON
                if not (runs and is_later):
                    found[mode, solver] = sums["net"], sums[solver]
        return what, found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--from", dest="first", type=int, default=1)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument(
        "--bin-dir", type=Path, default=nnv12tools.ROOT / "build/bin"
    )
    parser.add_argument("--target", default="x86-64-v3")
    parser.add_argument("--mode", choices=MODES, action="append")
    parser.add_argument(
        "--option", action="append", default=[], help="more for nnv12c"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "models",
        type=lambda s: int(s) if s.isdigit() else Path(s),
        nargs="*",
        metavar="MODEL|SEED",
    )
    args = parser.parse_args()
    whats = [*args.models, *range(args.first, args.first + args.count)]
    counts = {}
    worst = 0
    with multiprocessing.Pool(args.jobs) as pool:
        for what, found in pool.imap(compare, [(args, w) for w in whats]):
            for key, (net, other) in found.items():
                better, alike, worse = counts.get(key, (0, 0, 0))
                is_better = net < other * 0.999
                is_worse = net > other + ROUNDING
                counts[key] = (
                    better + is_better,
                    alike + (not is_better and not is_worse),
                    worse + is_worse,
                )
                if is_worse:
                    mode, solver = key
                    worst = max(worst, net / other)
                    print(
                        f"FAIL {what}: mode {mode}: net {net / 1e6:.4f} ms, "
                        f"{solver} {other / 1e6:.4f} ms",
                        flush=True,
                    )
    for (mode, solver), (better, alike, worse) in sorted(counts.items()):
        print(
            f"{mode}, net and {solver}: better {better}, alike {alike}, "
            f"worse {worse}"
        )
    print(f"{len(whats)} models, worst {worst:.4f}")
    return bool(worst) or not whats


if __name__ == "__main__":
    sys.exit(main())
