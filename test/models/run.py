#!/usr/bin/python3
"""Compiles whole models and compares their outputs with ONNX Runtime's.

They come in groups: `own` under data/, `shared` beside the repository
(../shared, or where NNV12_SHARED says), and its `zoo`, whose answers are asked
of ONNX Runtime once and kept in the build folder. Each model runs with one, two
and three threads. The comparison is that of `nnv12-run --expect`, and threads
must not change a bit. Exits with 77 where nothing fails but a group cannot run
here.

With --gpu-precision f16 it is not ONNX Runtime that says how far outputs may be
off, but what nnv12c printed: with random inputs, a GPU must differ from the
same bundle on the CPU by as much, no more and no less.

With --split layers are cut in two in later runs, so outputs are those of a
later run, and a first one is the CPU's.

With --validation Vulkan's validation layer looks on, with its check of
synchronisation, and may say nothing: all on the GPU from the first run on and
in five later ones, and half of the layers, which it takes over when it is
ready.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools/lib"))
import numpy as np  # noqa: E402
import nnv12tools  # noqa: E402
from nnv12tools import Tools, ToolError, call  # noqa: E402

# In f16, the error on a GPU as a multiple of nnv12c's printed error. A
# device rounds as it likes, and where a sum in another order is near the middle
# between two halves it becomes the other one: on average that is little, while
# the largest error is that of one element.
MEAN_FACTOR, LARGEST_FACTOR = 2, 4
# The error of sums in f32 in another order, as a part of the largest output.
NOISE = 1e-5

GROUPS = ("own", "shared", "zoo")

LAYER_SETTINGS = """\
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.report_flags = error,warn,perf,info
khronos_validation.log_filename = {log}
khronos_validation.enables = \
VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
"""


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


def layers_on_gpu(summary):
    """How many layers a GPU takes, and how many there are."""
    found = re.search(r"^ *gpu +(\d+) of (\d+) layers", summary, re.M)
    return int(found.group(1)), int(found.group(2))


def count_layers(tools, case, work):
    """How many layers the plan has, of which a GPU may take some."""
    bundle = work / f"{case.name}.nnv"
    text = tools.compile(case.model, bundle, case.shapes)
    bundle.unlink()
    return layers_on_gpu(text)[1]


def run_each_boundary(tools, case, work, threads, options):
    """With the CPUs' part ending in front of each layer. How many there are."""
    layers = count_layers(tools, case, work)
    for first in range(layers):
        try:
            from_here = [*options, f"--gpu-force-from={first}"]
            if tools.halves:
                run_in_f16(tools, case, work, from_here)
            else:
                run_case(tools, case, work, threads, from_here)
        except ToolError as error:
            raise ToolError(f"from layer {first} on: {error}") from error
    return layers


