"""Helpers of the measuring scripts: figures with their noise, cold files, cold
caches, slow storage, busy cores.

Times are milliseconds unless a name says otherwise.
"""
import contextlib
import ctypes
import math
import mmap
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nnv12tools
from nnv12tools import ToolError

_libc = ctypes.CDLL(None, use_errno=True)


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def gather(work, modules, names=None):
    """The models to measure on: those beside the repository, then its own. The
    zoo is filled with weights in `work`/zoo. Without `modules` (no ONNX Runtime
    to ask for answers) only what is filled already is taken of it."""
    cases = []
    shared = nnv12tools.shared_folder()
    if shared:
        cases = nnv12tools.shared_cases(shared) + nnv12tools.zoo_cases(
            shared, work / "zoo", modules, names
        )
    have = {c.name for c in cases}
    cases += [c for c in nnv12tools.own_cases() if c.name not in have]
    return [c for c in cases if not names or c.name in names]


def interleaved(ours, peer, rounds, slice_ms, pause):
    """Lists of rounds, each a list of nanoseconds, of ours and of the peer:
    functions that take a number of runs. They take turns of `slice_ms`, with a
    pause between.
    """

    def count(times):
        return max(
            1, min(2000, int(slice_ms * 1e6 / max(statistics.median(times), 1)))
        )

    engines = [ours, peer]
    counts = [count(engine(3)) for engine in engines]
    results = [], []
    for _ in range(rounds):
        for engine, n, result in zip(engines, counts, results):
            time.sleep(pause)
            engine(1)
            result.append(engine(n))
    return results


def figure(samples):
    """Median, least, and noise: half the distance between the quartiles."""
    samples = [s for s in samples if s is not None]
    if not samples:
        return None
    quartiles = (
        statistics.quantiles(samples, n=4)
        if len(samples) > 1
        else [samples[0]] * 3
    )
    return {
        "median": statistics.median(samples),
        "min": min(samples),
        "noise": (quartiles[2] - quartiles[0]) / 2,
        "count": len(samples),
    }


def p90(samples):
    """The 90th percentile, or None for fewer than two samples."""
    return (
        statistics.quantiles(samples, n=10, method="inclusive")[-1]
        if len(samples) > 1
        else None
    )


def geometric_mean(values):
    values = [v for v in values if v and v > 0]
    return (
        math.exp(sum(map(math.log, values)) / len(values)) if values else None
    )


# Files that are not in memory.


