"""padded_channels.py write DIR | check DIR NUMBERS

Layers with 17 channels, which lie in blocks of 16, between each other: the
rest of the last block must be zero. `write` makes DIR/model.onnx and its inputs
DIR/finite.npy and DIR/infinite.npy, which has an infinite number in two pixels;
`check` compares DIR/NUMBERS/output_*.npy with NumPy's answers."""
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

np.seterr(all="ignore")
CHANNELS = 17
random = np.random.default_rng(1)
constants = {}


def constant(name, *shape):
    """Random numbers from 0.1 to 1.1: no function has a pole there."""
    constants[name] = (random.random(shape) + 0.1).astype(np.float32)
    return name


def C(name):
    return constants[name].astype(np.float64)


def windows(x, kernel, outside=0):
    """[C, H, W, K, K] of x, padded to the same size."""
    pad = kernel // 2
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad)), constant_values=outside)
    return np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (1, 2))


def conv(x, w):
    return np.einsum("chwkl,ockl->ohw", windows(x, w.shape[2]), w)


def depthwise(x, w):
    return np.einsum("chwkl,ckl->chw", windows(x, w.shape[2]), w[:, 0])


def conv_transpose(x, w):
    """Stride 1 and padding 1: a convolution with the taps turned round."""
    return conv(x, w.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1])


def softmax(x):
    power = np.exp(x - x.max(0))
    return power / power.sum(0)


def node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs, [output], **attributes)


