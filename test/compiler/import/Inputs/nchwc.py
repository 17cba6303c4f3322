#!/usr/bin/python3
"""nchwc.py FOLDER: writes plain.onnx, and by8.onnx, by16.onnx: the same network
as ONNX Runtime's layout optimiser writes it where blocks have 8 or 16
channels."""
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "com.microsoft.nchwc"
CHANNELS = 24  # no whole blocks of 16
random = np.random.default_rng(1)


def whole(shape):
    return random.integers(-3, 4, shape).astype(np.float32)


# By name: the filter, and its bias.
FILTERS = {
    "first": (whole((CHANNELS, 3, 3, 3)), whole(CHANNELS)),
    "each": (whole((CHANNELS, 1, 3, 3)), whole(CHANNELS)),
    "last": (whole((CHANNELS, CHANNELS, 1, 1)), whole(CHANNELS)),
}


def padded(array, axes, block):
    pads = [
        (0, -size % block if axis in axes else 0)
        for axis, size in enumerate(array.shape)
    ]
    return np.pad(array, pads)


def blocked(filter, block):
    """Outputs innermost; outside of them inputs, unless they are few."""
    has_blocks = filter.shape[1] >= block
    filter = padded(filter, (0, 1) if has_blocks else (0,), block)
    outputs, inputs, *kernel = filter.shape
    inner = block if has_blocks else 1
    split = filter.reshape(
        outputs // block, block, inputs // inner, inner, *kernel
    )
    return split.transpose(0, 2, 4, 5, 3, 1).reshape(filter.shape)


def write(path, block):
    constants, nodes = {}, []
    domain = DOMAIN if block else ""
    for name, (filter, bias) in FILTERS.items():
        constants[name] = blocked(filter, block) if block else filter
        constants[name + "_bias"] = padded(bias, (0,), block or 1)

    def node(op, inputs, output, domain=domain, **attributes):
        nodes.append(
            helper.make_node(op, inputs, [output], domain=domain, **attributes)
        )

    def conv(name, inputs, output, **attributes):
        node(
            "Conv",
            [inputs[0], name, name + "_bias", *inputs[1:]],
            output,
            **attributes,
        )

    wide = constants["each"].shape[0]
    conv("first", ["x"], "a", pads=[1, 1, 1, 1])
    conv("each", ["a"], "b", group=wide, pads=[1, 1, 1, 1])
    node("MaxPool", ["b"], "c", kernel_shape=[2, 2], strides=[2, 2])
    if block:
        node("Upsample", ["c"], "d", scales=[1, 1, 2, 2])
        conv("last", ["d", "a"], "e", activation="Relu")
    else:
        constants["scales"] = np.array([1, 1, 2, 2], np.float32)
        node(
            "Resize",
            ["c", "", "scales"],
            "d",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
        conv("last", ["d"], "sum")
        node("Add", ["sum", "a"], "sum_a")
        node("Relu", ["sum_a"], "e")
    node("Concat", ["e", "e"] if not block else ["f", "f"], "g", domain="")
    nodes[-1].attribute.append(helper.make_attribute("axis", 1))
    if block:  # in the usual order, and back
        concat = nodes.pop()
        node("ReorderOutput", ["e"], "f", channels=CHANNELS)
        nodes.append(concat)
        node("ReorderInput", ["g"], "h")
        node("GlobalAveragePool", ["h"], "i")
        node(
            "ReorderOutput", ["i"], "y", channels=2 * CHANNELS, channels_last=1
        )
    else:
        node("GlobalAveragePool", ["g"], "i")
        node("Transpose", ["i"], "y", perm=[0, 2, 3, 1])
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [
            helper.make_tensor_value_info(
                "y", TensorProto.FLOAT, [1, 1, 1, 2 * CHANNELS]
            )
        ],
        [numpy_helper.from_array(a, n) for n, a in constants.items()],
    )
    model = helper.make_model(
        graph,
        opset_imports=[
            helper.make_opsetid("", 17),
            helper.make_opsetid(DOMAIN, 1),
        ],
        ir_version=8,
    )
    path.write_bytes(model.SerializeToString())


for block in (0, 8, 16):
    write(
        Path(sys.argv[1]) / (f"by{block}.onnx" if block else "plain.onnx"),
        block,
    )
