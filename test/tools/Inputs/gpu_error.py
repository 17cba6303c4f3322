"""gpu_error.py MODEL.onnx SUMMARY TENSOR...: computes a model twice for the
inputs of `nnv12-run --random`, once with these tensors rounded to f16, and
checks what nnv12c has said of the difference."""
import re
import sys

import numpy as np
import onnx
from onnx import numpy_helper

LARGEST = 65504
graph = onnx.load(sys.argv[1]).graph
summary = open(sys.argv[2]).read()
halves = set(sys.argv[3:])


def random_numbers():
    """splitmix64, as numbers from 0 to 1."""
    state, mask = 1, (1 << 64) - 1
    while True:
        state = state + 0x9E3779B97F4A7C15 & mask
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        yield ((z ^ z >> 31) >> 11) * 2.0**-53


def in_f16(x):
    """Beyond the largest half is the largest one; NaN stays."""
    x = np.where(x > LARGEST, np.float32(LARGEST), x)
    x = np.where(x < -LARGEST, np.float32(-LARGEST), x)
    return x.astype(np.float16).astype(np.float32)


OPERATORS = {
    "MatMul": lambda a, b: a.astype(np.float64) @ b.astype(np.float64),
    "Add": lambda a, b: a + b,
    "Relu": lambda a: np.maximum(a, 0),
    "Sqrt": np.sqrt,
    "ArgMax": lambda a: a.argmax(axis=-1),
}


def outputs(inputs, halves):
    """The outputs of f32, one behind the other."""
    values = dict(inputs)
    for tensor in graph.initializer:
        array = numpy_helper.to_array(tensor)
        assert array.dtype == np.float32
        values[tensor.name] = array
    for name in halves & set(values):
        values[name] = in_f16(values[name])
    for node in graph.node:
        result = OPERATORS[node.op_type](*(values[i] for i in node.input))
        if node.op_type != "ArgMax":
            result = result.astype(np.float32)
        [name] = node.output
        values[name] = in_f16(result) if name in halves else result
    floats = [
        values[o.name]
        for o in graph.output
        if o.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    ]
    return np.concatenate([f.ravel() for f in floats]).astype(np.float64)


stored = {t.name for t in graph.initializer}
numbers, inputs = random_numbers(), {}
for value in graph.input:
    if value.name in stored:
        continue
    shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
    array = np.fromiter(numbers, np.float64, np.prod(shape))
    inputs[value.name] = array.astype(np.float32).reshape(shape)
unknown = halves - stored - {o for n in graph.node for o in n.output}
assert not unknown, unknown

with np.errstate(all="ignore"):
    exact, rounded = outputs(inputs, set()), outputs(inputs, halves)
    same = (exact == rounded) | (np.isnan(exact) & np.isnan(rounded))
    error = np.where(same, 0, np.abs(exact - rounded))
expected = [error.max(), error.mean(), np.abs(exact[np.isfinite(exact)]).max()]
found = re.search(
    r"f16: outputs of random inputs differ by (\S+) at most, (\S+) on average, "
    r"of up to (\S+)$",
    summary,
    re.M,
)
printed = [float(x) for x in found.groups()]
print("printed", printed, "expected", expected)
# Sums in another order may round a number otherwise.
for name, a, b, tolerance in zip(
    ("largest", "mean", "magnitude"), printed, expected, (0.05, 0.01, 0.006)
):
    if a != b and not abs(a - b) <= tolerance * b:
        sys.exit(f"{name}: nnv12c printed {a}, expected {b}")
