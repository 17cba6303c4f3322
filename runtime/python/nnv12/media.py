"""Images and sound as inputs of a model.

The work is done by libnnv12-media, which has the code of nnv12-run: the same
file and settings give the same bytes. "Images and sound" of docs/tools.md has
the meaning of the settings.
"""
import ctypes as c
import operator
import os
import re
import stat
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from . import _library
from ._tensors import TensorInfo, buffer_address, np
from .errors import Error, Status, shown, wrong

Numbers = Union[float, Sequence[float]]

_INTERFACE = 1  # NNV12_MEDIA_INTERFACE of nnv12_media.h
_SETTINGS = ("scale", "mean", "std", "color", "layout", "fit")
# The numbers of nnv12_type.
_IMAGE_ELEMENTS = {"f32": 0, "f64": 1, "f16": 2, "bf16": 3, "u8": 5}
_OUT_OF_MEMORY = "out of memory"


class _ImageOptions(c.Structure):
    _fields_ = [(name, c.c_char_p) for name in _SETTINGS]


_message = [c.c_char_p, c.c_size_t]
_image = [c.POINTER(_library.CTensorInfo), c.POINTER(_ImageOptions)]
_image += [c.c_void_p, *_message]
_sound = [c.c_void_p, c.c_size_t, c.c_uint32, c.c_int32]
_PROTOTYPES = {
    "read_image": [c.c_void_p, c.c_size_t, *_image],
    "read_pixels": [c.c_void_p, c.c_int64, c.c_int64, *_image],
    "measure_sound": [*_sound, c.POINTER(c.c_uint64), *_message],
    "read_sound": [*_sound, c.c_void_p, c.c_uint64, *_message],
}

_loaded: Optional[c.CDLL] = None


def _media() -> c.CDLL:
    """libnnv12-media, which lies beside libnnv12."""
    global _loaded
    if _loaded is None:
        name = f"libnnv12-media.so.{_library.VERSION}"
        folder = os.path.dirname(_library._library_path())
        path = os.path.join(folder, name)
        try:
            found = c.CDLL(path)
        except OSError as error:
            raise Error(
                f"libnnv12-media: found none that loads ({error}), expected it"
                " beside libnnv12"
            ) from None
        try:
            version = found.nnv12_media_interface()
        except AttributeError:
            version = None
        if version != _INTERFACE:
            raise Error(
                f"{path}: found interface {version}, expected {_INTERFACE}"
            )
        for function, arguments in _PROTOTYPES.items():
            getattr(found, "nnv12_media_" + function).argtypes = arguments
        _loaded = found
    return _loaded


def _call(function: str, place: str, *arguments: Any) -> None:
    """Calls a function of the library. `place` begins the line of its
    error."""
    message = c.create_string_buffer(1024)
    if not getattr(_media(), "nnv12_media_" + function)(
        *arguments, message, len(message)
    ):
        return
    text = message.value.decode("utf-8", "replace")
    status = Status.INVALID_ARGUMENT
    if text == _OUT_OF_MEMORY:
        status = Status.OUT_OF_MEMORY
    raise Error(f"{place}: {text}", status)


def _shown(text: str) -> str:
    """A text of one line, whatever it is."""
    plain = text.encode("utf-8", "backslashreplace").decode()
    return re.sub(
        "[\x00-\x1f\x7f-\x9f]", lambda found: f"\\x{ord(found[0]):02x}", plain
    )


def _found(value: Any) -> str:
    """A wrong value, for messages."""
    return _shown(shown(value))


def _read_file(path: str) -> bytes:
    try:
        # A pipe that is opened by mistake must not hang.
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise Error(
            f"{_shown(path)}: cannot open: {error.strerror}", Status.IO
        ) from None
    except ValueError:
        raise wrong(f"found the path {_found(path)}, expected none with a 0")
    try:
        mode = os.fstat(file).st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "a special file"
            raise Error(
                f"{_shown(path)}: found {kind}, expected a regular file",
                Status.IO,
            )
        with open(file, "rb", closefd=False) as opened:
            return opened.read()
    except OSError as error:
        raise Error(
            f"{_shown(path)}: cannot read: {error.strerror}", Status.IO
        ) from None
    except MemoryError:
        raise _no_memory(_shown(path)) from None
    finally:
        os.close(file)


