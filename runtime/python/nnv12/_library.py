"""Finds libnnv12 and the tools. Declares the part of nnv12.h that this package
calls."""
import ctypes as c
import os
from typing import Any, Optional

from .errors import Error

VERSION = "0.1"

_package = os.path.dirname(os.path.abspath(__file__))
# A wheel puts all files there: bin, lib, include.
_files = os.path.join(_package, "_files")
# The source tree: this is runtime/python/nnv12.
_root = os.path.dirname(os.path.dirname(os.path.dirname(_package)))


def _build() -> Optional[str]:
    """The build folder of the source tree that the package stands in."""
    if os.path.isfile(os.path.join(_root, "runtime", "include", "nnv12.h")):
        return os.path.join(_root, "build")
    return None


class CError(c.Structure):
    _fields_ = [("status", c.c_int), ("message", c.c_char * 1020)]

    def exception(self) -> Error:
        return Error(self.message.decode("utf-8", "replace"), self.status)


class OpenOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("public_key", c.c_char_p),
        ("verify_weights", c.c_int),
        ("target", c.c_char_p),
        ("copying", c.c_int),
        ("trust_weights", c.c_int),
        ("digest", c.c_char_p),
        ("take_tuning", c.c_int),
    ]


class CTensorInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("type", c.c_int),
        ("rank", c.c_uint32),
        ("shape", c.POINTER(c.c_int64)),
        ("byte_size", c.c_size_t),
    ]


class BundleInfo(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("model", c.c_char_p),
        ("producer", c.c_char_p),
        ("target", c.c_char_p),
        ("file_size", c.c_uint64),
        ("code_size", c.c_uint64),
        ("weights_size", c.c_uint64),
        ("arena_size", c.c_uint64),
        ("scratch_size", c.c_uint64),
        ("num_operations", c.c_uint32),
        ("num_kernels", c.c_uint32),
        ("is_signed", c.c_int),
        ("code_is_mapped", c.c_int),
        ("prepared_size", c.c_uint64),
        ("num_lanes", c.c_uint32),
        ("num_preparations", c.c_uint32),
        ("num_switches", c.c_uint32),
        ("predicted_cold_ns", c.c_uint64),
        ("predicted_warm_ns", c.c_uint64),
        ("kind", c.c_int),
        ("revision", c.c_char_p),
        ("tune", c.c_char_p),
        ("digest", c.POINTER(c.c_uint8 * 32)),
        ("program", c.c_uint32),
        ("reuse", c.c_int),
    ]


class OperationInfo(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("layer", c.c_char_p),
        ("kernel", c.c_char_p),
        ("tiles", c.c_uint64),
        ("routine", c.c_char_p),
        ("key", c.c_char_p),
        ("multiply_adds", c.c_uint64),
        ("bytes", c.c_uint64),
    ]


class SwitchInfo(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("operation", c.c_uint32),
        ("kernel", c.c_char_p),
        ("tiles", c.c_uint64),
    ]


class Recorder(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("memory", c.c_void_p),
        ("size", c.c_size_t),
        ("level", c.c_uint32),
        ("sample_every", c.c_uint32),
        ("counters", c.c_void_p),
        ("counters_per_mille", c.c_uint32),
        ("gpu_per_mille", c.c_uint32),
    ]


class GpuOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("mode", c.c_int),
        ("threads", c.c_uint32),
        ("cache_dir", c.c_char_p),
        ("device_uuid", c.c_char_p),
        ("vulkan_library", c.c_char_p),
        ("allow_software", c.c_int),
    ]


class StreamOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("reuse", c.c_int),
        ("tolerance", c.c_float),
        ("input_tolerance", c.c_float),
        ("refresh", c.c_uint32),
        ("audit", c.c_int),
    ]


class SessionOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("threads", c.c_uint32),
        ("pin_threads", c.c_int),
        ("preparation_threads", c.c_uint32),
        ("mode", c.c_int),
        ("recorder", c.POINTER(Recorder)),
        ("no_stealing", c.c_int),
        ("oversubscribe", c.c_int),
        ("gpu", c.POINTER(GpuOptions)),
        ("stream", c.POINTER(StreamOptions)),
    ]


