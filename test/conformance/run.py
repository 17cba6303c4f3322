#!/usr/bin/python3
"""Runs ONNX's backend test cases through nnv12c and nnv12-run.

Each case is one model with inputs and expected outputs. What must be known when
a model is compiled (a Reshape's shape, an If's condition, a sequence…) is bound
with `nnv12c --constant`; everything else is given to nnv12-run. Outputs are
compared as ONNX's own runner does: floating-point with rtol 1e-3 and atol 1e-7,
the rest exactly.

There are two suites: the cases of ONNX 1.12, which Debian ships, and the node
cases of ONNX 1.23, which lie in ../shared/onnx-node-1.23 (NNV12_SHARED names
another place). A case of one that is byte for byte in the other runs once and
counts in both. Each suite has a list of the cases that do not pass yet, with
the reason. It may only shrink: a case on it that passes is an error, as is one
off it that fails. Exits with 77 where nothing fails but the cases of a suite
are not there.
"""
import argparse
import hashlib
import json
import os
import shutil
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

import tensors

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools/lib"))
from nnv12tools import (  # noqa: E402
    ROOT,
    Tools,
    ToolError,
    call,
    shared_folder,
    why_no_gpu,
)

RTOL, ATOL = 1e-3, 1e-7
# With tensors in f16 on a GPU, of the largest element of an output besides: a
# device may cut off, which is up to 2^-10 of each number, and four such
# roundings follow one another in a case. A sum errs by the size of its terms,
# however small it is: so the tolerance is the largest number's, not each one's.
HALF_TOLERANCE = 4 * 2.0**-10


@dataclass(frozen=True)
class Suite:
    """Where cases lie (`data`, or an archive below the shared folder that is
    unpacked first), in which folders, the list of those that fail, and how many
    must pass where all are tried."""

    folders: tuple
    listed: Path
    source: str
    least: int
    data: Path = None
    archive: str = None

    def find(self, work):
        """The folder of the cases, or None where they are not to be had."""
        if self.data:
            return self.data if self.data.is_dir() else None
        shared = shared_folder()
        archive = shared and shared / self.archive
        if not archive or not archive.is_file():
            return None
        folder, mark = (
            work / archive.parent.name,
            work / f"{archive.parent.name}.unpacked",
        )
        stamp = f"{archive.stat().st_size} {archive.stat().st_mtime_ns}"
        if not mark.is_file() or mark.read_text() != stamp:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            with tarfile.open(archive) as tar:
                tar.extractall(folder)
            mark.write_text(stamp)
        return folder


SUITES = {
    "1.12": Suite(
        ("node", "simple", "pytorch-converted", "pytorch-operator"),
        HERE / "expected_failures.txt",
        "install libonnx-testdata",
        1000,
        data=Path("/usr/share/libonnx-testdata/data"),
    ),
    "1.23": Suite(
        ("node",),
        HERE / "expected_failures_1.23.txt",
        "no ../shared, and NNV12_SHARED not set",
        1700,
        archive="onnx-node-1.23/node.tar.gz",
    ),
}

# Operands whose value decides the shape of a result, or which part of the graph
# is used: they must be known at compile time. Numbers count the node's inputs.
ALL = range(16)
STATIC_OPERANDS = {
    "AffineGrid": [1],
    "BlackmanWindow": [0],
    "CenterCropPad": [1],
    "Col2Im": [1, 2],
    "ConstantOfShape": [0],
    "CumProd": [1],
    "CumSum": [1],
    "DFT": [1, 2],
    "Dropout": [1, 2],
    "Expand": [1],
    "HammingWindow": [0],
    "HannWindow": [0],
    "If": [0],
    "Loop": [0, 1],
    "MaxUnpool": [2],
    "MelWeightMatrix": ALL,
    "OneHot": [1],
    "Pad": [1, 3],
    "Range": [0, 1, 2],
    "Reshape": [1],
    "Resize": [1, 2, 3],
    "STFT": [1, 3],
    "SequenceAt": [1],
    "SequenceErase": [1],
    "SequenceInsert": [2],
    "Slice": [1, 2, 3, 4],
    "Split": [1],
    "SplitToSequence": [1],
    "Squeeze": [1],
    "Tile": [1],
    "TopK": [1],
    "Trilu": [1],
    "Unique": [0],
    "Unsqueeze": [1],
    "Upsample": [1],
    **{
        f"Reduce{kind}": [1]
        for kind in (
            "L1",
            "L2",
            "LogSum",
            "LogSumExp",
            "Max",
            "Mean",
            "Min",
            "Prod",
            "Sum",
            "SumSquare",
        )
    },
}
# Operands on which only the number of results depends. Such cases are tried
# twice: with constants, and with padding behind the results that count.
COUNTED_OPERANDS = {"Compress": [1], "NonMaxSuppression": ALL, "NonZero": [0]}
# Results that depend on the shapes of the inputs alone.
SHAPE_ONLY = {"Shape", "Size"}


