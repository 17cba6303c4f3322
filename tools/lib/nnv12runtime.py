"""The runtime's C API (runtime/include/nnv12.h) in this process, by way of
ctypes.

For benchmarks: a run through it costs some two microseconds more than one from
C.
"""
import ctypes as c
import json
import sys
import time
from pathlib import Path

import numpy as np

# In the order of nnv12_type; bfloat16 has no NumPy type.
TYPES = [
    "f4",
    "f8",
    "f2",
    "u2",
    "i1",
    "u1",
    "i2",
    "u2",
    "i4",
    "u4",
    "i8",
    "u8",
    "?",
    "u1",
    "u1",
    "u1",
    "u1",
    "u1",
    "u1",
    "i1",
    "u1",
    "i1",
    "u1",
]


class _Error(c.Structure):
    _fields_ = [("status", c.c_int), ("message", c.c_char * 1020)]


class _TensorInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("type", c.c_int),
        ("rank", c.c_uint32),
        ("shape", c.POINTER(c.c_int64)),
        ("byte_size", c.c_size_t),
    ]


class _SessionOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("threads", c.c_uint32),
        ("pin_threads", c.c_int),
    ]


class _BundleInfo(c.Structure):
    _fields_ = (
        [("struct_size", c.c_size_t)]
        + [(name, c.c_char_p) for name in ("model", "producer", "target")]
        + [
            (name, c.c_uint64)
            for name in (
                "file_size",
                "code_size",
                "weights_size",
                "arena_size",
                "scratch_size",
            )
        ]
        + [(name, c.c_uint32) for name in ("num_operations", "num_kernels")]
        + [(name, c.c_int) for name in ("is_signed", "code_is_mapped")]
    )


class _SessionInfo(c.Structure):
    _fields_ = [("struct_size", c.c_size_t)] + [
        (name, c.c_uint32)
        for name in (
            "threads",
            "preparation_threads",
            "num_preparations",
            "preparations_done",
            "num_switches",
            "switches_ready",
            "switches_done",
        )
    ]


class Buffer(c.Structure):
    """nnv12_input or nnv12_output of an array, whose memory stays its own."""

    _fields_ = [
        ("struct_size", c.c_size_t),
        ("data", c.c_void_p),
        ("size", c.c_size_t),
    ]

    @classmethod
    def of(cls, array):
        return cls(c.sizeof(cls), array.ctypes.data, array.nbytes)


def _empty(info):
    return np.zeros(info.shape[: info.rank], TYPES[info.type])


class Session:
    """One bundle, opened and run with the given threads. `inputs`: pairs of
    name and .npy file, or None for zeros. `open_ns`: how long opening it and
    making the session took. Raises RuntimeError with the library's message."""

    def __init__(self, library, bundle, inputs, threads):
        self.lib = c.CDLL(str(library))
        self.error = _Error()
        given = {name: np.load(file) for name, file in inputs or ()}
        for name in ("input", "output"):
            getattr(self.lib, f"nnv12_bundle_{name}").restype = c.POINTER(
                _TensorInfo
            )
        self.bundle, self.session = c.c_void_p(), c.c_void_p()
        start = time.perf_counter_ns()
        status = self.lib.nnv12_bundle_open(
            str(bundle).encode(),
            None,
            c.byref(self.bundle),
            c.byref(self.error),
        )
        opened = time.perf_counter_ns() - start
        self._check(status)
        self.inputs = []
        for info in self._tensors("input"):
            array = (
                _empty(info) if inputs is None else given[info.name.decode()]
            )
            if array.nbytes != info.byte_size:
                raise RuntimeError(
                    f"{Path(bundle).name}: "
                    f"input '{info.name.decode()}' has another size"
                )
            self.inputs.append(np.ascontiguousarray(array))
        self.outputs = [_empty(info) for info in self._tensors("output")]
        # All else is made before: preparing weights begins with the session.
        options = _SessionOptions(c.sizeof(_SessionOptions), threads, 0)
        start = time.perf_counter_ns()
        status = self.lib.nnv12_session_create(
            self.bundle,
            c.byref(options),
            c.byref(self.session),
            c.byref(self.error),
        )
        self.open_ns = opened + time.perf_counter_ns() - start
        self._check(status)
        self._arguments = [self.session]
        for arrays in (self.inputs, self.outputs):
            buffers = (Buffer * max(len(arrays), 1))(
                *(Buffer.of(a) for a in arrays)
            )
            self._arguments += [buffers, c.c_uint32(len(arrays))]
        self._arguments.append(c.byref(self.error))

    def _tensors(self, kind):
        count = getattr(self.lib, f"nnv12_bundle_num_{kind}s")(self.bundle)
        return [
            getattr(self.lib, f"nnv12_bundle_{kind}")(
                self.bundle, c.c_uint32(i)
            ).contents
            for i in range(count)
        ]

    def _check(self, status):
        if status:
            raise RuntimeError(self.error.message.decode())

    def info(self, name):
        """A field of nnv12_bundle_info."""
        info = _BundleInfo(c.sizeof(_BundleInfo))
        self.lib.nnv12_bundle_get_info(self.bundle, c.byref(info))
        return getattr(info, name)

    def run(self, count):
        """Runs `count` times; the nanoseconds of each."""
        run, arguments, clock = (
            self.lib.nnv12_session_run,
            self._arguments,
            time.perf_counter_ns,
        )
        times = []
        for _ in range(count):
            start = clock()
            status = run(*arguments)
            times.append(clock() - start)
            self._check(status)
        return times

    def settle(self, runs=1000):
        """Runs until every switch is taken: in continuous mode the kernels for
        warm runs."""
        info = _SessionInfo(c.sizeof(_SessionInfo))
        for _ in range(runs):
            self.run(1)
            self.lib.nnv12_session_get_info(self.session, c.byref(info))
            if info.switches_done == info.num_switches:
                return
        raise RuntimeError(
            f"{info.switches_done} of {info.num_switches} switches taken "
            f"after {runs} runs"
        )

    def close(self):
        self.lib.nnv12_session_close(self.session)
        self.lib.nnv12_bundle_close(self.bundle)


def open_times(library, bundle, count):
    """Nanoseconds of each of `count` times opening and verifying a bundle."""
    lib, error, handle, times = c.CDLL(str(library)), _Error(), c.c_void_p(), []
    path = str(bundle).encode()
    for _ in range(count):
        start = time.perf_counter_ns()
        status = lib.nnv12_bundle_open(
            path, None, c.byref(handle), c.byref(error)
        )
        times.append(time.perf_counter_ns() - start)
        if status:
            raise RuntimeError(error.message.decode())
        lib.nnv12_bundle_close(handle)
    return times


def main(library, bundle, threads, runs, *inputs):
    """For scripts: prints the times of a fresh process's first `runs` runs, as
    one line of JSON, in nanoseconds. The first begins with opening the bundle.
    """
    session = Session(
        library, bundle, [i.rsplit("=", 1) for i in inputs], int(threads)
    )
    times = session.run(int(runs))
    times[0] += session.open_ns
    print(json.dumps({"ns": times}))


if __name__ == "__main__":
    main(*sys.argv[1:])