class SessionInfo(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("threads", c.c_uint32),
        ("preparation_threads", c.c_uint32),
        ("num_preparations", c.c_uint32),
        ("preparations_done", c.c_uint32),
        ("num_switches", c.c_uint32),
        ("switches_ready", c.c_uint32),
        ("switches_done", c.c_uint32),
        ("gpu_state", c.c_int),
        ("gpu_reason", c.c_char_p),
        ("gpu_device_name", c.c_char_p),
        ("gpu_stretches", c.c_uint32),
        ("gpu_stretches_ready", c.c_uint32),
        ("gpu_stretches_taken", c.c_uint32),
        ("gpu_pipelines", c.c_uint32),
        ("gpu_pipelines_cached", c.c_uint32),
        ("gpu_bytes_uploaded", c.c_uint64),
        ("gpu_bytes_imported", c.c_uint64),
        ("gpu_cache", c.c_int),
        ("gpu_open_ns", c.c_uint64),
        ("gpu_ready_ns", c.c_uint64),
        ("steady_run", c.c_uint32),
    ]


class StreamInfo(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("runs", c.c_uint64),
        ("frames", c.c_uint64),
        ("whole_frames", c.c_uint64),
        ("memory_size", c.c_uint64),
        ("changed", c.c_double),
        ("computed", c.c_double),
        ("audits", c.c_uint64),
        ("audit_error", c.c_double),
    ]


class RecordingInfo(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("level", c.c_int),
        ("sample_every", c.c_uint32),
        ("process", c.c_uint32),
        ("num_threads", c.c_uint32),
        ("num_preparing", c.c_uint32),
        ("program", c.c_uint32),
        ("digest", c.c_void_p),
        ("runs", c.c_uint64),
        ("is_closed", c.c_int),
        ("has_gpu_threads", c.c_uint32),
        ("start_ns", c.c_uint64),
    ]


class Buffer(c.Structure):
    """nnv12_input and nnv12_output."""

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("data", c.c_void_p),
        ("size", c.c_size_t),
    ]


class Rectangle(c.Structure):
    _fields_ = [(name, c.c_uint32) for name in ("x", "y", "width", "height")]


class StreamHint(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("input", c.c_uint32),
        ("shift_x", c.c_int32),
        ("shift_y", c.c_int32),
        ("num_clean", c.c_size_t),
        ("clean", c.POINTER(Rectangle)),
    ]


def sized(struct: Any) -> Any:
    """A struct of zeros, with its size."""
    made = struct()
    made.struct_size = c.sizeof(struct)
    return made


def facts(struct: Any) -> dict:
    """The fields of a struct that the library has filled in, with texts as
    str and digests as bytes."""
    result = {}
    for name, kind in struct._fields_[1:]:
        value = getattr(struct, name)
        if kind is c.c_char_p:
            value = (value or b"").decode("utf-8", "replace")
        elif name == "digest":
            value = bytes(value.contents) if value else b""
        result[name] = value
    return result


