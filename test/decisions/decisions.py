#!/usr/bin/python3
"""Says whether two builds of nnv12c decide alike.

A change of the compiler that is to compute nothing new leaves bundles as they
were. `record` compiles models and writes down, for each bundle, a digest of
the file, one of each of its segments, and what nnv12-inspect says of its plan.
`compare` reads two such records: bundles are equal byte for byte, or what
differs is printed, a line each; decisions (routines, stored forms, lanes,
order, stretches) and segments are told apart from the rest of the metadata.

    decisions.py record --bin-dir BEFORE/build/bin before.json
    decisions.py record --bin-dir AFTER/build/bin after.json
    decisions.py compare before.json after.json

Models are those of test/models/data, of ../shared, and of --zoo, a folder of
*.onnx. Each is compiled for three targets at once, with and without later
routines; eight of them for a GPU as well.
"""
import argparse
import hashlib
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools/lib"))
import nnv12tools  # noqa: E402
from nnv12tools import Tools, ToolError, call  # noqa: E402

TARGETS = ("x86-64-v3", "x86-64-v4", "aarch64")
MODES = ("cold", "continuous")
# With a GPU: kernels of every kind, models that it takes whole and in parts.
GPU_MODELS = (
    "mobilenet_v2-13",
    "resnet50-13",
    "squeezenet1_1-17",
    "googlenet-17",
    "efficientnet_b0-17",
    "mobilenetv2",
    "squeezenet",
    "ultraface",
    "subpixel",
    "blazeface",
)
# How a GPU may be used: as it pays, in other precision, wholly, in part.
GPU_WAYS = {
    "gpu-h100": ["--gpu=vulkan1.1", "--gpu-profile=h100"],
    "gpu-f16": [
        f"--gpu={nnv12tools.ALL_FEATURES}",
        "--gpu-profile=h200",
        "--gpu-precision=f16",
    ],
    "gpu-phone": ["--gpu=vulkan1.1", "--gpu-profile=meizu-16t"],
    "gpu-force": [f"--gpu={nnv12tools.ALL_FEATURES}", "--gpu-force"],
}
# Keys of nnv12-inspect's entries to leave out: they are no decisions.
PLACES = {"offset", "offsets", "size", "digest", "path", "file", "revision"}


def cases_of(args):
    """Models: pairs of name and file, with the shapes that they leave open."""
    cases = [(c.name, c.model, c.shapes) for c in nnv12tools.own_cases()]
    shared = nnv12tools.shared_folder()
    if shared:
        cases += [
            (c.name, c.model, c.shapes) for c in nnv12tools.shared_cases(shared)
        ]
    if args.zoo:
        cases += [(f.stem, f, []) for f in sorted(args.zoo.glob("*.onnx"))]
    known = set()
    return [
        c
        for c in cases
        if not (c[0] in known or known.add(c[0]))
        and (not args.models or c[0] in args.models)
    ]


def digest(data):
    return hashlib.sha256(data).hexdigest()[:32]


def describe(tools, bundle):
    """A bundle's digests, and its description without places."""
    data = bundle.read_bytes()
    text = call([tools.compiler_dir / "nnv12-inspect", bundle, "--json"])
    plan = json.loads(text)
    segments = [
        digest(data[s["offset"] : s["offset"] + s["size"]])
        for s in plan.get("segments", [])
    ]
    return {
        "file": digest(without_revision(data, plan)),
        "segments": segments,
        "plan": strip(plan),
    }


def without_revision(data, plan):
    """A bundle's bytes without the name of the compiler's sources, which
    changes with each of them, and without the header, whose digests do."""
    for program in plan["programs"]:
        name = program["revision"].encode()
        data = data.replace(name, b"0" * len(name))
    return data[plan["metadata_offset"] :]


def strip(value):
    if isinstance(value, dict):
        return {k: strip(v) for k, v in value.items() if k not in PLACES}
    return [strip(v) for v in value] if isinstance(value, list) else value


