"""A bundle: one compiled model, checked and mapped."""
import ctypes as c
import operator
import os
from typing import Any, Dict, Optional, Sequence, Tuple, Union

from . import _library
from ._library import sized
from ._tensors import TensorInfo, buffer_address
from .errors import shown, wrong

_ALIGNMENT = 64
COPYING = ("signed", "always", "never")
KINDS = ("model", "tuning")
REUSE = ("off", "exact", "bounded")


def choice(name: str, value: Any, values: Sequence[str]) -> int:
    """The place of `value` in `values`, which is its number in nnv12.h."""
    if not isinstance(value, str) or value not in values:
        raise wrong(
            f"{name}: found {shown(value)}, expected"
            f" {', '.join(values[:-1])} or {values[-1]}"
        )
    return values.index(value)


def count(name: str, value: Any) -> int:
    """A number that fits in 32 bits."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < 1 << 32:
        raise wrong(
            f"{name}: found {shown(value)}, expected a whole number from 0 on"
        )
    return number


def text(name: str, value: Any) -> bytes:
    """A path or a name as C has it."""
    try:
        result = os.fsencode(value)
    except TypeError:
        raise wrong(
            f"{name}: found {type(value).__name__}, expected a text"
        ) from None
    if b"\0" in result:
        raise wrong(f"{name}: found {shown(value)}, expected no zero in it")
    return result


def bytes_of(name: str, value: Any, size: int) -> bytes:
    """So many bytes, or so many as hexadecimal digits."""
    try:
        found = bytes.fromhex(value) if isinstance(value, str) else bytes(value)
    except (TypeError, ValueError):
        found = b""
    if isinstance(value, int) or len(found) != size:
        raise wrong(
            f"{name}: found {shown(value)}, expected {size} bytes or {2 * size}"
            " hexadecimal digits"
        )
    return found


class Bundle:
    """A bundle, opened. Sessions of one Bundle share its prepared weights.

    source: the path of a file; or bytes, or another object with the buffer
        protocol, such as a mmap, that holds a bundle. These bytes must stay as
        they are. They are used in place where they begin at a multiple of 64
        (a mmap does), and copied where they do not.
    key: the Ed25519 public key that must have signed the bundle: 32 bytes, or
        64 hexadecimal digits.
    digest: the digest that the bundle must have, the same.
    verify_weights, trust_weights, target, copying, take_tuning: as in
        nnv12_open_options. `copying` is "signed", "always" or "never".

    Any number of threads may use it. `close` may be called while sessions of
    it are open. Raises Error.
    """

    handle: Optional[c.c_void_p] = None

    def __init__(
        self,
        source: Any,
        *,
        key: Union[bytes, str, None] = None,
        digest: Union[bytes, str, None] = None,
        verify_weights: bool = False,
        trust_weights: bool = False,
        target: Optional[str] = None,
        copying: str = "signed",
        take_tuning: bool = False,
    ) -> None:
        options = sized(_library.OpenOptions)
        if key is not None:
            options.public_key = bytes_of("key", key, 32)
        if digest is not None:
            options.digest = bytes_of("digest", digest, 32)
        options.verify_weights = bool(verify_weights)
        options.trust_weights = bool(trust_weights)
        options.take_tuning = bool(take_tuning)
        options.copying = choice("copying", copying, COPYING)
        if target is not None:
            options.target = text("target", target)
        self._library = library = _library.library()
        error, made = _library.CError(), c.c_void_p()
        # Bytes that sessions use in place.
        self.memory: Any = None
        if isinstance(source, (str, os.PathLike)):
            status = library.nnv12_bundle_open(
                text("bundle", source), options, made, error
            )
        else:
            address, size = self._borrow(source)
            status = library.nnv12_bundle_open_memory(
                address, size, options, made, error
            )
        if status:
            self.memory = None
            raise error.exception()
        self.handle = made
        self.inputs = self._tensors("input")
        self.outputs = self._tensors("output")

    def _borrow(self, source: Any) -> Tuple[int, int]:
        """The address and the size of a bundle in memory."""
        try:
            view = memoryview(source).cast("B")
        except TypeError:
            raise wrong(
                f"bundle: found {type(source).__name__}, expected a path, or"
                " bytes in C order"
            ) from None
        self.memory = view
        address = buffer_address(view)
        if address % _ALIGNMENT == 0:
            return address, view.nbytes
        copy, start = aligned_memory(view.nbytes)
        c.memmove(start, address, view.nbytes)
        self.memory = copy
        return start, view.nbytes

    def _tensors(self, kind: str) -> Tuple[TensorInfo, ...]:
        number = getattr(self._library, f"nnv12_bundle_num_{kind}s")
        get = getattr(self._library, f"nnv12_bundle_{kind}")
        return tuple(
            TensorInfo(kind, get(self.handle, i).contents)
            for i in range(number(self.handle))
        )

    def _open(self) -> c.c_void_p:
        if self.handle is None:
            raise wrong("bundle: found a closed one, expected an open one")
        return self.handle

    @property
    def info(self) -> Dict[str, Any]:
        """The fields of nnv12_bundle_info: sizes in bytes, times in ns."""
        info = sized(_library.BundleInfo)
        self._library.nnv12_bundle_get_info(self._open(), info)
        result = _library.facts(info)
        result["kind"] = KINDS[info.kind]
        result["reuse"] = REUSE[info.reuse]
        return result

    @property
    def properties(self) -> Dict[str, str]:
        """Texts about the model, such as "labels". Anybody could have written
        them."""
        result: Dict[str, str] = {}
        key, value = c.c_char_p(), c.c_char_p()
        handle, index = self._open(), 0
        while not self._library.nnv12_bundle_get_property(
            handle, index, key, value
        ):
            index += 1
            name, text = key.value or b"", value.value or b""
            result[name.decode("utf-8", "replace")] = text.decode(
                "utf-8", "replace"
            )
        return result

    def close(self) -> None:
        """Closes the handle. Sessions go on working."""
        handle, self.handle = self.handle, None
        if handle is not None:
            self._library.nnv12_bundle_close(handle)
            self.memory = None

    def __enter__(self) -> "Bundle":
        self._open()
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.handle is None:
            return "<nnv12.Bundle, closed>"
        info = self.info
        return f"<nnv12.Bundle '{info['model']}' for {info['target']}>"


def aligned_memory(size: int) -> Tuple[Any, int]:
    """Memory that begins with zeros, an object that keeps it, and the first
    multiple of 64 in it, behind which `size` bytes are free."""
    memory = (c.c_char * (size + _ALIGNMENT))()
    address = c.addressof(memory)
    return memory, address + -address % _ALIGNMENT