_Handle = c.c_void_p
_Made = c.POINTER(c.c_void_p)
_Failure = c.POINTER(CError)
# Name: the result, then the arguments. nnv12_session_run and _run_until are
# left out: a session calls them with arguments that are made before.
_GET_PIXELS = (
    c.c_int,
    _Handle,
    c.c_uint32,
    c.POINTER(c.c_uint32),
    c.POINTER(c.c_uint32),
    c.c_void_p,
    c.c_size_t,
    _Failure,
)
_PROTOTYPES = {
    "nnv12_version": (c.c_char_p,),
    "nnv12_bundle_open": (
        c.c_int,
        c.c_char_p,
        c.POINTER(OpenOptions),
        _Made,
        _Failure,
    ),
    "nnv12_bundle_open_memory": (
        c.c_int,
        c.c_void_p,
        c.c_size_t,
        c.POINTER(OpenOptions),
        _Made,
        _Failure,
    ),
    "nnv12_bundle_close": (None, _Handle),
    "nnv12_bundle_num_inputs": (c.c_uint32, _Handle),
    "nnv12_bundle_num_outputs": (c.c_uint32, _Handle),
    "nnv12_bundle_input": (c.POINTER(CTensorInfo), _Handle, c.c_uint32),
    "nnv12_bundle_output": (c.POINTER(CTensorInfo), _Handle, c.c_uint32),
    "nnv12_bundle_get_property": (
        c.c_int,
        _Handle,
        c.c_uint32,
        c.POINTER(c.c_char_p),
        c.POINTER(c.c_char_p),
    ),
    "nnv12_bundle_get_info": (None, _Handle, c.POINTER(BundleInfo)),
    "nnv12_bundle_get_operation": (
        c.c_int,
        _Handle,
        c.c_uint32,
        c.POINTER(OperationInfo),
    ),
    "nnv12_bundle_get_switch": (
        c.c_int,
        _Handle,
        c.c_uint32,
        c.POINTER(SwitchInfo),
    ),
    "nnv12_session_create": (
        c.c_int,
        _Handle,
        c.POINTER(SessionOptions),
        _Made,
        _Failure,
    ),
    "nnv12_recorder_size": (
        c.c_size_t,
        _Handle,
        c.POINTER(SessionOptions),
        c.c_int,
        c.c_uint32,
    ),
    "nnv12_session_close": (None, _Handle),
    "nnv12_session_get_info": (None, _Handle, c.POINTER(SessionInfo)),
    "nnv12_session_prepare": (c.c_int, _Handle, c.c_uint32, _Failure),
    "nnv12_session_get_stream_info": (None, _Handle, c.POINTER(StreamInfo)),
    "nnv12_session_reset": (c.c_int, _Handle, _Failure),
    "nnv12_session_hint": (c.c_int, _Handle, c.POINTER(StreamHint), _Failure),
    "nnv12_session_get_changed": _GET_PIXELS,
    "nnv12_session_get_computed": _GET_PIXELS,
    "nnv12_recording_open": (c.c_int, c.c_void_p, c.c_size_t, _Made, _Failure),
    "nnv12_recording_close": (None, _Handle),
    "nnv12_recording_get_info": (None, _Handle, c.POINTER(RecordingInfo)),
    "nnv12_recording_read": (
        c.c_size_t,
        _Handle,
        c.c_uint32,
        c.c_void_p,
        c.c_size_t,
        c.POINTER(c.c_uint64),
    ),
}

_loaded: Optional[c.CDLL] = None


def _library_path() -> str:
    """The library's file, or its name alone where the system must find it."""
    given = os.environ.get("NNV12_LIBRARY")
    if given:
        return given
    name = f"libnnv12.so.{VERSION}"
    build = _build()
    for folder in (_files, build):
        if folder:
            path = os.path.join(folder, "lib", name)
            if os.path.isfile(path):
                return path
    return name


def library() -> c.CDLL:
    """libnnv12, loaded by the first call. A call of a function releases the
    GIL."""
    global _loaded
    if _loaded is None:
        path = _library_path()
        try:
            found = c.CDLL(path)
        except OSError as error:
            raise Error(
                f"libnnv12: found none that loads ({error}), expected it beside"
                " the package, on the loader's path, or where NNV12_LIBRARY"
                " says"
            ) from None
        try:
            for name, (result, *arguments) in _PROTOTYPES.items():
                function = getattr(found, name)
                function.restype = result
                function.argtypes = arguments
        except AttributeError:
            raise Error(
                f"{path}: found no function {name}, expected libnnv12 {VERSION}"
            ) from None
        version = found.nnv12_version().decode()
        if version.rsplit(".", 1)[0] != VERSION:
            raise Error(
                f"{path}: found version {version}, expected {VERSION}.*"
            )
        _loaded = found
    return _loaded


def tool(name: str) -> str:
    """The path of a tool, such as nnv12c."""
    given = os.environ.get("NNV12_TOOLS")
    build = _build()
    if given:
        folders = [given]
    else:
        folders = [os.path.join(_files, "bin")]
        if build:
            folders.append(os.path.join(build, "bin"))
        folders += os.environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        path = os.path.join(folder, name)
        if folder and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    where = given or "the package, or on PATH, or where NNV12_TOOLS says"
    raise Error(f"{name}: found no such program, expected it in {where}")
