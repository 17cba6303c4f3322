#!/usr/bin/python3
"""Indices, lengths and coordinates that come as data, whatever they are.

Each operator that takes some is compiled alone, with its accesses checked
(`nnv12c --check-bounds`), and runs with extreme integers, NaN and infinities in
them. Its results do not count then: it must stay inside of its operands and
come to an end. With --gpu those that a GPU can compute run on one, software or
not, and must give the CPU's results.

Exits with 77 where nothing fails but there is no GPU.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/lib"))
import nnv12tools  # noqa: E402
import numpy as np  # noqa: E402
from nnv12tools import ToolError, call  # noqa: E402
from onnx import TensorProto, helper, mapping, numpy_helper  # noqa: E402

LEAST, MOST = -(2**63), 2**63 - 1
# Near the ends of the axes below, of 32 and of 64 bits, and products of these
# with the size of an element that come around to small numbers.
WHOLE = [MOST, LEAST, 2**40, -(2**40), 2**31, 2**31 - 1, -(2**31)]
WHOLE += [10**6, -(10**6), 4, 5, 7, 8, 9, -1, -8, 2**61, 2**62 + 1]
REAL = [
    np.nan,
    np.inf,
    -np.inf,
    3e38,
    -3e38,
    2.0**31,
    2.0**63,
    -(2.0**63),
]
REAL += [1e10, -1e10, 1e-40, -0.0, 0.5, -1.0, 1.0, 1e6, -1e6, 2.0**32]

f32, i64 = np.float32, np.int64
numbers = np.random.default_rng(1)


def floats(*shape):
    return numbers.standard_normal(shape, f32)


def zeros(*shape, of=i64):
    return np.zeros(shape, of)


def type_of(array):
    return mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype]


def cases():
    """By name: the operator, its version, inputs, the hostile ones, those that
    are constant, outputs and attributes. None: an optional input that is left
    out."""
    result = {}

    def case(name, op, version, inputs, hostile, outputs, constant=(), **attrs):
        result[name] = (op, version, inputs, hostile, constant, outputs, attrs)

    x = floats(7, 5)
    for kind in (i64, np.int32):
        bits = np.dtype(kind).itemsize * 8
        i = zeros(3, of=kind)
        case(f"Gather of {bits} bits", "Gather", 13, {"x": x, "i": i}, "i", [x])
        i = zeros(3, 5, of=kind)
        case(
            f"GatherElements of {bits} bits",
            "GatherElements",
            13,
            {"x": x, "i": i},
            "i",
            [x],
        )
        for reduction in ("none", "add", "mul", "max"):
            case(
                f"ScatterElements, {reduction}, of {bits} bits",
                "ScatterElements",
                18,
                {"x": x, "i": i, "u": floats(3, 5)},
                "i",
                [x],
                reduction=reduction,
            )
    for axis in (0, 1):
        case(
            f"Gather along {axis} of a row",
            "Gather",
            13,
            {"x": floats(9, 64), "i": zeros(2, 3)},
            "i",
            [x],
            axis=axis,
        )
    case("GatherND", "GatherND", 13, {"x": x, "i": zeros(3, 2)}, "i", [x])
    case(
        "GatherND of a batch",
        "GatherND",
        13,
        {"x": floats(2, 7, 5), "i": zeros(2, 3, 1)},
        "i",
        [x],
        batch_dims=1,
    )
    for reduction in ("none", "add", "mul", "min"):
        case(
            f"ScatterND, {reduction}",
            "ScatterND",
            18,
            {"x": x, "i": zeros(3, 1), "u": floats(3, 5)},
            "i",
            [x],
            reduction=reduction,
        )
    case(
        "ScatterND of many",
        "ScatterND",
        13,
        {"x": floats(700, 50), "i": zeros(300, 2), "u": floats(300)},
        "i",
        [x],
    )
    on_off = np.array([0, 1], f32)
    for name, i in (("OneHot", zeros(6)), ("OneHot of floats", floats(6))):
        case(
            name,
            "OneHot",
            11,
            {"i": i, "d": np.array(4), "v": on_off},
            "i",
            [x],
            constant=["d"],
        )
    case(
        "MaxUnpool",
        "MaxUnpool",
        11,
        {"x": floats(1, 1, 4, 4), "i": zeros(1, 1, 4, 4)},
        "i",
        [x],
        kernel_shape=[2, 2],
        strides=[2, 2],
    )
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            case(
                f"GridSample, {mode}, {padding}",
                "GridSample",
                16,
                {"x": floats(1, 2, 6, 6), "g": floats(1, 5, 5, 2)},
                "g",
                [x],
                mode=mode,
                padding_mode=padding,
            )
    for mode in ("linear", "nearest"):
        case(
            f"GridSample of volumes, {mode}",
            "GridSample",
            20,
            {"x": floats(1, 2, 4, 4, 4), "g": floats(1, 2, 3, 3, 3)},
            "g",
            [x],
            mode=mode,
        )
    for ratio in (0, 2):
        for mode in ("avg", "max"):
            for hostile in ("b", "r"):
                case(
                    f"RoiAlign, {mode}, {ratio} samples, {hostile}",
                    "RoiAlign",
                    16,
                    {"x": floats(2, 3, 9, 9), "r": floats(4, 4), "b": zeros(4)},
                    hostile,
                    [x],
                    output_height=2,
                    output_width=2,
                    sampling_ratio=ratio,
                    mode=mode,
                )
    case(
        "ReverseSequence",
        "ReverseSequence",
        10,
        {"x": floats(6, 3, 2), "l": np.array([6, 2, 3])},
        "l",
        [x],
    )
    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        for weighted in (False, True):
            weights = {"w": floats(5)} if weighted else {}
            case(
                f"{op}{' with weights' if weighted else ''}",
                op,
                13,
                {"x": floats(6, 5), "t": zeros(6), **weights},
                "t",
                [x],
                reduction="mean" if weighted else "none",
            )
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        for direction, count in (("forward", 1), ("bidirectional", 2)):
            case(
                f"{op}, {direction}",
                op,
                14,
                {
                    "x": floats(5, 2, 3),
                    "w": floats(count, gates * 4, 3),
                    "r": floats(count, gates * 4, 4),
                    "b": None,
                    "l": np.array([5, 2], np.int32),
                },
                "l",
                [x],
                hidden_size=4,
                direction=direction,
            )
    case(
        "DeformConv",
        "DeformConv",
        19,
        {
            "x": floats(1, 2, 6, 6),
            "w": floats(2, 2, 3, 3),
            "o": floats(1, 18, 4, 4),
        },
        "o",
        [x],
        constant=["w"],
        kernel_shape=[3, 3],
    )
    case(
        "AffineGrid",
        "AffineGrid",
        20,
        {"t": floats(1, 2, 3), "s": np.array([1, 1, 4, 4])},
        "t",
        [x],
        constant=["s"],
    )
    for mode in ("linear", "circular"):
        case(
            f"TensorScatter, {mode}",
            "TensorScatter",
            24,
            {"p": floats(2, 4, 8, 5), "u": floats(2, 4, 1, 5), "w": zeros(2)},
            "w",
            [x],
            mode=mode,
        )
    case(
        "RotaryEmbedding",
        "RotaryEmbedding",
        23,
        {
            "x": floats(1, 2, 4, 8),
            "c": floats(10, 4),
            "s": floats(10, 4),
            "p": zeros(1, 4),
        },
        "p",
        [x],
    )
    case(
        "Attention",
        "Attention",
        24,
        {
            "q": floats(1, 2, 4, 8),
            "k": floats(1, 2, 6, 8),
            "v": floats(1, 2, 6, 8),
            "m": None,
            "pk": None,
            "pv": None,
            "n": np.array([6]),
        },
        "n",
        [x],
    )
    case(
        "TfIdfVectorizer",
        "TfIdfVectorizer",
        9,
        {"x": zeros(9)},
        "x",
        [x],
        max_gram_length=2,
        max_skip_count=1,
        min_gram_length=1,
        mode="TF",
        ngram_counts=[0, 2],
        ngram_indexes=[0, 1, 2, 3],
        pool_int64s=[1, 2, 3, 4, 5, 6],
    )
    case(
        "TopK",
        "TopK",
        11,
        {"x": floats(5, 9), "k": np.array([3])},
        "x",
        [x, zeros(1)],
        constant=["k"],
    )
    for op in ("ArgMax", "ArgMin"):
        case(op, op, 13, {"x": floats(5, 9)}, "x", [zeros(1)], axis=1)
    for kind in (np.int8, np.int32, i64):
        least = np.full(64, np.iinfo(kind).min, kind)
        for op in ("Div", "Mod"):
            case(
                f"{op} of {least.itemsize * 8} bits",
                op,
                14,
                {"a": least, "b": zeros(64, of=kind) + kind(1)},
                "b",
                [least],
            )
    for kind in (np.uint8, np.uint64):
        ones = np.ones(64, kind)
        for way in ("LEFT", "RIGHT"):
            case(
                f"BitShift, {way}, of {ones.itemsize * 8} bits",
                "BitShift",
                11,
                {"a": ones, "b": ones},
                "b",
                [ones],
                direction=way,
            )
    for kind in (np.int8, np.uint8, np.int32, i64):
        case(
            f"Cast to {np.dtype(kind).name}",
            "Cast",
            13,
            {"a": floats(9)},
            "a",
            [zeros(1, of=kind)],
            to=type_of(zeros(1, of=kind)),
        )
    case("Cast, then Gather", "Gather", 13, {"x": x, "i": floats(3)}, "i", [x])
    case(
        "QuantizeLinear",
        "QuantizeLinear",
        13,
        {"x": floats(9), "s": np.array(0.1, f32), "z": np.array(3, np.uint8)},
        "x",
        [zeros(1, of=np.uint8)],
        constant=["s", "z"],
    )
    case("Pow", "Pow", 15, {"a": zeros(9) + 3, "b": zeros(9)}, "b", [zeros(1)])
    case(
        "Gather from many rows",
        "Gather",
        13,
        {"x": floats(4096, 3), "i": zeros(65)},
        "i",
        [x],
    )
    return result


def model_of(case):
    op, version, inputs, _, constant, outputs, attrs = case
    names = [name if inputs[name] is not None else "" for name in inputs]
    nodes = []
    if op == "Gather" and inputs["i"].dtype == f32:
        nodes.append(
            helper.make_node("Cast", ["i"], ["j"], to=TensorProto.INT64)
        )
        names = ["x", "j"]
    results = [f"y{i}" for i in range(len(outputs))]
    nodes.append(helper.make_node(op, names, results, **attrs))
    graph = helper.make_graph(
        nodes,
        op,
        [
            helper.make_tensor_value_info(name, type_of(a), a.shape)
            for name, a in inputs.items()
            if a is not None and name not in constant
        ],
        [
            helper.make_tensor_value_info(name, type_of(a), None)
            for name, a in zip(results, outputs)
        ],
        [numpy_helper.from_array(inputs[name], name) for name in constant],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8
    )


def hostile_values(array):
    if array.dtype.kind == "f":
        return REAL
    limits = np.iinfo(array.dtype)
    # Each once, as it is in the type.
    inside = {min(max(value, limits.min), limits.max) for value in WHOLE}
    return sorted(inside)


def run_case(args, case, work):
    """How many values were tried, 0 where no GPU computes the operator.
    ToolError says what was wrong."""
    _, _, inputs, hostile, constant, _, _ = case
    model, bundle = work / "model.onnx", work / "model.nnv"
    model.write_bytes(model_of(case).SerializeToString())
    # Accesses of GPU kernels cannot be checked: nobody there could be told.
    flags = ["--check-bounds"]
    if args.gpu:
        flags = nnv12tools.all_on_gpu("f32")
    call([args.bin_dir / "nnv12c", model, "-o", bundle, "--quiet", *flags])
    run = [args.bin_dir / "nnv12-run", bundle, "--threads", "2"]
    for name, array in inputs.items():
        if array is not None and name not in constant:
            np.save(work / f"{name}.npy", array)
            run += ["--input", f"{name}={work}/{name}.npy"]

    def trial(*options):
        return call([*run, *options], timeout=60, stderr=subprocess.STDOUT)

    def try_value(value):
        if not args.gpu:
            trial()
            return
        # A read outside would read something else there. Near the largest
        # number, sums in another order need not be infinite.
        compare = []
        if not 1e37 < abs(value) < np.inf:
            compare = ["--expect", work / "cpu"]
            trial("--gpu=off", "--output-dir", work / "cpu")
        said = trial(*nnv12tools.ON_GPU, *compare)
        if "computed nothing" in said:
            raise ToolError(said.strip())

    if args.gpu and "no part for GPUs" in trial(*nnv12tools.ON_GPU):
        return 0
    values = hostile_values(inputs[hostile])[:: args.step]
    for value in values:
        filled = np.full_like(inputs[hostile], value)
        # All of them, and one behind good ones.
        for array in (filled, inputs[hostile].copy()):
            array.reshape(-1)[-1] = filled.reshape(-1)[-1]
            np.save(work / f"{hostile}.npy", array)
            try:
                try_value(value)
            except ToolError as error:
                raise ToolError(f"{hostile} = {value}: {error}")
    return len(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="*", help="parts of names; all if none")
    parser.add_argument("--bin-dir", type=Path, required=True)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--step", type=int, default=1, help="each such value")
    args = parser.parse_args()
    if args.gpu and (reason := nnv12tools.why_no_gpu()):
        print(f"skipped: {reason}")
        return 77
    failed, count, values, left_out = 0, 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="nnv12-indices-") as work:
        for name, case in cases().items():
            if args.case and not any(part in name for part in args.case):
                continue
            count += 1
            try:
                tried = run_case(args, case, Path(work))
                values += tried
                left_out += not tried
            except ToolError as error:
                failed += 1
                print(f"FAIL {name}: {error}", flush=True)
    print(
        f"indices: {count - failed - left_out} passed, {failed} failed, "
        f"{left_out} not for GPUs, {values} values"
    )
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