def names_used(node):
    """Names that a node reads, inside of its subgraphs as well."""
    yield from node.input
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from names_used(inner)


def static_values(graph, operands):
    """Names of the values that must be known at compile time, as `operands` of
    these operators are."""
    producer = {o: n for n in graph.node for o in n.output}
    pending = [
        n.input[i]
        for n in graph.node
        for i in operands.get(n.op_type, ())
        if i < len(n.input)
    ]
    found = set()
    while pending:
        name = pending.pop()
        if not name or name in found:
            continue
        found.add(name)
        node = producer.get(name)
        if node is not None and node.op_type not in SHAPE_ONLY:
            pending += names_used(node)
    return found


def is_tensor(value):
    return value.type.WhichOneof("value") == "tensor_type"


def read(name, declared, message):
    """Element type and array of a message of a declared tensor type."""
    try:
        kind, array = tensors.read(message)
    except ValueError as error:
        raise ToolError(f"'{name}' holds {error}")
    given = tensors.TYPES.get(declared.elem_type, kind)
    if given.coded and not kind.coded and kind.dtype == given.dtype:
        kind = given  # bfloat16, which some cases hold as integers
    return kind, array


def load(value, file):
    """The tensors of an output's file as (name, element type, array): those of
    a sequence or optional have the names that nnv12c gives them."""
    which = value.type.WhichOneof("value")
    message = {
        "tensor_type": onnx.TensorProto,
        "sequence_type": onnx.SequenceProto,
        "optional_type": onnx.OptionalProto,
    }[which]()
    message.ParseFromString(file.read_bytes())
    kinds = {1: "tensor", 3: "sequence", 5: "optional"}

    def flatten(name, message):
        if isinstance(message, onnx.TensorProto):
            return [(name, *read(name, value.type.tensor_type, message))]
        if isinstance(message, onnx.SequenceProto):
            parts = getattr(message, f"{kinds[message.elem_type or 1]}_values")
        else:
            parts = (
                [getattr(message, f"{kinds[message.elem_type]}_value")]
                if message.elem_type
                else []
            )
        return [
            t
            for i, part in enumerate(parts)
            for t in flatten(f"{name}[{i}]", part)
        ]

    return flatten(value.name, message)


def optional_file(value, file, saved):
    """The file of an optional input; where it holds the bare element, as those
    of newer cases do, a file in which that is wrapped."""
    optional = onnx.OptionalProto()
    optional.ParseFromString(file.read_bytes())
    is_sequence = (
        value.type.optional_type.elem_type.WhichOneof("value")
        == "sequence_type"
    )
    field = "sequence_value" if is_sequence else "tensor_value"
    if not optional.elem_type or optional.HasField(field):
        return file
    wrapped = onnx.OptionalProto(elem_type=3 if is_sequence else 1)
    getattr(wrapped, field).ParseFromString(file.read_bytes())
    saved.write_bytes(wrapped.SerializeToString())
    return saved


def compare(name, kind, actual, expected, halves=False):
    if actual.shape != expected.shape:
        raise ToolError(
            f"output '{name}' has shape {actual.shape}, not {expected.shape}"
        )
    actual, expected = tensors.values(kind, actual), tensors.values(
        kind, expected
    )
    if np.issubdtype(expected.dtype, np.inexact):
        atol = ATOL
        if halves:
            finite = np.abs(expected[np.isfinite(expected)])
            atol += HALF_TOLERANCE * finite.max(initial=0)
        good = np.isclose(
            actual, expected, rtol=RTOL, atol=atol, equal_nan=True
        )
    else:
        good = actual == expected
    if not good.all():
        at = tuple(int(i) for i in np.argwhere(~good)[0])
        raise ToolError(
            f"output '{name}'{list(at)} is {actual[at]}, not {expected[at]} "
            f"({good.size - good.sum()} of {good.size} differ)"
        )


@dataclass
class GpuUse:
    """A GPU's part in a case."""

    is_float: bool = False  # all that it computes is f32
    dispatches: bool = False
    halves: bool = False  # some of its tensors are in f16
    splits: bool = False  # it shares layers with the CPU


def without_padding(tools, bundle, work, model):
    """Cuts the outputs of which others say how many elements count."""
    described = json.loads(
        call([tools.compiler_dir / "nnv12-inspect", bundle, "--json"])
    )
    names = [o["name"] for o in described["outputs"]]
    for i, output in enumerate(model.graph.output):
        if output.name + ".count" not in names:
            continue
        count, file = (
            np.load(work / f"output_{names.index(output.name + '.count')}.npy"),
            work / f"output_{i}.npy",
        )
        padded = np.load(file)
        # The results of NonZero are columns, those of others are rows.
        axis = int(any(n.op_type == "NonZero" for n in model.graph.node))
        compresses = [n for n in model.graph.node if n.op_type == "Compress"]
        for a in compresses[0].attribute if compresses else ():
            axis = a.i
        np.save(file, padded.take(np.arange(count[0]), axis))
    return len(model.graph.output)


