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

# The package declares the structs and the types of tensors.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "runtime/python"))
from nnv12 import TensorInfo  # noqa: E402
from nnv12 import _library as capi  # noqa: E402


class Buffer(capi.Buffer):
    """nnv12_input or nnv12_output of an array, whose memory stays its own."""

    @classmethod
    def of(cls, array):
        return cls(c.sizeof(cls), array.ctypes.data, array.nbytes)


def _zeros(kind, info):
    tensor = TensorInfo(kind, info)
    return np.zeros(tensor.shape, tensor.dtype)


class Session:
    """One bundle, opened and run with the given threads. `inputs`: pairs of
    name and .npy file, or None for zeros. `open_ns`: how long opening it and
    making the session took. Raises RuntimeError with the library's message."""

    def __init__(self, library, bundle, inputs, threads):
        self.lib = c.CDLL(str(library))
        self.error = capi.CError()
        given = {name: np.load(file) for name, file in inputs or ()}
        for name in ("input", "output"):
            getattr(self.lib, f"nnv12_bundle_{name}").restype = c.POINTER(
                capi.CTensorInfo
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
                _zeros("input", info)
                if inputs is None
                else given[info.name.decode()]
            )
            if array.nbytes != info.byte_size:
                raise RuntimeError(
                    f"{Path(bundle).name}: "
                    f"input '{info.name.decode()}' has another size"
                )
            self.inputs.append(np.ascontiguousarray(array))
        self.outputs = [
            _zeros("output", info) for info in self._tensors("output")
        ]
        # All else is made before: preparing weights begins with the session.
        options = capi.sized(capi.SessionOptions)
        options.threads = threads
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
        info = capi.sized(capi.BundleInfo)
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
        info = capi.sized(capi.SessionInfo)
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
    lib, times = c.CDLL(str(library)), []
    error, handle = capi.CError(), c.c_void_p()
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
