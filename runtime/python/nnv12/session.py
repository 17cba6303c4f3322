"""A session: memory and threads for one inference at a time."""
import ctypes as c
import os
import threading
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _library
from ._library import Buffer, sized
from ._tensors import ADDRESS_OFFSET, TensorInfo, address_of, np
from .bundle import REUSE, Bundle, aligned_memory, bytes_of, choice, count, text
from .errors import Error, Status, shown, wrong
from .profile import Profile, make_profile, read_records

MODES = ("plan", "cold", "continuous")
GPU_MODES = ("auto", "off", "after-first", "wait")
GPU_STATES = ("none", "waiting", "starting", "ready", "failed", "lost")
GPU_CACHES = ("off", "miss", "hit", "written")
LEVELS = ("off", "run", "operation", "piece")
_NONE = 0xFFFFFFFF
_SLICE_MS = 100


class _NoArray:
    """No value is one."""


# Values of this class need no call of `address_of`.
_Array = _NoArray if ADDRESS_OFFSET is None else np.ndarray
_OFFSET = ADDRESS_OFFSET or 0
_read_word = c.c_size_t.from_address
_empty = None if ADDRESS_OFFSET is None else np.empty
_get_ident = threading.get_ident

# How often this process is a child of fork().
_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def _options(name: str, given: Any, known: Sequence[str]) -> Mapping[str, Any]:
    """The fields of an option, all of them `known`. Another value than a
    mapping is that of the first one."""
    if not isinstance(given, Mapping):
        return {known[0]: given}
    for key in given:
        if key not in known:
            raise wrong(
                f"{name}: found '{key}', expected some of {', '.join(known)}"
            )
    return given


def _gpu_options(gpu: Any) -> Any:
    """nnv12_gpu_options of a mode's name, True, False, or a mapping."""
    if isinstance(gpu, bool):
        gpu = "auto" if gpu else "off"
    known = "mode threads cache_dir device_uuid vulkan_library allow_software"
    gpu = _options("gpu", gpu, known.split())
    options = sized(_library.GpuOptions)
    options.mode = choice("gpu", gpu.get("mode", "auto"), GPU_MODES)
    options.threads = count("gpu: threads", gpu.get("threads", 0))
    for name in ("cache_dir", "vulkan_library"):
        if gpu.get(name) is not None:
            setattr(options, name, text(f"gpu: {name}", gpu[name]))
    if gpu.get("device_uuid") is not None:
        options.device_uuid = bytes_of(
            "gpu: device_uuid", gpu["device_uuid"], 16
        )
    options.allow_software = bool(gpu.get("allow_software"))
    return options


def _stream_options(stream: Any) -> Any:
    """nnv12_stream_options of True, a kind of reuse, or a mapping."""
    if stream is True:
        stream = {}
    known = "reuse tolerance input_tolerance refresh audit"
    stream = _options("stream", stream, known.split())
    options = sized(_library.StreamOptions)
    options.reuse = choice("stream", stream.get("reuse", "exact"), REUSE)
    for name in ("tolerance", "input_tolerance"):
        value = stream.get(name, 0)
        if not isinstance(value, (int, float)):
            raise wrong(
                f"stream: {name}: found {shown(value)}, expected a number"
                " from 0 to 1"
            )
        setattr(options, name, value)
    refresh = stream.get("refresh", 0)
    options.refresh = (
        _NONE if refresh is None else count("stream: refresh", refresh)
    )
    options.audit = bool(stream.get("audit"))
    return options


def _deadline(timeout: Any) -> int:
    """The time of CLOCK_MONOTONIC, in nanoseconds, so many seconds from now."""
    if not isinstance(timeout, (int, float)) or not timeout >= 0:
        raise wrong(
            f"run: timeout: found {shown(timeout)}, expected seconds from 0 on"
        )
    return time.monotonic_ns() + int(min(timeout, 1e9) * 1e9)