def run_case(tools, case, work, use, operands):
    """Raises ToolError where the case does not pass; fills in `use`."""
    model = onnx.load(str(case / "model.onnx"))
    stored = {t.name for t in model.graph.initializer}
    values = [v for v in model.graph.input if v.name not in stored]
    static = static_values(model.graph, operands)
    for data in sorted(case.glob("test_data_set_*")):
        shapes, constants, inputs = [], [], []
        for i, value in enumerate(values):
            file = data / f"input_{i}.pb"
            if not file.exists():
                continue  # an optional input that the test leaves out
            if value.type.WhichOneof("value") == "optional_type":
                file = optional_file(value, file, work / f"input_{i}.pb")
            if value.name in static or not is_tensor(value):
                constants.append((value.name, file))
                continue
            [(_, kind, array)] = load(value, file)
            saved = work / f"input_{i}.npy"
            tensors.save_npy(saved, kind, array)
            inputs.append((value.name, saved))
            shape = value.type.tensor_type.shape
            if any(not d.HasField("dim_value") for d in shape.dim):
                shapes.append((value.name, array.shape))
        expected = [
            t
            for i, v in enumerate(model.graph.output)
            for t in load(v, data / f"output_{i}.pb")
        ]
        bundle = work / "model.nnv"
        tools.compile(
            case / "model.onnx",
            bundle,
            shapes,
            constants,
            # A summary has the cost of f16, which takes two more compilations.
            ["--quiet"] if tools.halves else [],
            timeout=120,
        )
        halves = tools.halves and tools.kernels_in_f16(bundle) > 0
        use.halves |= halves
        use.splits |= bool(tools.split and tools.count_splits(bundle))
        for old in work.glob("output_*.npy"):
            old.unlink()
        options = [f"--output-dir={work}"]
        if tools.split:  # in later runs alone
            options.append("--settle")
        said = tools.run(bundle, inputs, options, timeout=300)
        use.dispatches |= "\ngpu " in "\n" + said
        use.is_float = all(
            kind.dtype == np.float32 and not kind.coded
            for _, kind, _ in expected
        )
        given = len(list(work.glob("output_*.npy")))
        if given > len(expected):
            given = without_padding(tools, bundle, work, model)
        if given != len(expected):
            raise ToolError(f"{given} outputs, not {len(expected)}")
        for i, (name, kind, array) in enumerate(expected):
            try:
                actual = tensors.load_npy(work / f"output_{i}.npy", kind)
            except ValueError as error:
                raise ToolError(f"output '{name}' {error}")
            compare(name, kind, actual, array, halves)


def outcome(tools, case, use):
    """None where the case passes, else why it does not, in one line."""
    with tempfile.TemporaryDirectory(prefix="nnv12-case-") as work:
        try:
            model = onnx.load(str(case / "model.onnx"))
            run_case(
                tools,
                case,
                Path(work),
                use,
                {**STATIC_OPERANDS, **COUNTED_OPERANDS},
            )
            if any(n.op_type in COUNTED_OPERANDS for n in model.graph.node):
                run_case(tools, case, Path(work), use, STATIC_OPERANDS)
        except ToolError as error:
            return str(error).replace(f"{case}/", "").replace(f"{work}/", "")
        except (
            Exception
        ) as error:  # a fault of this script must not stop the others
            return f"{type(error).__name__}: {error}"


def read_list(path):
    listed = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(":")
            listed[name.strip()] = reason.strip()
    return listed


def digest(case):
    """The digest of all files in a case's folder."""
    result = hashlib.sha256()
    for file in sorted(f for f in case.rglob("*") if f.is_file()):
        result.update(f"{file.relative_to(case)}\0".encode())
        result.update(hashlib.sha256(file.read_bytes()).digest())
    return result.digest()


def name_of(case):
    """As lists have it: "node/test_abs"."""
    return f"{case.parent.name}/{case.name}"


