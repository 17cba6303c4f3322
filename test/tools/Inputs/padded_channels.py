"""padded_channels.py write DIR | check DIR

Functions that are not finite at zero, between layers whose 17 channels lie in
blocks of 16. `write` makes DIR/model.onnx, `check` compares DIR/output_*.npy
with NumPy's answers."""
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

CHANNELS = 17
random = np.random.default_rng(1)
constants = {}


def constant(name, *shape):
    """Random numbers from 0.1 to 1.1: no function has a pole there."""
    constants[name] = (random.random(shape) + 0.1).astype(np.float32)
    return name


def windows(x, kernel):
    """[C, H, W, K, K] of x, padded to the same size."""
    pad = kernel // 2
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad)))
    return np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (1, 2))


def conv(x, w):
    return np.einsum("chwkl,ockl->ohw", windows(x, w.shape[2]), w)


def conv_transpose(x, w):
    """Stride 1 and padding 1: a convolution with the taps turned round."""
    return conv(x, w.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1])


def node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs, [output], **attributes)


def C(name):
    return constants[name].astype(np.float64)


# Name: the node behind a convolution, its other operands, and NumPy's answer.
FUNCTIONS = {
    "log": ("Log", [], np.log),
    "reciprocal": ("Reciprocal", [], lambda x: 1 / x),
    "sqrt": ("Sqrt", [], np.sqrt),
    "exp": ("Exp", [], np.exp),
    "div_constant": ("Div", ["channel"], lambda x: x / C("channel")),
    "div_scalar": ("Div", ["scalar"], lambda x: x / C("scalar")),
    "div_tensor": ("Div", ["other"], lambda x: x / conv(INPUT, C("w2"))),
    "pow": ("Pow", ["exponent"], lambda x: x ** C("exponent")),
    "relu": ("Relu", [], lambda x: np.maximum(x, 0)),
}


# Name: nodes from x to y, and what NumPy makes of them.
def consumers():
    def direct(name, kind, *shape, pad=0):
        w = constant(f"w_{name}", *shape)
        compute = conv if kind == "Conv" else conv_transpose
        return (
            lambda x, y: [node(kind, [x, w], y, pads=[pad] * 4)],
            lambda x: compute(x, C(w)),
        )

    gemm = constant("w_gemm", CHANNELS, 5)
    joined = constant("w_concat", 2, CHANNELS + 16, 3, 3)
    return {
        "conv2": direct("conv2", "Conv", 2, CHANNELS, 3, 3, pad=1),
        "conv2_1x1": direct("conv2_1x1", "Conv", 2, CHANNELS, 1, 1),
        "conv40": direct("conv40", "Conv", 40, CHANNELS, 3, 3, pad=1),
        "conv40_1x1": direct("conv40_1x1", "Conv", 40, CHANNELS, 1, 1),
        "up2": direct("up2", "ConvTranspose", CHANNELS, 2, 3, 3, pad=1),
        "up20": direct("up20", "ConvTranspose", CHANNELS, 20, 3, 3, pad=1),
        "pool": (
            lambda x, y: [
                node("GlobalAveragePool", [x], y + "_p"),
                node("Flatten", [y + "_p"], y + "_f"),
                node("Gemm", [y + "_f", gemm], y),
            ],
            lambda x: x.mean((1, 2)) @ C(gemm),
        ),
        "concat": (
            lambda x, y: [
                node("Concat", ["x", x], y + "_c", axis=1),
                node("Conv", [y + "_c", joined], y, pads=[1] * 4),
            ],
            lambda x: conv(np.concatenate([INPUT, x]), C(joined)),
        ),
    }


INPUT = random.random((16, 8, 8)).astype(np.float32)
constant("channel", CHANNELS, 1, 1)
constant("scalar", 1)
constant("w1", CHANNELS, 16, 1, 1)
constant("w2", CHANNELS, 16, 1, 1)
constants["minus_one"] = np.float32([-1])
constants["exponent"] = np.float32([-1.5])
USERS = consumers()
nodes, answers = [node("Conv", ["x", "w2"], "other")], []
for i, (name, (kind, operands, function)) in enumerate(FUNCTIONS.items()):
    # Each has a convolution of its own, unlike the others, which it may become
    # part of. Results are above 1: less 1 they have roots, their padding not.
    a, b, bias = name + "_a", name + "_b", name + "_bias"
    constants[bias] = np.full(CHANNELS, 1.5 + i / 8, np.float32)
    nodes.append(node("Conv", ["x", "w1", bias], a))
    linear = conv(INPUT, C("w1")) + C(bias)[:, None, None]
    if kind == "Sqrt":
        nodes.append(node("Add", [a, "minus_one"], a + "1"))
        a, linear = a + "1", linear - 1
    elif kind == "Exp":
        nodes.append(node("Neg", [a], a + "1"))
        a, linear = a + "1", -linear
    result = function(linear)
    assert np.isfinite(result).all(), name
    nodes.append(node(kind, [a] + operands, b))
    for to, (build, compute) in USERS.items():
        nodes += build(b, f"{name}_{to}")
        answers.append((f"{name}_{to}", compute(result)))

mode, folder = sys.argv[1:]
if mode == "write":
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "padded_channels",
        [value("x", TensorProto.FLOAT, [1, 16, 8, 8])],
        [value(name, TensorProto.FLOAT, None) for name, _ in answers],
        [numpy_helper.from_array(v, k) for k, v in constants.items()],
    )
    opset = helper.make_opsetid("", 17)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    with open(folder + "/model.onnx", "wb") as file:
        file.write(model.SerializeToString())
    np.save(folder + "/input.npy", INPUT[None])
else:
    for i, (name, answer) in enumerate(answers):
        found = np.load(f"{folder}/output_{i}.npy")[0]
        error = np.abs(found - answer).max() / np.abs(answer).max()
        if not error < 1e-4:
            print(f"{name}: found an error of {error}")
    print(f"{len(answers)} compared")
