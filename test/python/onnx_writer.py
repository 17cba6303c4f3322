"""Writes small ONNX models, without the package onnx, which few Pythons have.

An ONNX file is a message of Protocol Buffers: fields of a number, a kind (0 a
number, 2 bytes of a length) and a value.
"""

TYPES = {
    "f32": 1,
    "u8": 2,
    "i8": 3,
    "u16": 4,
    "i16": 5,
    "i32": 6,
    "i64": 7,
    "bool": 9,
    "f16": 10,
    "f64": 11,
    "u32": 12,
    "u64": 13,
    "bf16": 16,
    "f8e4m3fn": 17,
    "u4": 21,
    "i4": 22,
}


def _varint(value):
    result = b""
    while value >= 0x80:
        result += bytes([value & 0x7F | 0x80])
        value >>= 7
    return result + bytes([value])


def _field(number, value):
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, str):
        value = value.encode()
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _tensor(name, element, shape):
    extents = b"".join(
        _field(1, _field(2, e) if isinstance(e, str) else _field(1, e))
        for e in shape
    )
    kind = _field(1, TYPES[element]) + _field(2, extents)
    return _field(1, name) + _field(2, _field(1, kind))


def write_model(path, nodes, inputs, outputs):
    """nodes: (operator, names of inputs, names of outputs). inputs, outputs:
    (name, type as nnv12 calls it, shape); an extent may be a name."""
    graph = b""
    for operator, takes, gives in nodes:
        node = b"".join(_field(1, name) for name in takes)
        node += b"".join(_field(2, name) for name in gives)
        graph += _field(1, node + _field(4, operator))
    graph += _field(2, "graph")
    for tensor in inputs:
        graph += _field(11, _tensor(*tensor))
    for tensor in outputs:
        graph += _field(12, _tensor(*tensor))
    opset = _field(1, "") + _field(2, 21)
    with open(path, "wb") as file:
        file.write(_field(1, 10) + _field(7, graph) + _field(8, opset))