def _some_names(names: Sequence[str]) -> str:
    some = ", ".join(f"'{name}'" for name in names[:8])
    return (some or "none") + (", ..." if len(names) > 8 else "")


class Session:
    """Runs a bundle.

        with nnv12.Session("model.nnv", threads=2) as session:
            results = session.run({"x": image})

    bundle: a path, bytes or another buffer, as Bundle takes them; or a Bundle,
        whose prepared weights its sessions share.
    threads: how many compute, the caller of `run` included; None: as many as
        the bundle was compiled for.
    preparation_threads: how many prepare weights beside them; None: as the
        bundle's plan says.
    mode: "plan", "cold" or "continuous".
    gpu: "auto", "off", "after-first" or "wait"; True or False; or a mapping
        with the fields of nnv12_gpu_options.
    stream: runs are frames of a stream: True, or a mapping with the fields of
        nnv12_stream_options. `refresh` None: no frame computes all.
    record: "run", "operation" or "piece": keep the times of the last
        `record_runs` runs, for `records` and `profile`. One run of
        `sample_every` is recorded.
    pin_threads, no_stealing, oversubscribe: as in nnv12_session_options.
    key, digest, verify_weights, trust_weights, target, copying, take_tuning:
        as Bundle takes them.

    Creating it starts threads that prepare weights. Raises Error.

    A session runs one inference at a time. Other threads that call `run`
    meanwhile wait for their turn. Sessions run side by side. A run releases
    Python's global lock. A session cannot be used in a process that was forked
    from the one that made it.
    """

    _handle: Optional[c.c_void_p] = None

    def __init__(
        self,
        bundle: Any,
        *,
        threads: Optional[int] = None,
        preparation_threads: Optional[int] = None,
        mode: str = "plan",
        pin_threads: bool = False,
        no_stealing: bool = False,
        oversubscribe: bool = False,
        gpu: Union[str, bool, Mapping[str, Any]] = "auto",
        stream: Union[None, bool, str, Mapping[str, Any]] = None,
        record: Optional[str] = None,
        record_runs: int = 1000,
        sample_every: int = 1,
        **bundle_options: Any,
    ) -> None:
        self._lock = threading.Lock()
        self._owner: Optional[int] = None
        self._forks = _forks
        options = sized(_library.SessionOptions)
        if threads is not None:
            options.threads = count("threads", threads)
        if preparation_threads is not None:
            options.preparation_threads = (
                count("preparation_threads", preparation_threads) or _NONE
            )
        options.mode = choice("mode", mode, MODES)
        options.pin_threads = bool(pin_threads)
        options.no_stealing = bool(no_stealing)
        options.oversubscribe = bool(oversubscribe)
        if gpu != "auto":
            options.gpu = c.pointer(_gpu_options(gpu))
        if stream is not None and stream is not False:
            options.stream = c.pointer(_stream_options(stream))
        if isinstance(bundle, Bundle):
            if bundle_options:
                raise wrong(
                    f"session: found option '{next(iter(bundle_options))}' of"
                    " a bundle that is open, expected it when that is opened"
                )
            self._own: Optional[Bundle] = None
        else:
            try:
                bundle = self._own = Bundle(bundle, **bundle_options)
            except TypeError as error:
                raise wrong(f"session: {error}") from None
        self.bundle: Bundle = bundle
        handle = bundle._open()
        self.inputs: Tuple[TensorInfo, ...] = bundle.inputs
        self.outputs: Tuple[TensorInfo, ...] = bundle.outputs
        # Bytes of the bundle stay as long as the session.
        self._bundle_memory = bundle.memory
        self._library = library = _library.library()
        self._recorder: Any = None
        if record is not None and record != "off":
            self._recorder = self._make_recorder(
                options, record, record_runs, sample_every
            )
            options.recorder = c.pointer(self._recorder)
        self._error = _library.CError()
        made = c.c_void_p()
        if library.nnv12_session_create(handle, options, made, self._error):
            raise self._error.exception()
        self._handle = made
        self._prepare_calls()

    def _make_recorder(
        self, options: Any, record: str, runs: int, sample_every: int
    ) -> Any:
        level = choice("record", record, LEVELS)
        size = self._library.nnv12_recorder_size(
            self.bundle.handle, options, level, count("record_runs", runs)
        )
        if size == 0:
            raise wrong(
                f"record_runs: found {runs}, expected as many as a session"
                " with these options can record"
            )
        recorder = sized(_library.Recorder)
        self._record_memory, recorder.memory = aligned_memory(size)
        recorder.size = size
        recorder.level = level
        recorder.sample_every = count("sample_every", sample_every)
        recorder.counters_per_mille = 1
        recorder.gpu_per_mille = 10
        return recorder

    def _prepare_calls(self) -> None:
        """Makes all arguments of nnv12_session_run, whose buffers' addresses a
        run fills in."""
        tensors = self.inputs + self.outputs
        memory = bytearray(c.sizeof(Buffer) * max(len(tensors), 1))
        buffers = (Buffer * max(len(tensors), 1)).from_buffer(memory)
        for buffer, info in zip(buffers, tensors):
            buffer.struct_size = c.sizeof(Buffer)
            buffer.size = info.nbytes
        self._buffers = buffers
        # As words: size of the struct, address, size of the tensor.
        self._words = memoryview(memory).cast("N")
        places = range(1, 3 * len(tensors), 3)
        plan = [
            (info.name, info.dtype, info.shape, info.strides, place, info)
            for info, place in zip(tensors, places)
        ]
        num_inputs = len(self.inputs)
        self._input_plan = plan[:num_inputs]
        self._output_plan = plan[num_inputs:]
        self._input_names = [info.name for info in self.inputs]
        self._output_names = [info.name for info in self.outputs]
        # Addresses whose buffers were found not to overlap.
        self._apart: Dict[bytes, None] = {}
        outputs = c.byref(buffers, c.sizeof(Buffer) * num_inputs)
        arguments = (
            self._handle,
            buffers,
            c.c_uint32(num_inputs),
            outputs,
            c.c_uint32(len(self.outputs)),
        )
        self._arguments = (*arguments, c.byref(self._error))
        self._until = (*arguments, c.c_uint64(), c.byref(self._error))
        self._run = self._library.nnv12_session_run
        self._run_until = self._library.nnv12_session_run_until

    # Runs

    def run(
        self,
        output_names: Any = None,
        input_feed: Any = None,
        *,
        out: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
    ) -> Any:
        """Computes all outputs from all inputs.

            results = session.run({"x": image})          a dict, by name
            y, z = session.run(None, {"x": image})       a list, all outputs
            (z,) = session.run(["z"], {"x": image})      a list, these outputs
            session.run({"x": image}, out={"y": array})  in the caller's memory

        Inputs are arrays or buffers of the type and shape that `inputs` says,
        in C order. A buffer of one dimension that is no NumPy array may stand
        for any shape. Nothing is copied: the model reads them where they lie,
        and writes outputs where they are returned. No thread may change them
        meanwhile.

        out: arrays or buffers for outputs, by name, which the run fills and
            returns. They may not overlap inputs or each other. Other outputs
            are made anew.
        timeout: seconds, after which the run ends with an Error of status
            TIMED_OUT; the contents of outputs are of no use then.

        Without NumPy, outputs that are made are memoryviews of that format and
        shape. Raises Error; after one for arguments `out` is untouched.
        """
        feeds = output_names if input_feed is None else input_feed
        if self._forks != _forks:
            raise self._forked()
        lock, words, inputs = self._lock, self._words, self._input_plan
        if not lock.acquire(False):
            self._wait_for_turn()
        try:
            self._owner = _get_ident()
            if self._handle is None:
                raise self._closed()
            # Keeps the memory of all buffers until the run has ended.
            held: List[Any] = []
            try:
                for name, dtype, shape, strides, place, info in inputs:
                    value = feeds[name]
                    if (
                        value.__class__ is _Array
                        and value.dtype is dtype
                        and value.shape == shape
                        and value.strides == strides
                    ):
                        words[place] = _read_word(id(value) + _OFFSET).value
                        held.append(value)
                    else:
                        words[place] = address_of(info, value, False, held)
                if len(feeds) != len(held):
                    raise KeyError
            except (KeyError, TypeError, IndexError):
                raise self._wrong_feeds(feeds) from None
            results: Dict[str, Any] = {}
            if out is None:
                for name, dtype, shape, _, place, info in self._output_plan:
                    if _empty is None:
                        value = info.empty()
                        words[place] = address_of(info, value, True, held)
                    else:
                        value = _empty(shape, dtype)
                        words[place] = _read_word(id(value) + _OFFSET).value
                    results[name] = value
            else:
                self._take(out, results, held)
            if timeout is None:
                status = self._run(*self._arguments)
            else:
                self._until[-2].value = _deadline(timeout)
                status = self._run_until(*self._until)
            if status:
                raise self._error.exception()
        finally:
            self._owner = None
            lock.release()
        if input_feed is None:
            return results
        if output_names is None:
            return list(results.values())
        return self._chosen(output_names, results)

    def _take(self, out: Any, results: Dict[str, Any], held: List[Any]) -> None:
        """The caller's memory for outputs, and new memory for others."""
        words, read, offset = self._words, _read_word, _OFFSET
        given = 0
        try:
            for name, dtype, shape, _, place, info in self._output_plan:
                if name in out:
                    value = out[name]
                    given += 1
                else:
                    value = info.empty()
                results[name] = value
                if (
                    value.__class__ is _Array
                    and value.dtype is dtype
                    and value.shape == shape
                    and value.flags.carray
                ):
                    words[place] = read(id(value) + offset).value
                    held.append(value)
                else:
                    words[place] = address_of(info, value, True, held)
            if len(out) != given:
                raise KeyError
        except (KeyError, TypeError, IndexError):
            raise self._wrong_names("out", out, self._output_names) from None
        key = words.tobytes()
        if key not in self._apart:
            self._check_apart()
            if len(self._apart) >= 16:
                self._apart.clear()
            self._apart[key] = None

    def _check_apart(self) -> None:
        """Raises Error if an output's memory overlaps that of an input or of
        another output. Tensors of no bytes overlap nothing."""
        spans = sorted(
            (self._words[place], info.nbytes, index)
            for index, (*_, place, info) in enumerate(
                self._input_plan + self._output_plan
            )
            if info.nbytes
        )
        tensors = self.inputs + self.outputs
        # The tensor that reaches furthest so far, and the output.
        end = output_end = 0
        last = last_output = tensors[0]
        for address, size, index in spans:
            info = tensors[index]
            is_output = index >= len(self.inputs)
            other = None
            if address < output_end:
                other = last_output
            elif is_output and address < end:
                other = last
            if other is not None:
                raise info.wrong(
                    f"found memory that {other.kind} '{other.name}' has as"
                    " well, expected memory of its own"
                )
            if address + size > end:
                end, last = address + size, info
            if is_output and address + size > output_end:
                output_end, last_output = address + size, info

    def _chosen(self, names: Any, results: Dict[str, Any]) -> List[Any]:
        """The results of some names."""
        if not isinstance(names, (list, tuple)):
            raise wrong(
                f"run: output_names: found {shown(names)}, expected a list of"
                " names or None"
            )
        try:
            return [results[name] for name in names]
        except (KeyError, TypeError):
            name = next(n for n in names if n not in self._output_names)
            raise wrong(
                f"run: found output {shown(name)}, expected some of"
                f" {_some_names(self._output_names)}"
            ) from None

    def _wrong_feeds(self, feeds: Any) -> Error:
        return self._wrong_names("inputs", feeds, self._input_names, all_=True)

    def _wrong_names(
        self, kind: str, given: Any, names: List[str], all_: bool = False
    ) -> Error:
        """The error of a mapping with wrong names."""
        if not isinstance(given, Mapping):
            return wrong(
                f"run: {kind}: found {type(given).__name__}, expected a dict"
                " of arrays by name"
            )
        for name in given:
            if name not in names:
                return wrong(
                    f"run: {kind}: found {shown(name)}, expected some of"
                    f" {_some_names(names)}"
                )
        missing = [name for name in names if name not in given]
        if all_ and missing:
            return wrong(
                f"run: {kind}: found no '{missing[0]}', expected all of"
                f" {_some_names(names)}"
            )
        return wrong(f"run: {kind}: found names twice, expected each once")

    def _wait_for_turn(self) -> None:
        """Waits until no other thread runs."""
        if self._owner == threading.get_ident():
            raise Error(
                "session: found a call inside of its own run, as from a"
                " signal handler, expected one after it",
                Status.BUSY,
            )
        self._lock.acquire()

    def _forked(self) -> Error:
        return wrong(
            "session: found a process forked from the one that made it,"
            " expected a session that this process made"
        )

    def _closed(self) -> Error:
        return wrong("session: found a closed one, expected an open one")

    def _enter(self) -> None:
        """Begins a call that must not meet another one: `_leave` ends it."""
        if self._forks != _forks:
            raise self._forked()
        if not self._lock.acquire(False):
            self._wait_for_turn()
        self._owner = threading.get_ident()
        if self._handle is None:
            self._leave()
            raise self._closed()

    def _leave(self) -> None:
        self._owner = None
        self._lock.release()

    def _call(self, function: Any, *arguments: Any) -> None:
        """Calls a function of the library that says by a status whether it
        failed."""
        self._enter()
        try:
            if function(self._handle, *arguments, self._error):
                raise self._error.exception()
        finally:
            self._leave()

    def prepare(self, timeout: Optional[float] = None) -> None:
        """Prepares all that later runs want, a GPU's part too. From the next
        run on they take the same time and give the same bytes.

        timeout: seconds, after which it ends with an Error of status
            TIMED_OUT. Nothing is lost then. None: as long as it takes.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            # In slices, so that Ctrl-C ends it.
            left = _SLICE_MS
            if end is not None:
                left = min(left, max(0, int((end - time.monotonic()) * 1e3)))
            try:
                self._call(self._library.nnv12_session_prepare, left)
                return
            except Error as error:
                if error.status != Status.TIMED_OUT or (
                    end is not None and time.monotonic() >= end
                ):
                    raise

    def reset(self) -> None:
        """Forgets a stream's last frame: the next run computes all."""
        self._call(self._library.nnv12_session_reset)

    def hint(
        self, input_name: str, clean: Sequence[Tuple[int, int, int, int]]
    ) -> None:
        """Tells a stream that these rectangles (x, y, width, height, in pixels
        of the input) are in the next run as in the last one."""
        number = self._input_number("hint", input_name)
        rectangles = (_library.Rectangle * len(clean))()
        for rectangle, given in zip(rectangles, clean):
            for name, value in zip(("x", "y", "width", "height"), given):
                setattr(rectangle, name, count(f"hint: {name}", value))
        hint = sized(_library.StreamHint)
        hint.input = number
        hint.num_clean = len(clean)
        hint.clean = rectangles
        self._call(self._library.nnv12_session_hint, hint)

    def _input_number(self, function: str, name: str) -> int:
        if name not in self._input_names:
            raise wrong(
                f"{function}: found input {shown(name)}, expected some of"
                f" {_some_names(self._input_names)}"
            )
        return self._input_names.index(name)

    # Facts

    def get_inputs(self) -> List[TensorInfo]:
        """As onnxruntime.InferenceSession.get_inputs."""
        return list(self.inputs)

    def get_outputs(self) -> List[TensorInfo]:
        """As onnxruntime.InferenceSession.get_outputs."""
        return list(self.outputs)

    @property
    def properties(self) -> Dict[str, str]:
        """The bundle's properties."""
        return self.bundle.properties

    @property
    def info(self) -> Dict[str, Any]:
        """The fields of nnv12_session_info: `threads`, and how far preparing
        and a GPU are. `steady_run` is None before that run."""
        info = sized(_library.SessionInfo)
        self._enter()
        try:
            self._library.nnv12_session_get_info(self._handle, info)
            result = _library.facts(info)
        finally:
            self._leave()
        result["gpu_state"] = GPU_STATES[info.gpu_state]
        result["gpu_cache"] = GPU_CACHES[info.gpu_cache]
        if info.steady_run == _NONE:
            result["steady_run"] = None
        return result

    @property
    def stream_info(self) -> Dict[str, Any]:
        """The fields of nnv12_stream_info; zeros without a stream."""
        info = sized(_library.StreamInfo)
        self._enter()
        try:
            self._library.nnv12_session_get_stream_info(self._handle, info)
        finally:
            self._leave()
        return _library.facts(info)

    def changed(self, input_name: str) -> Any:
        """The pixels of an input that a stream's last run found changed: an
        array of bool, (rows, columns). The images of a batch lie one below the
        other. Without NumPy: a memoryview of the format "?"."""
        number = self._input_number("changed", input_name)
        return self._pixels(self._library.nnv12_session_get_changed, number)

    def computed(self, operation: int) -> Any:
        """The same for the result of an operation, by its number as
        nnv12-inspect has it: the pixels that a stream's last run computed."""
        number = count("computed: operation", operation)
        return self._pixels(self._library.nnv12_session_get_computed, number)

    def _pixels(self, function: Any, number: int) -> Any:
        rows, columns = c.c_uint32(), c.c_uint32()
        self._call(function, number, rows, columns, None, 0)
        shape = rows.value, columns.value
        size = shape[0] * shape[1]
        pixels = bytearray(size)
        memory = (c.c_char * size).from_buffer(pixels)
        self._call(function, number, rows, columns, memory, size)
        if np:
            return np.frombuffer(pixels, np.bool_).reshape(shape)
        return memoryview(pixels).cast("?", shape)

    def records(self) -> Any:
        """The times that the session has recorded: a structured array with the
        fields of nnv12_record, thread by thread. Times are nanoseconds.
        Without NumPy: a list of nnv12.Record. Needs `record`."""
        if self._recorder is None:
            raise wrong(
                "session: found no recorder, expected one that was made with"
                " record='operation'"
            )
        self._enter()
        try:
            return read_records(
                self._library, self._recorder.memory, self._recorder.size
            )
        finally:
            self._leave()

    def profile(self, by: str = "kernel") -> Profile:
        """Where the time of later runs goes: a table by kernels, or by layers
        with by="layer". Needs record="operation" or "piece"."""
        choice("profile: by", by, ("kernel", "layer"))
        if self._recorder is not None and self._recorder.level < 2:
            raise wrong(
                "session: found record='run', expected record='operation' or"
                " 'piece'"
            )
        records = self.records()
        return make_profile(self.bundle, records, self.info, by)

    # Lifetime

    def close(self) -> None:
        """Ends the session's threads and frees its memory, after a run that is
        under way. A session that is closed may be closed again."""
        if self._handle is None:
            return
        if self._forks != _forks:
            # Its threads do not exist here: nothing can end them.
            self._handle = None
            return
        if not self._lock.acquire(False):
            self._wait_for_turn()
        try:
            handle, self._handle = self._handle, None
            if handle is not None:
                self._library.nnv12_session_close(handle)
        finally:
            self._lock.release()
        self._bundle_memory = self._record_memory = None
        if self._own is not None:
            self._own.close()

    def __enter__(self) -> "Session":
        if self._handle is None:
            raise self._closed()
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._handle is None:
            return "<nnv12.Session, closed>"
        return f"<nnv12.Session of {self.bundle!r}>"