def compile_ways(name, args):
    """Names of the bundles that a model becomes, with nnv12c's options."""
    targets = [f"--target={t}" for t in TARGETS]
    ways = {m: [*targets, f"--mode={m}"] for m in MODES}
    if name in GPU_MODELS:
        for way, options in GPU_WAYS.items():
            ways[way] = ["--target=x86-64-v3", *options]
    return {w: o for w, o in ways.items() if not args.ways or w in args.ways}


def record(args):
    tools = Tools(args.bin_dir)
    work = [
        (f"{name} {way}", model, shapes, options)
        for name, model, shapes in cases_of(args)
        for way, options in compile_ways(name, args).items()
    ]

    def one(item):
        name, model, shapes, options = item
        with tempfile.TemporaryDirectory(dir=args.work) as folder:
            bundle = Path(folder) / "bundle.nnv"
            try:
                tools.compile(
                    model, bundle, shapes, options=["--quiet", *options]
                )
                return name, describe(tools, bundle)
            except ToolError as error:
                return name, {"error": str(error).replace(folder, "")}

    found = {}
    with ThreadPoolExecutor(args.jobs) as pool:
        for name, described in pool.map(one, work):
            found[name] = described
            if args.verbose:
                print(name, flush=True)
    args.record.write_text(json.dumps(found, sort_keys=True))
    errors = sum("error" in f for f in found.values())
    print(f"{args.record}: {len(found)} bundles, {errors} errors")
    return 0


def differences(before, after, path=""):
    """Where two descriptions differ: a line each."""
    if type(before) is not type(after):
        yield f"{path}: {before!r} -> {after!r}"
    elif isinstance(before, dict):
        for key in sorted({*before, *after}):
            if key not in before or key not in after:
                here = "appeared" if key in after else "is gone"
                yield f"{path}.{key}: {here}"
            else:
                yield from differences(before[key], after[key], f"{path}.{key}")
    elif isinstance(before, list):
        if len(before) != len(after):
            yield f"{path}: {len(before)} -> {len(after)} entries"
        for i, (a, b) in enumerate(zip(before, after)):
            yield from differences(a, b, f"{path}[{i}]")
    elif before != after:
        yield f"{path}: {before!r} -> {after!r}"


def compare(args):
    before = json.loads(args.before.read_text())
    after = json.loads(args.after.read_text())
    same = [n for n in before if before[n] == after.get(n)]
    changed = [n for n in before if n in after and n not in same]
    for name in changed:
        lines = list(differences(before[name], after[name]))
        print(f"{name}: {len(lines)} differences")
        for line in lines[: args.lines]:
            print(f"  {line}")
    missing = sorted({*before} ^ {*after})
    for name in missing:
        print(f"{name}: in one record alone")
    print(
        f"{len(same)} bundles equal byte for byte, {len(changed)} changed, "
        f"{len(missing)} in one record alone"
    )
    return 1 if changed or missing else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("record", help="compile, and write a record")
    one.add_argument("record", type=Path)
    one.add_argument(
        "--bin-dir", type=Path, default=nnv12tools.ROOT / "build/bin"
    )
    one.add_argument("--zoo", type=Path, help="folder of more *.onnx")
    one.add_argument("--models", nargs="*", help="these alone")
    one.add_argument("--ways", nargs="*", help="these bundles of each alone")
    one.add_argument("--work", type=Path, help="folder for temporary files")
    one.add_argument("--jobs", type=int, default=2)
    one.add_argument("--verbose", action="store_true")
    one.set_defaults(run=record)
    two = commands.add_parser("compare", help="say what differs")
    two.add_argument("before", type=Path)
    two.add_argument("after", type=Path)
    two.add_argument("--lines", type=int, default=10, help="of each bundle")
    two.set_defaults(run=compare)
    args = parser.parse_args()
    return args.run(args)


if __name__ == "__main__":
    sys.exit(main())