def _no_memory(place: str) -> Error:
    return Error(f"{place}: {_OUT_OF_MEMORY}", Status.OUT_OF_MEMORY)


def _bytes_of(source: Any, kind: str, expected: str) -> Tuple[str, Any]:
    """A name for messages, and a memoryview of a file's or a buffer's bytes in
    C order."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        path = os.fsdecode(path)
        return _shown(path), memoryview(_read_file(path))
    if np and hasattr(source, "__array_interface__"):
        source = np.asarray(source)  # Pillow's pictures, too
    try:
        view: Any = memoryview(source)
    except (TypeError, ValueError, BufferError):
        raise wrong(
            f"{kind}: found {type(source).__name__}, expected {expected}"
        ) from None
    if view.format != "B":
        raise wrong(
            f"{kind}: found elements '{view.format}' of shape {view.shape},"
            f" expected {expected}"
        )
    if not view.c_contiguous:
        shape = view.shape
        view = memoryview(view.tobytes())
        if len(shape) > 1 and 0 not in shape:
            view = view.cast("B", shape)
    return kind, view


def _numbers(key: str, value: Any) -> str:
    try:
        values = [value] if hasattr(value, "__float__") else list(value)
        if np and isinstance(value, np.ndarray):
            values = value.ravel().tolist()
        return ",".join(repr(float(number)) for number in values)
    except (TypeError, ValueError, OverflowError):
        raise wrong(
            f"{key}: found {_found(value)}, expected a number, or one a channel"
        ) from None


def _texts(
    given: Dict[str, Any], properties: Any
) -> Tuple[_ImageOptions, Dict[str, bool]]:
    """The settings as texts, and whether each is a property's."""
    known = getattr(properties, "properties", properties)
    if known is None:
        known = {}
    if not isinstance(known, Mapping):
        raise wrong(
            f"properties: found {type(properties).__name__}, expected a"
            " session, a bundle or a dictionary"
        )
    options = _ImageOptions()
    is_property = {}
    for key, value in given.items():
        is_property[key] = value is None and key in known
        if value is None:
            value = known.get(key)
        if value is None:
            continue
        if key in ("scale", "mean", "std") and not isinstance(value, str):
            value = _numbers(key, value)
        if not isinstance(value, str) or "\0" in value:
            raise wrong(f"{key}: found {_found(value)}, expected a text")
        setattr(options, key, value.encode("utf-8", "replace"))
    return options, is_property


def _tensor(tensor: TensorInfo) -> _library.CTensorInfo:
    if not isinstance(tensor, TensorInfo):
        raise wrong(
            f"tensor: found {type(tensor).__name__}, expected a TensorInfo, as"
            " a session's inputs are"
        )
    if tensor.element not in _IMAGE_ELEMENTS:
        raise wrong(
            f"input '{_shown(tensor.name)}': found an input of"
            f" {tensor.element}, expected floats or u8 for an image"
        )
    info = _library.CTensorInfo()
    info.name = b""
    info.type = _IMAGE_ELEMENTS[tensor.element]
    info.rank = len(tensor.shape)
    info.shape = (c.c_int64 * info.rank)(*tensor.shape)
    info.byte_size = tensor.nbytes
    return info


