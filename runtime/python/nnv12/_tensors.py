"""Inputs and outputs: their types, and the memory of arrays."""
import ctypes as c
import sys
from math import prod
from typing import Any, List, Optional, Tuple

from .errors import wrong

try:
    import numpy as np
except ImportError:  # buffers work without
    np = None  # type: ignore[assignment]

# In the order of nnv12_type: its name there, ONNX Runtime's name, the format of
# an element as in the module `struct`, and the types of NumPy and ml_dtypes
# that have the same bytes. The first one is an output's.
_TYPES = [
    ("f32", "float", "f", ("float32",)),
    ("f64", "double", "d", ("float64",)),
    ("f16", "float16", "e", ("float16",)),
    ("bf16", "bfloat16", "H", ("uint16", "bfloat16")),
    ("i8", "int8", "b", ("int8",)),
    ("u8", "uint8", "B", ("uint8",)),
    ("i16", "int16", "h", ("int16",)),
    ("u16", "uint16", "H", ("uint16",)),
    ("i32", "int32", "i", ("int32",)),
    ("u32", "uint32", "I", ("uint32",)),
    ("i64", "int64", "q", ("int64",)),
    ("u64", "uint64", "Q", ("uint64",)),
    ("bool", "bool", "?", ("bool",)),
    ("f8e4m3fn", "float8e4m3fn", "B", ("uint8", "float8_e4m3fn")),
    ("f8e4m3fnuz", "float8e4m3fnuz", "B", ("uint8", "float8_e4m3fnuz")),
    ("f8e5m2", "float8e5m2", "B", ("uint8", "float8_e5m2")),
    ("f8e5m2fnuz", "float8e5m2fnuz", "B", ("uint8", "float8_e5m2fnuz")),
    ("f8e8m0", "float8e8m0", "B", ("uint8", "float8_e8m0fnu")),
    ("f4e2m1", "float4e2m1", "B", ("uint8", "float4_e2m1fn")),
    ("i4", "int4", "b", ("int8", "int4")),
    ("u4", "uint4", "B", ("uint8", "uint4")),
    ("i2", "int2", "b", ("int8", "int2")),
    ("u2", "uint2", "B", ("uint8", "uint2")),
]
_SIZES = {"b": 1, "B": 1, "?": 1, "e": 2, "h": 2, "H": 2, "i": 4, "I": 4}
_SIZES.update({"f": 4, "d": 8, "q": 8, "Q": 8})


def dtypes_of(element: str) -> Tuple[str, ...]:
    """The names of NumPy's dtypes of an element, an output's first."""
    return next(row[3] for row in _TYPES if row[0] == element)


def view_of(element: str, content: Any) -> memoryview:
    """Raw bytes as a buffer of this type, of one dimension."""
    format = next(row[2] for row in _TYPES if row[0] == element)
    view = memoryview(content)
    try:
        return view.cast(format)
    except ValueError:  # halves, before Python 3.12
        return view.cast("H")


class TensorInfo:
    """An input or output of a bundle.

    name: as in the ONNX model.
    dtype: NumPy's dtype of an array for it; without NumPy the element's format
        as memoryview has it, such as "f".
    shape: the extents, all fixed.
    nbytes: the size of a buffer for it, dense and row-major.
    element: nnv12's name of the element type, such as "f32" or "bf16".
    type: ONNX Runtime's name of the type, such as "tensor(float)".
    """

    __slots__ = (
        *("name", "dtype", "shape", "nbytes", "element", "type", "kind"),
        *("format", "dtypes", "count", "strides"),
    )

    def __init__(self, kind: str, info: Any) -> None:
        self.name: str = info.name.decode("utf-8", "replace")
        self.shape: Tuple[int, ...] = tuple(info.shape[: info.rank])
        self.nbytes: int = info.byte_size
        self.kind = kind
        try:
            self.element, name, self.format, self.dtypes = _TYPES[info.type]
        except IndexError:
            raise wrong(
                f"{kind} '{self.name}': found a type of number {info.type},"
                f" expected one of the {len(_TYPES)} that this package knows"
            ) from None
        self.type = f"tensor({name})"
        self.count = self.nbytes // _SIZES[self.format]
        # An array in C order has these.
        self.strides = tuple(
            self.nbytes // (self.count or 1) * prod(self.shape[i + 1 :])
            for i in range(len(self.shape))
        )
        self.dtype = np.dtype(self.dtypes[0]) if np else self.format

    def __repr__(self) -> str:
        return f"TensorInfo({self.name!r}, {self.element}, {self.shape})"

    def wrong(self, text: str) -> Exception:
        return wrong(f"{self.kind} '{self.name}': {text}")

    def empty(self) -> Any:
        """Memory for it: an array, or a memoryview of this format and shape.
        The latter is of one dimension where it has no elements."""
        if np:
            return np.empty(self.shape, self.dtype)
        view = memoryview(bytearray(self.nbytes))
        try:
            if not self.count:
                return view.cast(self.format)
            return view.cast(self.format, self.shape)
        except ValueError:  # halves, before Python 3.12
            return view.cast("B").cast("H", self.shape)

    def takes_dtype(self, dtype: Any) -> bool:
        return dtype.name in self.dtypes and dtype.isnative

    def takes_format(self, view: memoryview) -> bool:
        found = _plain_format(view)
        return found == self.format or (self.format, found) == ("e", "H")


