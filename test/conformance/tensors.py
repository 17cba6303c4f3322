"""ONNX's tensor files as numpy arrays, of every element type.

Debian's python3-onnx is older than the newest element types, but knows the
message's fields, which are all that is needed here.
"""
from dataclasses import dataclass

import numpy as np
import onnx


@dataclass(frozen=True)
class ElementType:
    """One of TensorProto.DataType. `dtype` is numpy's; types that numpy lacks
    are held as their codes, unsigned numbers of `bits` bits, one an element."""

    name: str
    dtype: np.dtype
    bits: int
    coded: bool = False


def _numpy(name):
    dtype = np.dtype(name)
    return ElementType(dtype.name, dtype, dtype.itemsize * 8)


def _codes(name, bits):
    return ElementType(name, np.dtype(f"u{(bits + 7) // 8}"), bits, True)


TYPES = {
    1: _numpy("float32"),
    2: _numpy("uint8"),
    3: _numpy("int8"),
    4: _numpy("uint16"),
    5: _numpy("int16"),
    6: _numpy("int32"),
    7: _numpy("int64"),
    9: _numpy("bool"),
    10: _numpy("float16"),
    11: _numpy("float64"),
    12: _numpy("uint32"),
    13: _numpy("uint64"),
    14: _numpy("complex64"),
    15: _numpy("complex128"),
    16: _codes("bfloat16", 16),
    17: _codes("float8e4m3fn", 8),
    18: _codes("float8e4m3fnuz", 8),
    19: _codes("float8e5m2", 8),
    20: _codes("float8e5m2fnuz", 8),
    21: _codes("uint4", 4),
    22: _codes("int4", 4),
    23: _codes("float4e2m1", 4),
    24: _codes("float8e8m0", 8),
    25: _codes("uint2", 2),
    26: _codes("int2", 2),
}
STRING = 8
# Fields whose numbers are values of the type itself. int32_data is the field of
# every other type: it holds small integers and, of floats and packed types,
# their bits.
VALUE_FIELDS = {
    "float32": "float_data",
    "float64": "double_data",
    "int64": "int64_data",
    "uint32": "uint64_data",
    "uint64": "uint64_data",
    "complex64": "float_data",
    "complex128": "double_data",
}


def unpack(packed, bits, count):
    """The codes of elements smaller than a byte; the first is in the lowest
    bits."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (packed[:, None] >> shifts) & np.uint8((1 << bits) - 1)
    return codes.reshape(-1)[:count]


def read(tensor):
    """(element type, array) of a TensorProto; ValueError for strings and
    unknown types."""
    if tensor.data_type == STRING:
        raise ValueError("strings")
    kind = TYPES.get(tensor.data_type)
    if kind is None:
        raise ValueError(f"elements of type {tensor.data_type}")
    shape = tuple(tensor.dims)
    count = int(np.prod(shape, dtype=np.int64))
    if tensor.HasField("raw_data"):
        flat = np.frombuffer(
            tensor.raw_data, np.uint8 if kind.bits < 8 else kind.dtype
        )
    elif kind.name in VALUE_FIELDS:
        field = getattr(tensor, VALUE_FIELDS[kind.name])
        if kind.dtype.kind == "c":  # real and imaginary part in turn
            flat = np.array(field, kind.dtype.char.lower()).view(kind.dtype)
        else:
            flat = np.array(field, kind.dtype)
    else:
        flat = np.array(tensor.int32_data, np.int32)
        if kind.bits <= 16 and kind.dtype.kind not in "b":
            flat = flat.astype(np.uint16 if kind.bits == 16 else np.uint8)
            flat = flat.view(kind.dtype) if kind.bits >= 8 else flat
        else:
            flat = flat.astype(kind.dtype)
    if kind.bits < 8:
        flat = unpack(flat, kind.bits, count)
    return kind, flat.reshape(shape)


def save_npy(path, kind, array):
    """Types that numpy lacks are saved as voids of whole bytes, one an
    element."""
    np.save(path, array.view(f"V{array.itemsize}") if kind.coded else array)


def load_npy(path, kind):
    """The array of a .npy file in the form of `read`; ValueError where it has
    another type."""
    array = np.load(path)
    if (
        kind.coded
        and array.dtype.itemsize == kind.dtype.itemsize
        and array.dtype.kind in "Vui"
    ):
        return array.view(kind.dtype) & kind.dtype.type((1 << kind.bits) - 1)
    if array.dtype != kind.dtype:
        raise ValueError(f"is {array.dtype}, not {kind.name}")
    return array


def values(kind, array):
    """The values to compare: numbers where the type has a tolerance, else the
    codes."""
    if kind.name == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array
