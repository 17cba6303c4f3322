#!/usr/bin/python3
"""Runs whole models as streams of frames.

Each model is compiled with --video bounded, and stream-frames compares random
frames of streams with runs without one: no bit may differ, for one, two and
four threads. With --bounded streams keep values that differ little, and no bit
may differ between them. A model without rows and columns is refused in one
line, which is said. Exits with 77 where nothing fails but a group cannot run
here.
"""
import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools/lib"))
import nnv12tools  # noqa: E402
from nnv12tools import Tools, ToolError  # noqa: E402

NO_PART = "found no layer with rows and columns that depends on a part"


def run(tools, case, work, args):
    """The words of stream-frames, or the reason for no part for video."""
    bundle = work / f"{case.name}.stream.nnv"
    try:
        tools.compile(
            case.model,
            bundle,
            case.shapes,
            options=["--video=bounded", *args.option],
        )
    except ToolError as error:
        if NO_PART in str(error):
            return "no layer with rows and columns"
        raise
    done = subprocess.run(
        [
            str(args.bin_dir / "stream-frames"),
            str(bundle),
            f"--frames={args.frames}",
            f"--seed={args.seed}",
            *(["--bounded"] if args.bounded else []),
        ],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise ToolError(done.stderr.strip() or f"exit {done.returncode}")
    bundle.unlink()
    return done.stdout.splitlines()[-1].split(": ", 1)[1]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    Tools.add_arguments(parser)
    parser.add_argument(
        "--work", type=Path, default=nnv12tools.ROOT / "build", help="folder"
    )
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bounded", action="store_true")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="OPTION",
        help="passed on to nnv12c; may be repeated",
    )
    parser.add_argument("cases", nargs="*", help="names of cases (all)")
    args = parser.parse_args()
    args.bin_dir = Path(args.bin_dir)
    tools = Tools.of(args)
    cases, shared = nnv12tools.own_cases(), nnv12tools.shared_folder()
    if shared:
        cases += nnv12tools.shared_cases(shared)
    if args.cases:
        cases = [c for c in cases if c.name in args.cases]
    failed = 0
    for case in cases:
        try:
            print(f"ok   {case.name}: {run(tools, case, args.work, args)}")
        except ToolError as error:
            failed += 1
            print(f"FAIL {case.name}: {error}")
        sys.stdout.flush()
    print(f"{len(cases) - failed} passed, {failed} failed")
    if failed:
        return 1
    if not shared:
        print("skipped: no ../shared, and NNV12_SHARED not set")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
