#!/usr/bin/python3
"""Compiles whole models and compares their outputs with ONNX Runtime's.

They come in groups: `own` under data/, `shared` beside the repository
(../shared, or where NNV12_SHARED says), and its `zoo`, whose answers are asked
of ONNX Runtime once and kept in the build folder. Each model runs with one, two
and three threads. The comparison is that of `nnv12-run --expect`, and threads
must not change a bit. Exits with 77 where nothing fails but a group cannot run
here.
"""
import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools/lib"))
import nnv12tools  # noqa: E402
from nnv12tools import Tools, ToolError  # noqa: E402


GROUPS = ("own", "shared", "zoo")


def gather(args):
    """Cases, and a line for each group of them that cannot run here."""
    cases, skipped = [], []
    shared = nnv12tools.shared_folder()
    groups = args.group or GROUPS
    if "own" in groups:
        cases += nnv12tools.own_cases()
    for group in groups:
        if group != "own" and not shared:
            skipped.append(f"{group}: no ../shared, and NNV12_SHARED not set")
        elif group == "shared":
            cases += nnv12tools.shared_cases(shared)
        elif group == "zoo":
            try:
                cases += nnv12tools.zoo_cases(
                    shared, args.work / "zoo", nnv12tools.find_peers()
                )
            except (ToolError, OSError) as error:
                skipped.append(f"zoo: {error}")
    if args.cases:
        cases = [c for c in cases if c.name in args.cases]
    return cases, skipped


def count_layers(tools, case, work):
    """How many layers the plan has, of which a GPU may take some."""
    bundle = work / f"{case.name}.nnv"
    text = tools.compile(case.model, bundle, case.shapes)
    bundle.unlink()
    return int(re.search(r"^ *gpu .*? of (\d+) layers", text, re.M).group(1))


def run_each_boundary(tools, case, work, threads, options):
    """With the CPUs' part ending in front of each layer. How many there are."""
    layers = count_layers(tools, case, work)
    for first in range(layers):
        try:
            run_case(
                tools,
                case,
                work,
                threads,
                [*options, f"--gpu-force-from={first}"],
            )
        except ToolError as error:
            raise ToolError(f"from layer {first} on: {error}") from error
    return layers


def run_case(tools, case, work, threads, options):
    bundle = work / f"{case.name}.nnv"
    start = time.monotonic()
    tools.compile(case.model, bundle, case.shapes, options=options)
    took = time.monotonic() - start
    # No call(): what the tool prints on failure is the report.
    first = None
    for count in threads:
        with tempfile.TemporaryDirectory(dir=work) as outputs:
            done = subprocess.run(
                [
                    str(a)
                    for a in tools.run_command(
                        bundle,
                        case.inputs,
                        [
                            f"--expect={case.folder}",
                            f"--threads={count}",
                            "--oversubscribe",
                            f"--output-dir={outputs}",
                        ],
                    )
                ],
                capture_output=True,
                text=True,
            )
            if done.returncode:
                raise ToolError(
                    f"{count} threads: exit {done.returncode}\n"
                    f"{done.stdout}{done.stderr}"
                )
            found = {f.name: f.read_bytes() for f in Path(outputs).iterdir()}
        first = first or found
        if found != first:
            raise ToolError(
                f"{count} threads: other bits than with {threads[0]}"
            )
    bundle.unlink()
    return took


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    Tools.add_arguments(parser)
    parser.add_argument(
        "--work",
        type=Path,
        default=nnv12tools.ROOT / "build",
        help="folder for bundles and the filled zoo (build)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        action="append",
        help="threads to run with (1, 2 and 3)",
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="OPTION",
        help="passed on to nnv12c, e.g. --option=--plan=none; may be repeated",
    )
    parser.add_argument(
        "--each-boundary",
        action="store_true",
        help="with --gpu: hand over in front of each layer, one after another",
    )
    parser.add_argument(
        "--group",
        action="append",
        choices=GROUPS,
        help="whose models; may be repeated (all)",
    )
    parser.add_argument("cases", nargs="*", help="names of cases (all)")
    args = parser.parse_args()

    args.work = args.work.resolve()
    tools = Tools.of(args)
    cases, skipped = gather(args)
    bundles = args.work / "model-tests"
    bundles.mkdir(parents=True, exist_ok=True)
    failed = 0
    for case in cases:
        threads = args.threads or [1, 2, 3]
        try:
            if args.each_boundary:
                count = run_each_boundary(
                    tools, case, bundles, threads, args.option
                )
                print(f"pass {case.name} ({count} boundaries)", flush=True)
                continue
            took = run_case(tools, case, bundles, threads, args.option)
            print(f"pass {case.name} (compiled in {took:.1f} s)", flush=True)
        except ToolError as error:
            failed += 1
            print(f"FAIL {case.name}: {error}", flush=True)
    for line in skipped:
        print(f"skipped {line}")
    print(
        f"models: {len(cases) - failed} passed, {failed} failed, "
        f"{len(skipped)} groups skipped"
    )
    if failed or not (cases or skipped):
        return 1
    return 77 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