def _residency(fd, size):
    """The part of a file's pages that is in memory. No page is touched."""
    if size == 0:
        return 0.0
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    ]
    _libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    _libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    if address == ctypes.c_void_p(-1).value:
        raise ToolError(f"mmap: {os.strerror(ctypes.get_errno())}")
    pages = ctypes.create_string_buffer(
        (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
    )
    try:
        if _libc.mincore(address, size, pages):
            raise ToolError(f"mincore: {os.strerror(ctypes.get_errno())}")
    finally:
        _libc.munmap(address, size)
    return sum(page & 1 for page in pages.raw) / len(pages.raw)


def back_memory(size):
    """In a virtual machine free memory may have been given back to the host,
    which takes milliseconds to supply 2 MB of it again. More than `size` bytes
    are used, and are free then; as nnv12-bench does before its cold runs."""
    available = os.sysconf("SC_AVPHYS_PAGES") * mmap.PAGESIZE
    size = min(size + min((64 << 20) + 3 * size, 512 << 20), available // 4)
    with mmap.mmap(
        -1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    ) as memory:
        with contextlib.suppress(AttributeError, OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
        for at in range(0, len(memory), mmap.PAGESIZE):
            memory[at] = 1


def other_program():
    """Another program has the CPUs' caches and some memory for a moment."""
    script = "b = bytearray(48 << 20); sum(b[::64])"
    subprocess.run([sys.executable, "-S", "-c", script], check=True)


def evict(path, allowed=0.01, backs=True):
    """Drops a file from the page cache and makes sure that it is gone: no
    process may have it mapped. Raises ToolError where pages stay. With `backs`
    free memory is made ready before."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(fd).st_size
        if backs:
            back_memory(size)
        os.fsync(fd)
        for _ in range(5):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            stays = _residency(fd, size)
            if stays <= allowed:
                return
            time.sleep(0.05)
    finally:
        os.close(fd)
    raise ToolError(f"{path}: {stays:.0%} of its pages stay in memory")


class CacheEvictor:
    """Processes that write to memory as large as a CPU's caches, one on each
    CPU, so that code and data of others leave the caches."""

    def __init__(self, megabytes):
        script = (
            "import os,sys\n"
            "import numpy as np\n"
            "os.sched_setaffinity(0,{int(sys.argv[1])})\n"
            "memory=np.zeros(int(sys.argv[2])<<20,np.uint8)\n"
            "print('{}',flush=True)\n"
            "for line in sys.stdin:\n"
            "  memory[::64]+=1\n"
            "  print('{}',flush=True)\n"
        )
        self.servers = [
            nnv12tools.LineServer(
                [sys.executable, "-c", script, cpu, megabytes]
            )
            for cpu in sorted(os.sched_getaffinity(0))
        ]
        for server in self.servers:
            server.answer("start")

    def evict(self):
        for server in self.servers:
            server.send("evict")
        for server in self.servers:
            server.answer("evict")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.close()


def cache_size():
    """Megabytes of this CPU's largest cache, 32 where the system does not
    say."""
    sizes = [
        int(file.read_text().strip().rstrip("K")) >> 10
        for file in Path("/sys/devices/system/cpu/cpu0/cache").glob("*/size")
    ]
    return max(sizes, default=32)


def read_time(path, enter=None):
    """Milliseconds to read all bytes of an evicted file, in a process that
    calls `enter` first (Throttle.enter)."""
    evict(path)
    script = (
        "import os,sys,time\n"
        "fd=os.open(sys.argv[1],os.O_RDONLY); b=bytearray(1<<20)\n"
        "t=time.perf_counter()\n"
        "while os.readv(fd,[b]): pass\n"
        "print(time.perf_counter()-t)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        preexec_fn=enter,
        check=True,
    )
    return float(done.stdout) * 1e3


class Throttle:
    """Reads of the block device under `folder` limited to `rate` bytes a second
    for the processes that enter: pass `enter` as preexec_fn. Control groups,
    version 1 or 2. Raises ToolError where the machine cannot."""

    def __init__(self, folder, rate):
        device = _disk_of(folder)
        self.group = None
        reasons = []
        for root, name, line in _throttle_files(device, rate):
            try:
                self.group = Path(tempfile.mkdtemp(prefix="nnv12-", dir=root))
                (self.group / name).write_text(line)
                return
            except OSError as error:
                reasons.append(f"{root}: {error.strerror}")
                self.close()
        raise ToolError(
            "no control group limits reads here: "
            + ("; ".join(reasons) or "none is mounted")
        )

    def enter(self):
        (self.group / "cgroup.procs").write_text("0")

    def close(self):
        if self.group:
            with contextlib.suppress(OSError):
                self.group.rmdir()
            self.group = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _disk_of(folder):
    """major:minor of the whole disk that holds a folder."""
    device = os.stat(folder).st_dev
    entry = Path(
        f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"
    ).resolve()
    if not entry.is_dir():
        raise ToolError(f"{folder}: no block device lies under it")
    if (entry / "partition").exists():
        entry = entry.parent
    return (entry / "dev").read_text().strip()


def _throttle_files(device, rate):
    for line in Path("/proc/mounts").read_text().splitlines():
        _, root, kind, options, *_ = line.split()
        if kind == "cgroup" and "blkio" in options.split(","):
            yield root, "blkio.throttle.read_bps_device", f"{device} {rate}"
        elif kind == "cgroup2":
            with contextlib.suppress(OSError):
                if (
                    "io"
                    in (Path(root) / "cgroup.subtree_control")
                    .read_text()
                    .split()
                ):
                    yield root, "io.max", f"{device} rbps={rate}"


@contextlib.contextmanager
def busy_core(core, percent):
    """Keeps one core busy for `percent` of each 10 ms."""
    if not percent:
        yield
        return
    script = (
        "import os,sys,time\n"
        "os.sched_setaffinity(0,{int(sys.argv[1])})\n"
        "share=int(sys.argv[2])/100; print(flush=True)\n"
        "while True:\n"
        "  t=time.perf_counter()\n"
        "  while time.perf_counter()-t<share*0.01: pass\n"
        "  time.sleep((1-share)*0.01)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(core), str(percent)],
        stdout=subprocess.PIPE,
    )
    try:
        process.stdout.readline()
        time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()