def report(version, listed_file, faults, in_f16, whole, verbose):
    """Prints what of a suite's cases is not as its list has it, and says how
    many faults that are. `faults`: by name, None where a case passes."""
    listed = read_list(listed_file)
    failed = {n: f for n, f in faults.items() if f}
    wrong = 0
    for name, fault in failed.items():
        if name not in listed:
            wrong += 1
            print(f"FAIL {name}: {fault}")
        elif "CRASH" in fault:
            wrong += 1
            print(f"FAIL {name}: listed, but no tool may crash: {fault}")
        elif verbose:
            print(f"expected {name} ({listed[name]}): {fault}")
    for name, reason in listed.items():
        # With tensors in f16 more counts as equal.
        passes = name in faults and name not in failed and name not in in_f16
        if passes or (whole and name not in faults):
            wrong += 1
            print(
                f"FAIL {name}: passes or is gone; "
                f"remove it from {listed_file.name}"
            )
        elif not reason:
            wrong += 1
            print(f"FAIL {name}: no reason given in {listed_file.name}")
    print(
        f"conformance with ONNX {version}: {len(faults) - len(failed)} of "
        f"{len(faults)} cases pass, {len(failed)} do not "
        f"({sum(n in listed for n in failed)} of these expected)"
    )
    return wrong


def report_gpu(uses, verbose):
    """The same for the cases of a suite that a GPU computed: nine of ten cases
    of f32, in part."""
    floats = [u for u in uses.values() if u.is_float]
    used = sum(u.dispatches for u in floats)
    print(
        f"a GPU computed a part of {used} of {len(floats)} cases of f32, "
        f"and of {sum(u.dispatches for u in uses.values())} in all"
    )
    if verbose:
        for case, use in uses.items():
            if use.is_float and not use.dispatches:
                print(f"on the CPU alone: {case.name}")
    if used >= 0.9 * len(floats):
        return 0
    print("FAIL: nine of ten must be")
    return 1


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    Tools.add_arguments(parser)
    parser.add_argument(
        "--suite",
        choices=SUITES,
        action="append",
        help="whose cases; may be given again (all)",
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=ROOT / "build/test/conformance",
        help="folder where archives are unpacked (build/test/conformance)",
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="cases at a time"
    )
    parser.add_argument(
        "--halves-at-least",
        type=int,
        default=0,
        help="with --gpu-precision f16: how many of each suite must have "
        "tensors in f16",
    )
    parser.add_argument(
        "--splits-at-least",
        type=int,
        default=0,
        help="with --split: in how many of each suite layers must be cut",
    )
    parser.add_argument(
        "--stride", type=int, default=1, help="every Nth case only"
    )
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="say why each expected failure fails",
    )
    parser.add_argument("cases", nargs="*", help="names of cases (all)")
    args = parser.parse_args()

    if args.gpu and why_no_gpu():
        print(f"skipped: {why_no_gpu()}")
        return 77
    whole = not args.cases and args.stride == 1
    suites, skipped = {}, []
    for version in args.suite or SUITES:
        suite = SUITES[version]
        data = suite.find(args.work)
        if not data:
            skipped.append(f"no cases of ONNX {version}: {suite.source}")
            continue
        cases = sorted(c for f in suite.folders for c in (data / f).iterdir())
        if args.cases:
            cases = [c for c in cases if c.name in args.cases]
        suites[version] = {c: digest(c) for c in cases[:: args.stride]}

    tools = Tools.of(args)
    call([tools.compiler_dir / "nnv12c", "--version"])
    start = time.monotonic()
    # The first of equal cases stands for them.
    first = {}
    for digests in suites.values():
        for case, key in digests.items():
            first.setdefault(key, case)
    uses = {c: GpuUse() for c in first.values()}
    with ThreadPoolExecutor(args.jobs) as pool:
        found = dict(
            zip(
                first,
                pool.map(lambda c: outcome(tools, c, uses[c]), first.values()),
            )
        )

    wrong = 0
    for version, digests in suites.items():
        suite = SUITES[version]
        faults = {name_of(c): found[k] for c, k in digests.items()}
        in_f16 = {
            name_of(c) for c, k in digests.items() if uses[first[k]].halves
        }
        wrong += report(
            version, suite.listed, faults, in_f16, whole, args.verbose
        )
        passed = sum(f is None for f in faults.values())
        if whole and passed < suite.least:
            wrong += 1
            print(f"FAIL: at least {suite.least} must pass")
        if tools.split:
            count = sum(uses[first[k]].splits for k in digests.values())
            print(f"layers were cut in two in {count} of them")
            if count < args.splits_at_least:
                wrong += 1
                print(f"FAIL: at least {args.splits_at_least} must be")
        elif args.gpu:
            wrong += report_gpu(
                {c: uses[first[k]] for c, k in digests.items()}, args.verbose
            )
        if tools.halves:
            print(f"tensors were in f16 in {len(in_f16)} of them")
            if args.verbose:
                for name in sorted(in_f16):
                    print(f"in f16: {name}")
            if len(in_f16) < args.halves_at_least:
                wrong += 1
                print(f"FAIL: at least {args.halves_at_least} must be")
    of = sum(map(len, suites.values()))
    print(
        f"{len(first)} different cases of {of}, "
        f"{time.monotonic() - start:.0f} s"
    )
    for line in skipped:
        print(f"skipped: {line}")
    return 1 if wrong else 77 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