def image(
    source: Any,
    tensor: TensorInfo,
    *,
    scale: Optional[float] = None,
    mean: Optional[Numbers] = None,
    std: Optional[Numbers] = None,
    color: Optional[str] = None,
    layout: Optional[str] = None,
    fit: Optional[str] = None,
    properties: Any = None,
) -> Any:
    """Makes an image an input of a model, as `nnv12-run --input` does.

        x = nnv12.image("photo.jpg", session.inputs[0], properties=session)

    source: the path of a JPEG, PNG, BMP or PNM file; or the bytes of such a
        file; or pixels of shape (height, width, 3), uint8, red first: an array
        of NumPy, a buffer, or a picture of Pillow in mode RGB.
    tensor: the input, an entry of `session.inputs`, of shape (1, C, H, W),
        (C, H, W), (1, H, W, C) or (H, W, C) with 1 or 3 channels.
    scale: each level of a pixel, 0 to 255, is multiplied by it first. Default
        1/255.
    mean, std: then subtracted, and then divided by: one number, or one a
        channel in the model's order. Defaults 0 and 1.
    color: "rgb", the default, or "bgr": the model's order of channels.
    layout: "nchw" or "nhwc". Default: where there are 1 or 3 channels.
    fit: "stretch", the default, "crop" or "pad": how the picture fills the
        input's height and width.
    properties: the settings of the bundle, which count where none is given: a
        session, a bundle, or their dictionary `properties`.

    Returns a new array of the input's dtype and shape; without NumPy a
    memoryview. Raises Error with one line: a file that cannot be read, a
    tensor that takes no image, a setting that does not fit.
    """
    given = dict(zip(_SETTINGS, (scale, mean, std, color, layout, fit)))
    options, is_property = _texts(given, properties)
    info = _tensor(tensor)
    place, view = _bytes_of(
        source, "image", "a path, or uint8 of shape (height, width, 3)"
    )
    try:
        result = tensor.empty()
    except (MemoryError, ValueError):
        raise _no_memory(place) from None
    # No `out` has another owner, so it is contiguous.
    out = memoryview(result)
    rest = (info, options, buffer_address(out))
    try:
        if view.ndim == 1:
            _call("read_image", place, buffer_address(view), view.nbytes, *rest)
        elif view.ndim == 3 and view.shape[2] == 3:
            height, width, _ = view.shape
            _call(
                "read_pixels", place, buffer_address(view), height, width, *rest
            )
        else:
            raise wrong(
                f"image: found shape {view.shape}, expected (height, width, 3)"
            )
    except Error as error:
        # "PLACE: KEY: found ...", which is of the bundle and not of the call.
        key = str(error)[len(place) + 2 :].partition(":")[0]
        if is_property.get(key):
            text = f"{place}: property {str(error)[len(place) + 2 :]}"
            raise Error(text, error.status) from None
        raise
    return result


def _whole(key: str, value: Any, least: int, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise wrong(
            f"{key}: found {_found(value)}, expected a whole number from"
            f" {least} to {most}"
        )
    return number


def audio(
    source: Any,
    *,
    rate: int,
    samples: Optional[int] = None,
    channel: Optional[int] = None,
) -> Any:
    """Reads a WAV file as one channel of float32, as `nnv12-run --input` does.

        x = nnv12.audio("hello.wav", rate=16000, samples=16000).reshape(1, -1)

    source: the path of a file, or its bytes: PCM of 8, 16, 24 or 32 bits, or
        floats of 32.
    rate: how many samples a second the model takes. A file of another rate is
        refused: resampling has no one right way.
    samples: how many to return: the first ones, with zeros behind the last one
        of a shorter file. Default: all.
    channel: which channel of the file, from 0 on. Default: the mean of all.

    Returns a new float32 array of shape (samples,); without NumPy a memoryview
    of format "f". Integers become numbers from -1 up to 1; floats stay as they
    are. Raises Error with one line.
    """
    rate = _whole("rate", rate, 1, 999999999)
    number = -1
    if channel is not None:
        number = _whole("channel", channel, 0, 65535)
    if samples is not None:
        samples = _whole("samples", samples, 1, 1 << 40)
    place, view = _bytes_of(source, "audio", "a path, or the bytes of a file")
    if view.ndim != 1:
        raise wrong(
            f"audio: found an array of shape {view.shape}, expected a path, or"
            " the bytes of a file"
        )
    file = (buffer_address(view), view.nbytes, rate, number)
    count = c.c_uint64()
    _call("measure_sound", place, *file, count)
    size = count.value if samples is None else samples
    result: Any
    try:
        if np:
            result = np.empty(size, np.float32)
        else:
            result = memoryview(bytearray(4 * size)).cast("f")
    except (MemoryError, ValueError):
        raise _no_memory(place) from None
    out = memoryview(result)
    _call("read_sound", place, *file, buffer_address(out), size)
    return result