def run_expecting(tools, bundle, case, threads, gpu="wait", more=()):
    """Runs a bundle, whose outputs must be those that are known, and returns
    their files' bytes by name. `more`: options of nnv12-run."""
    with tempfile.TemporaryDirectory(dir=bundle.parent) as outputs:
        options = [
            f"--expect={case.folder}",
            f"--threads={threads}",
            "--oversubscribe",
            f"--output-dir={outputs}",
            *more,
        ]
        # No call(): the tool's output on failure is the report.
        done = subprocess.run(
            [
                str(a)
                for a in tools.run_command(bundle, case.inputs, options, gpu)
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise ToolError(
                f"{threads} threads: exit {done.returncode}\n"
                f"{done.stdout}{done.stderr}"
            )
        return {f.name: f.read_bytes() for f in Path(outputs).iterdir()}


def run_case(tools, case, work, threads, options):
    """Words about a case that passes."""
    bundle = work / f"{case.name}.nnv"
    start = time.monotonic()
    tools.compile(case.model, bundle, case.shapes, options=options)
    took = time.monotonic() - start
    first = None
    later = ["--settle"] if tools.split else []
    for count in threads:
        found = run_expecting(tools, bundle, case, count, more=later)
        first = first or found
        if found != first:
            raise ToolError(
                f"{count} threads: other bits than with {threads[0]}"
            )
    # Asked to leave the first run alone, a GPU does.
    if tools.gpu:
        left, alone = (
            run_expecting(tools, bundle, case, threads[0], gpu)
            for gpu in ("after-first", "off")
        )
        if left != alone:
            raise ToolError("a first run before the GPU's: not the CPU's bits")
    text = f"compiled in {took:.1f} s"
    if tools.split:
        text += f", {tools.count_splits(bundle)} splits"
    bundle.unlink()
    return text


def outputs_of(tools, bundle, folder, gpu):
    """Outputs of f32 for random inputs, in one array, and the tool's text."""
    options = ["--random", f"--output-dir={folder}"]
    said = call(tools.run_command(bundle, (), options, gpu))
    files = sorted(folder.iterdir(), key=lambda f: int(f.stem.split("_")[1]))
    arrays = [np.load(f) for f in files]
    floats = [a.ravel() for a in arrays if a.dtype == np.float32]
    return np.concatenate(floats).astype(np.float64), said


def check_error(printed, on_gpu, on_cpu):
    """Whether outputs differ as nnv12c has printed, in words where not."""
    with np.errstate(invalid="ignore"):
        error = np.where(
            (on_gpu == on_cpu) | (np.isnan(on_gpu) & np.isnan(on_cpu)),
            0,
            np.abs(on_gpu - on_cpu),
        )
    error = np.where(np.isnan(error), np.inf, error)
    noise = NOISE * np.abs(on_cpu[np.isfinite(on_cpu)]).max(initial=0)
    largest, mean = error.max(initial=0), error.mean()
    expected_largest, expected_mean = printed
    good = (
        expected_mean / MEAN_FACTOR - noise
        <= mean
        <= expected_mean * MEAN_FACTOR + noise
        and expected_largest / LARGEST_FACTOR - noise
        <= largest
        <= expected_largest * LARGEST_FACTOR + noise
    )
    text = (
        f"differ by {largest:.2e} at most, {mean:.2e} on average, where "
        f"nnv12c printed {expected_largest:.2e} and {expected_mean:.2e}"
    )
    return good, text


def run_in_f16(tools, case, work, options):
    """The parts in f16 there, in words."""
    bundle = work / f"{case.name}.nnv"
    said = tools.compile(case.model, bundle, case.shapes, options=options)
    found = re.search(
        r" f16: outputs of random inputs differ by (\S+) at most, (\S+) on",
        said,
    )
    kernels = tools.kernels_in_f16(bundle)
    # A layer alone hands nothing to another one.
    if not found or (not kernels and layers_on_gpu(said)[0] > 1):
        raise ToolError(f"found no tensor in f16:\n{said}")
    with tempfile.TemporaryDirectory(dir=work) as folder:
        on_cpu, _ = outputs_of(tools, bundle, Path(folder) / "cpu", "off")
        on_gpu, said = outputs_of(tools, bundle, Path(folder) / "gpu", "wait")
    if "\ngpu " not in "\n" + said:
        raise ToolError("a GPU computed nothing of it")
    good, text = check_error([float(x) for x in found.groups()], on_gpu, on_cpu)
    if not good:
        raise ToolError(f"outputs {text}")
    bundle.unlink()
    return f"{kernels} kernels with tensors in f16; outputs {text}"


def run_validated(tools, case, bundle, gpu, options):
    """In how many stretches a GPU computed the last run, while the validation
    layer said nothing."""
    # With tensors in f16 there is no answer to compare with.
    options = [*options] + [f"--expect={case.folder}"] * (not tools.halves)
    with tempfile.TemporaryDirectory(dir=bundle.parent) as folder:
        log, settings = Path(folder) / "log", Path(folder) / "settings"
        log.touch()
        settings.write_text(LAYER_SETTINGS.format(log=log))
        said = call(
            tools.run_command(bundle, case.inputs, options, gpu),
            env={
                **os.environ,
                "VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation",
                "VK_LAYER_SETTINGS_PATH": str(settings),
            },
        )
        messages = log.read_text().split(" msgNum: ")[1:]
    # It says that it is there, and nothing else.
    if not messages or "SYNCHRONIZATION_VALIDATION" not in messages.pop(0):
        raise ToolError("the validation layer is not there")
    if messages:
        raise ToolError(
            f"{len(messages)} messages of the validation layer, the first: "
            + messages[0].splitlines()[0]
        )
    found = re.search(r"^gpu .* (\d+) stretches in the last run$", said, re.M)
    if not found:
        raise ToolError(f"a GPU computed nothing of the last run:\n{said}")
    return int(found.group(1))


def validate(tools, case, work, compiler_options, options):
    """A GPU's work under the validation layer, in words."""
    bundle = work / f"{case.name}.nnv"

    def compile(*more):
        return tools.compile(
            case.model, bundle, case.shapes, options=[*compiler_options, *more]
        )

    taken, layers = layers_on_gpu(compile())
    waiting = run_validated(tools, case, bundle, "wait", [*options, "--runs=6"])
    if taken == layers and not tools.split:
        compile(f"--gpu-force-from={layers // 2}")
    handed = run_validated(tools, case, bundle, "auto", [*options, "--settle"])
    bundle.unlink()
    return (
        f"{taken} of {layers} layers in {waiting} stretches, "
        f"and {handed} that took over"
    )


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
        "--run-option",
        action="append",
        default=[],
        metavar="OPTION",
        help="with --validation: passed on to nnv12-run; may be repeated",
    )
    parser.add_argument(
        "--validation",
        action="store_true",
        help="with --gpu: run under Vulkan's validation layer",
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
    if tools.gpu and nnv12tools.why_no_gpu():
        print(f"skipped: {nnv12tools.why_no_gpu()}")
        return 77
    if args.validation and nnv12tools.why_no_validation():
        print(f"SKIPPED: {nnv12tools.why_no_validation()}")
        return 77
    cases, skipped = gather(args)
    bundles = args.work / "model-tests"
    bundles.mkdir(parents=True, exist_ok=True)
    failed = 0
    for case in cases:
        threads = args.threads or [1, 2, 3]
        try:
            if args.validation:
                text = validate(
                    tools, case, bundles, args.option, args.run_option
                )
                print(f"pass {case.name} ({text})", flush=True)
                continue
            if args.each_boundary:
                count = run_each_boundary(
                    tools, case, bundles, threads, args.option
                )
                print(f"pass {case.name} ({count} boundaries)", flush=True)
                continue
            if tools.halves:
                text = run_in_f16(tools, case, bundles, args.option)
                print(f"pass {case.name} ({text})", flush=True)
                continue
            text = run_case(tools, case, bundles, threads, args.option)
            print(f"pass {case.name} ({text})", flush=True)
        except ToolError as error:
            failed += 1
            print(f"FAIL {case.name}: {error}", flush=True)
    for line in skipped:
        print(f"skipped: {line}")
    print(
        f"models: {len(cases) - failed} passed, {failed} failed, "
        f"{len(skipped)} groups skipped"
    )
    if failed or not (cases or skipped):
        return 1
    return 77 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