def direct(kind, compute, name, *shape, **attributes):
    """A convolution: its node from x to y, and NumPy's result for x."""
    w = constant("w_" + name, *shape)
    attributes.setdefault("pads", [shape[2] // 2] * 4)
    return (
        lambda x, y: [node(kind, [x, w], y, **attributes)],
        lambda x: compute(x, C(w)),
    )


def layer(kind, compute, *operands, **attributes):
    return (lambda x, y: [node(kind, [x, *operands], y, **attributes)], compute)


def chain(first, *others):
    """Layers behind each other."""
    if not others:
        return first
    rest, count = chain(*others), len(others)
    return (
        lambda x, y: first[0](x, f"{y}_{count}") + rest[0](f"{y}_{count}", y),
        lambda x: rest[1](first[1](x)),
    )


def function(*layers):
    """`layers` behind a convolution with a bias, whose results are above 1."""
    linear = (
        lambda x, y: [node("Conv", [x, "w1", "bias"], y)],
        lambda x: conv(x, C("w1")) + C("bias")[:, None, None],
    )
    return chain(linear, *layers)


constant("channel", CHANNELS, 1, 1)
constant("scalar", 1)
constant("w1", CHANNELS, 16, 1, 1)
constants["bias"] = np.full(CHANNELS, 1.5, np.float32)
constants["minus_one"] = np.float32([-1])
constants["exponent"] = np.float32([-1.5])
constants["big"] = np.float32([99])
constants["begin"], constants["end"] = np.int64([0]), np.int64([CHANNELS])
constants["axis"] = np.int64([1])
gemm = constant("w_gemm", CHANNELS, 5)
flat_gemm = constant("w_flat_gemm", CHANNELS * 64, 5)
other = direct("Conv", conv, "other", CHANNELS, 16, 1, 1)
narrow = direct("Conv", conv, "narrow", CHANNELS, 16, 1, 1)


# From 16 channels to 17: these make the rest of the last block. (Windows of
# 3x3 might be Winograd's, whose results are no numbers where any pixel of a
# larger window is infinite.)
PRODUCERS = {
    "log": function(layer("Log", np.log)),
    "reciprocal": function(layer("Reciprocal", lambda x: 1 / x)),
    "sqrt": function(
        layer("Add", lambda x: x - 1, "minus_one"), layer("Sqrt", np.sqrt)
    ),
    "exp": function(layer("Neg", lambda x: -x), layer("Exp", np.exp)),
    "overflow": function(
        layer("Mul", lambda x: x * 99, "big"),
        layer("Exp", lambda x: np.exp(x.astype(np.float32))),
    ),
    "div_channel": function(
        layer("Div", lambda x: x / C("channel"), "channel")
    ),
    "div_scalar": function(layer("Div", lambda x: x / C("scalar"), "scalar")),
    "div_tensor": (
        lambda x, y: other[0](x, y + "_o")
        + narrow[0](x, y + "_n")
        + [node("Div", [y + "_n", y + "_o"], y)],
        lambda x: narrow[1](x) / other[1](x),
    ),
    "pow": function(layer("Pow", lambda x: x ** C("exponent"), "exponent")),
    "relu": function(layer("Relu", lambda x: np.maximum(x, 0))),
    "sigmoid": function(layer("Sigmoid", lambda x: 1 / (1 + np.exp(-x)))),
    "conv5": direct("Conv", conv, "conv5", CHANNELS, 16, 5, 5),
    "up": direct("ConvTranspose", conv_transpose, "up", 16, CHANNELS, 3, 3),
    "depthwise": chain(
        narrow,
        direct("Conv", depthwise, "deep", CHANNELS, 1, 3, 3, group=CHANNELS),
    ),
    "max": chain(
        narrow,
        layer(
            "MaxPool",
            lambda x: windows(x, 3, -np.inf).max((3, 4)),
            kernel_shape=[3, 3],
            pads=[1] * 4,
        ),
    ),
    "average": chain(
        narrow,
        layer(
            "AveragePool",
            lambda x: windows(x, 3).mean((3, 4)),
            kernel_shape=[3, 3],
            pads=[1] * 4,
            count_include_pad=1,
        ),
    ),
    "slice": chain(
        direct("Conv", conv, "wide", 32, 16, 1, 1),
        layer("Slice", lambda x: x[:CHANNELS], "begin", "end", "axis"),
    ),
}

# From 17 channels: the padding is read here.
CONSUMERS = {
    "conv2": direct("Conv", conv, "conv2", 2, CHANNELS, 3, 3),
    "conv2_1x1": direct("Conv", conv, "conv2_1x1", 2, CHANNELS, 1, 1),
    "conv40": direct("Conv", conv, "conv40", 40, CHANNELS, 5, 5),
    "conv40_1x1": direct("Conv", conv, "conv40_1x1", 40, CHANNELS, 1, 1),
    "up2": direct("ConvTranspose", conv_transpose, "up2", CHANNELS, 2, 3, 3),
    "up20": direct("ConvTranspose", conv_transpose, "up20", CHANNELS, 20, 3, 3),
    "pool": chain(
        layer("GlobalAveragePool", lambda x: x.mean((1, 2))),
        layer("Flatten", lambda x: x),
        layer("Gemm", lambda x: x @ C(gemm), gemm),
    ),
    "gemm": chain(
        layer("Flatten", lambda x: x.reshape(-1)),
        layer("Gemm", lambda x: x @ C(flat_gemm), flat_gemm),
    ),
    "softmax": layer("Softmax", softmax, axis=1),
    "mean": layer("ReduceMean", lambda x: x.mean(0, keepdims=True), axes=[1]),
    "greatest": layer("ReduceMax", lambda x: x.max(0, keepdims=True), axes=[1]),
}
joined = direct("Conv", conv, "joined", 2, CHANNELS + 16, 3, 3)
CONSUMERS["concat"] = (
    lambda x, y: [node("Concat", ["x", x], y + "_c", axis=1)]
    + joined[0](y + "_c", y),
    None,
)

FINITE = random.random((16, 8, 8)).astype(np.float32)
INFINITE = FINITE.copy()
INFINITE[3, 2, 5], INFINITE[14, 6, 1] = np.inf, -np.inf


def answers(x):
    x = x.astype(np.float64)
    for producer, (_, make) in PRODUCERS.items():
        made = make(x)
        for consumer, (_, use) in CONSUMERS.items():
            if consumer == "concat":
                yield f"{producer}_concat", joined[1](np.concatenate([x, made]))
            else:
                yield f"{producer}_{consumer}", use(made)


def write(folder):
    nodes, names = [], []
    for producer, (build, _) in PRODUCERS.items():
        nodes += build("x", producer)
        for consumer, (build_use, _) in CONSUMERS.items():
            names.append(f"{producer}_{consumer}")
            nodes += build_use(producer, names[-1])
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "padded_channels",
        [value("x", TensorProto.FLOAT, [1, 16, 8, 8])],
        [value(name, TensorProto.FLOAT, None) for name in names],
        [numpy_helper.from_array(v, k) for k, v in constants.items()],
    )
    opset = helper.make_opsetid("", 17)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    with open(folder + "/model.onnx", "wb") as file:
        file.write(model.SerializeToString())
    np.save(folder + "/finite.npy", FINITE[None])
    np.save(folder + "/infinite.npy", INFINITE[None])


def check(folder, numbers):
    count = 0
    data = FINITE if numbers == "finite" else INFINITE
    for i, (name, answer) in enumerate(answers(data)):
        found = np.load(f"{folder}/{numbers}/output_{i}.npy")[0]
        answer = answer.astype(np.float32)
        isFinite = np.isfinite(answer)
        if not np.array_equal(
            found[~isFinite], answer[~isFinite], equal_nan=True
        ):
            print(f"{name}: found others that are infinite or no numbers")
        size = np.abs(answer[isFinite]).max(initial=0)
        error = np.abs(found - answer)[isFinite].max(initial=0) / (size or 1)
        if not error < 1e-4:
            print(f"{name}: found an error of {error}")
        count += 1
    print(f"{count} compared")


if sys.argv[1] == "write":
    write(sys.argv[2])
else:
    check(*sys.argv[2:])
