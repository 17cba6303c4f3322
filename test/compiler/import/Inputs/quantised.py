#!/usr/bin/python3
"""quantised.py FOLDER: cases of operators that random graphs do not have, since
their values are halves, or since ONNX Runtime computes them otherwise than they
are defined, or not at all: FOLDER/NAME/model.onnx with its inputs and
outputs."""
import sys
from pathlib import Path

import numpy as np
from onnx import helper, numpy_helper

random = np.random.default_rng(1)


def write(name, op, inputs, constants, outputs, **attributes):
    """`inputs` come before `constants`, of which None leaves one out."""
    folder = Path(sys.argv[1]) / name
    folder.mkdir(parents=True)
    given = {
        f"i{i}": np.asarray(v)
        for i, v in enumerate([*inputs, *constants])
        if v is not None
    }
    names = [
        f"i{i}" if v is not None else ""
        for i, v in enumerate([*inputs, *constants])
    ]
    results = {f"o{i}": a for i, a in enumerate(outputs)}

    def described(arrays):
        return [
            helper.make_tensor_value_info(
                name, numpy_helper.from_array(a).data_type, a.shape
            )
            for name, a in arrays.items()
        ]

    fed = {f"i{i}": given.pop(f"i{i}") for i in range(len(inputs))}
    graph = helper.make_graph(
        [
            helper.make_node(
                op, names, list(results), domain="com.microsoft", **attributes
            )
        ],
        "g",
        described(fed),
        described(results),
        [numpy_helper.from_array(a, n) for n, a in given.items()],
    )
    model = helper.make_model(
        graph,
        opset_imports=[
            helper.make_opsetid("", 17),
            helper.make_opsetid("com.microsoft", 1),
        ],
        ir_version=8,
    )
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for i, a in enumerate(fed.values()):
        np.save(folder / f"input_{i}.npy", a)
    for i, a in enumerate(outputs):
        np.save(folder / f"output_{i}.npy", a)


def whole(shape, least, most, type):
    return random.integers(least, most + 1, shape).astype(type)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def quantised(numbers, scale, zero):
    return np.clip(np.rint(numbers / scale) + zero, 0, 255).astype(np.uint8)


def f32(number):
    return np.float32(number)


def means():
    x = whole((2, 3, 4, 5), 0, 255, np.uint8)
    numbers = (x.astype(np.float64) - 100) * f32(0.02)
    for name, axes, keep in (("mean", (1, 2), 1), ("mean-flat", (-1,), 0)):
        write(
            name,
            "QLinearReduceMean",
            [x],
            [f32(0.02), np.uint8(100), f32(0.0131), np.uint8(99)],
            [
                quantised(
                    numbers.mean(axes, keepdims=bool(keep)), f32(0.0131), 99
                )
            ],
            axes=axes,
            keepdims=keep,
        )


def softmax():
    """With another scale than 1/256."""
    x = whole((3, 7), 0, 255, np.uint8)
    powers = np.exp((x.astype(np.float64) - 90) * f32(0.03))
    write(
        "softmax",
        "QLinearSoftmax",
        [x],
        [f32(0.03), np.uint8(90), f32(0.0031), np.uint8(7)],
        [quantised(powers / powers.sum(-1, keepdims=True), f32(0.0031), 7)],
        opset=13,
    )


def groups():
    """Zero points, and groups that change at each number."""
    x, scales = floats(4, 40), floats(3, 3)
    data = whole((3, 3, 8), 0, 255, np.uint8)
    zeros = whole((3, 2), 0, 255, np.uint8)
    index = whole((40,), 0, 2, np.int32)

    def unpacked(bytes):
        return np.stack([bytes & 15, bytes >> 4], -1).reshape(3, -1)

    weights = unpacked(data)[:, :40].astype(np.float64)
    weights = (weights - unpacked(zeros)[:, index]) * scales[:, index]
    write(
        "groups",
        "MatMulNBits",
        [x],
        [data, scales.reshape(-1), zeros, index],
        [(x @ weights.T).astype(np.float32)],
        K=40,
        N=3,
        bits=4,
        block_size=16,
    )


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm():
    """Three steps both ways; the state stays a float."""
    steps, batch, inputs, hidden = 3, 2, 5, 4
    x = floats(steps, batch, inputs)
    bias = floats(2, 8 * hidden)
    scales, zeros, weights, numbers = [], [], [], []
    for rows in (inputs, hidden):
        weights.append(whole((2, rows, 4 * hidden), 0, 120, np.uint8))
        scales.append(np.abs(floats(2, 4 * hidden)) * f32(0.01))
        zeros.append(np.full((2, 4 * hidden), 60, np.uint8))
        numbers.append(
            (weights[-1].astype(np.float64) - 60) * scales[-1][:, None]
        )
    low, high = min(x.min(), 0), max(x.max(), 0)
    step = f32((high - low) / f32(255))
    centre = np.rint(-low / step)
    rounded = (np.clip(np.rint(x / step) + centre, 0, 255) - centre) * step
    y = np.zeros((steps, 2, batch, hidden))
    last = np.zeros((2, 2, batch, hidden))
    for d in (0, 1):
        h = c = np.zeros((batch, hidden))
        for t in range(steps)[:: -1 if d else 1]:
            gates = rounded[t] @ numbers[0][d] + h @ numbers[1][d]
            gates += bias[d, : 4 * hidden] + bias[d, 4 * hidden :]
            i, o, f, g = np.split(gates, 4, -1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = y[t, d] = sigmoid(o) * np.tanh(c)
        last[:, d] = h, c
    write(
        "lstm",
        "DynamicQuantizeLSTM",
        [x],
        [*weights, bias, *[None] * 4, scales[0], zeros[0], scales[1], zeros[1]],
        [a.astype(np.float32) for a in (y, *last)],
        hidden_size=hidden,
        direction="bidirectional",
    )


def half():
    """Halves are divided as float32."""
    x = floats(30, 40).astype(np.float16)
    scale = np.float16(0.01)
    numbers = x.astype(np.float32) / np.float32(scale)
    write(
        "half",
        "QuantizeLinear",
        [x],
        [scale, np.uint8(7)],
        [quantised(numbers, f32(1), 7)],
    )


means()
half()
softmax()
groups()
lstm()