def _plain_format(view: memoryview) -> str:
    """The format of a buffer's elements with integers by their size; as it is
    where the bytes are in another order than this machine's."""
    text = view.format
    if text[:1] in ("@", "=", "<" if sys.byteorder == "little" else ">"):
        text = text[1:]
    if len(text) == 1 and text in "bhilqn":
        return {1: "b", 2: "h", 4: "i", 8: "q"}[view.itemsize]
    if len(text) == 1 and text in "BHILQN":
        return {1: "B", 2: "H", 4: "I", 8: "Q"}[view.itemsize]
    return text


class _PyBuffer(c.Structure):
    """Py_buffer, which CPython promises to keep."""

    _fields_ = [
        ("buf", c.c_void_p),
        ("obj", c.c_void_p),
        ("len", c.c_ssize_t),
        ("itemsize", c.c_ssize_t),
        ("readonly", c.c_int),
        ("ndim", c.c_int),
        ("format", c.c_void_p),
        ("shape", c.c_void_p),
        ("strides", c.c_void_p),
        ("suboffsets", c.c_void_p),
        ("internal", c.c_void_p),
    ]


_get_buffer = c.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [c.py_object, c.POINTER(_PyBuffer), c.c_int]
_release_buffer = c.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [c.POINTER(_PyBuffer)]
_release_buffer.restype = None


def buffer_address(view: memoryview) -> int:
    """The address of a contiguous buffer, which may be read-only. It is good
    as long as `view` is not released."""
    found = _PyBuffer()
    _get_buffer(view, found, 0)  # PyBUF_SIMPLE
    address = found.buf or 0
    _release_buffer(found)
    return address


def array_address(array: Any) -> int:
    """The address of a NumPy array's memory."""
    return array.ctypes.data


# Where the address of an array's memory stands, from that of the array on.
# NumPy's C headers put it behind the head that all objects have. Reading it
# there takes a sixth of the time of `array.ctypes.data`. None: nobody knows.
ADDRESS_OFFSET: Optional[int] = None


def _find_address() -> None:
    global ADDRESS_OFFSET, array_address
    if np is None or sys.implementation.name != "cpython":
        return
    offset = object.__basicsize__
    read = c.c_size_t.from_address

    def quick(array: Any) -> int:
        return read(id(array) + offset).value

    tries = [np.zeros(5, "u1"), np.zeros((2, 3))[1:], np.array(1.5)]
    if all(quick(array) == array.ctypes.data for array in tries):
        ADDRESS_OFFSET = offset
        array_address = quick


_find_address()


def _check_array(info: TensorInfo, array: Any, is_output: bool) -> None:
    """Raises Error unless NumPy's `array` has the type, the shape and the
    order of a tensor."""
    if array.dtype is not info.dtype and not info.takes_dtype(array.dtype):
        found = array.dtype.name
        if not array.dtype.isnative:
            found += " of another byte order"
        raise info.wrong(f"found {found}, expected {' or '.join(info.dtypes)}")
    if array.shape != info.shape:
        raise info.wrong(f"found shape {array.shape}, expected {info.shape}")
    if not array.flags.c_contiguous:
        raise info.wrong(
            f"found strides {array.strides}, expected C order"
            + ("" if is_output else ": numpy.ascontiguousarray makes a copy")
        )
    if is_output and not array.flags.writeable:
        raise info.wrong("found a read-only array, expected a writable one")


def _check_buffer(info: TensorInfo, view: memoryview, is_output: bool) -> None:
    """The same for a buffer. One of one dimension may have any shape's number
    of elements."""
    if not info.takes_format(view):
        raise info.wrong(
            f"found elements '{view.format}', expected '{info.format}'"
            f" ({info.element})"
        )
    if view.shape != info.shape and view.shape != (info.count,):
        raise info.wrong(f"found shape {view.shape}, expected {info.shape}")
    if not view.c_contiguous:
        raise info.wrong(f"found strides {view.strides}, expected C order")
    if is_output and view.readonly:
        raise info.wrong("found a read-only buffer, expected a writable one")


def address_of(
    info: TensorInfo, value: Any, is_output: bool, held: List[Any]
) -> int:
    """The address of an array or buffer for a tensor. Appends to `held` the
    object that keeps its memory as long as it lives. Raises Error."""
    if np and isinstance(value, np.ndarray):
        _check_array(info, value, is_output)
        held.append(value)
        return array_address(value)
    try:
        view = memoryview(value)
    except TypeError:
        raise info.wrong(
            f"found {type(value).__name__}, expected an array or a buffer"
        ) from None
    _check_buffer(info, view, is_output)
    held.append(view)
    return buffer_address(view)
