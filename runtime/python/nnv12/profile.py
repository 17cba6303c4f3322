"""A session's records, and a table of the time that kernels take."""
import ctypes as c
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import _library
from ._library import sized
from ._tensors import np
from .errors import wrong

# nnv12_record.
_FIELDS = [
    ("start_ns", "u8"),
    ("duration_ns", "u8"),
    ("index", "u4"),
    ("run", "u4"),
    ("first", "u2"),
    ("count", "u2"),
    ("kind", "u1"),
    ("thread", "u1"),
    ("lane", "u1"),
    ("flags", "u1"),
]
_FORMAT = "QQIIHHBBBB"
_RECORD_SIZE = 32

# nnv12_record_kind.
KINDS = (
    "execute",
    "read",
    "decode",
    "transform",
    "thread start",
    "whole run",
    "tiles",
    "wait",
    "join",
    "counter",
    "gpu submit",
    "gpu kernel",
    "gpu device",
    "gpu pipeline",
    "gpu upload",
    "gpu commands",
    "match",
    "merge",
)
EXECUTE, WHOLE_RUN, GPU_SUBMIT = 0, 5, 10
_SWITCHED = 2


class Record(NamedTuple):
    """One thing that a thread did without a break: nnv12_record. `kind` is a
    place in nnv12.RECORD_KINDS; times are nanoseconds of CLOCK_MONOTONIC."""

    start_ns: int
    duration_ns: int
    index: int  # type: ignore[assignment]  # not tuple's
    run: int
    first: int
    count: int  # type: ignore[assignment]
    kind: int
    thread: int
    lane: int
    flags: int


def read_records(library: Any, memory: int, size: int) -> Any:
    """All records in a recorder's memory, thread by thread."""
    error, recording = _library.CError(), c.c_void_p()
    if library.nnv12_recording_open(memory, size, recording, error):
        raise error.exception()
    try:
        info = sized(_library.RecordingInfo)
        library.nnv12_recording_get_info(recording, info)
        pieces: List[bytes] = []
        chunk = (c.c_char * (_RECORD_SIZE * 4096))()
        for thread in range(info.num_threads + info.has_gpu_threads):
            while True:
                found = library.nnv12_recording_read(
                    recording, thread, chunk, 4096, None
                )
                if not found:
                    break
                pieces.append(
                    memoryview(chunk)[: found * _RECORD_SIZE].tobytes()
                )
    finally:
        library.nnv12_recording_close(recording)
    data = b"".join(pieces)
    if np:
        return np.frombuffer(bytearray(data), np.dtype(_FIELDS))
    from struct import iter_unpack

    return [Record(*fields) for fields in iter_unpack(_FORMAT, data)]


class ProfileRow(NamedTuple):
    """A kernel, or a layer's kernel, in later runs.

    kernel, routine: names of the compiler's; kernel "gpu": a GPU's.
    layer: the layer's name in the model; of several the first one's.
    layers: how many layers the row stands for.
    us: microseconds of a run, the median.
    share: the part of all rows' time, 0 to 1.
    first_us: microseconds in the first run; None where it is not recorded any
        more.
    gmacs: multiply-adds, 10^9 a second; 0 where they are not known.
    """

    kernel: str
    routine: str
    layer: str
    layers: int
    us: float
    share: float
    first_us: Optional[float]
    gmacs: float


class Profile:
    """The table of Session.profile. `print` shows it.

    rows: ProfileRow, those that take longest first.
    runs: how many later runs it is of.
    run_us: microseconds of such a run as a whole, the median.
    first_us: of the first run; None where it is not recorded any more.
    """

    def __init__(
        self,
        rows: List[ProfileRow],
        runs: int,
        run_us: float,
        first_us: Optional[float],
    ) -> None:
        self.rows = rows
        self.runs = runs
        self.run_us = run_us
        self.first_us = first_us

    def __repr__(self) -> str:
        first = (
            ""
            if self.first_us is None
            else f"; first run {self.first_us:.1f} us"
        )
        lines = [f"{self.runs} runs, median {self.run_us:.1f} us{first}"]
        lines.append(
            f"{'us':>10} {'%':>6} {'first us':>10} {'GMAC/s':>8} {'layers':>6}"
            "  kernel, layer"
        )
        for row in self.rows:
            early = "" if row.first_us is None else f"{row.first_us:.1f}"
            speed = f"{row.gmacs:.1f}" if row.gmacs else ""
            more = f" and {row.layers - 1} more" if row.layers > 1 else ""
            lines.append(
                f"{row.us:10.1f} {100 * row.share:6.1f} {early:>10} {speed:>8}"
                f" {row.layers:6}  {row.kernel}, {row.layer}{more}"
            )
        return "\n".join(lines)


def median(values: Any) -> float:
    """The module `statistics` has one, but takes longer to import than all of
    this package."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def _text(value: Optional[bytes]) -> str:
    return (value or b"").decode("utf-8", "replace")


class _Operations:
    """The operations' names, with the kernels that later runs have."""

    def __init__(self, bundle: Any) -> None:
        self.library, self.handle = bundle._library, bundle._open()
        self.later: Dict[int, str] = {}
        switch = sized(_library.SwitchInfo)
        for i in range(bundle.info["num_switches"]):
            if not self.library.nnv12_bundle_get_switch(self.handle, i, switch):
                self.later[switch.operation] = _text(switch.kernel)
        self.known: Dict[int, Any] = {}

    def __getitem__(self, index: int) -> Any:
        if index not in self.known:
            info = sized(_library.OperationInfo)
            self.library.nnv12_bundle_get_operation(self.handle, index, info)
            self.known[index] = info
        return self.known[index]


def make_profile(
    bundle: Any, records: Any, info: Dict[str, Any], by: str
) -> Profile:
    """The table of these records. `info`: Session.info."""
    if np:
        records = [Record(*fields) for fields in records.tolist()]
    operations = _Operations(bundle)
    whole = {
        r.run: r.duration_ns
        for r in records
        if r.kind == WHOLE_RUN and r.index == 0
    }
    steady = info["steady_run"]
    later = {run for run in whole if run >= max(steady or 1, 1)}
    if not later:
        raise wrong(
            f"profile: found {len(whole)} recorded runs, expected some behind"
            " the first one"
        )
    # (operation, a GPU's): run: nanoseconds
    times: Dict[Tuple[int, bool], Dict[int, int]] = {}
    for r in records:
        if r.kind in (EXECUTE, GPU_SUBMIT) and r.run in whole:
            of_run = times.setdefault((r.index, r.kind == GPU_SUBMIT), {})
            of_run[r.run] = of_run.get(r.run, 0) + r.duration_ns
    switched = {
        r.index
        for r in records
        if r.kind == EXECUTE and r.flags & _SWITCHED and r.run in later
    }
    # Key: layers, medians, first runs, multiply-adds
    groups: Dict[Tuple[str, str, str], List[Any]] = {}
    for (index, on_gpu), of_run in sorted(times.items()):
        samples = [t for run, t in of_run.items() if run in later]
        if not samples:
            continue
        operation = operations[index]
        kernel, routine = _text(operation.kernel), _text(operation.routine)
        if index in switched:
            kernel = operations.later.get(index, kernel)
        if on_gpu:
            kernel = routine = "gpu"
        layer = _text(operation.layer)
        key = (kernel, routine, f"{index} {layer}" if by == "layer" else "")
        group = groups.setdefault(key, [layer, 0, 0.0, 0, 0])
        group[1] += 1
        group[2] += median(samples) * len(samples) / len(later)
        group[3] += of_run.get(0, 0)
        if not on_gpu:
            group[4] += operation.multiply_adds
    total = sum(group[2] for group in groups.values()) or 1.0
    rows = [
        ProfileRow(
            kernel,
            routine,
            layer,
            layers,
            time / 1e3,
            time / total,
            first / 1e3 if 0 in whole else None,
            adds / time if time else 0.0,
        )
        for (kernel, routine, _), (layer, layers, time, first, adds) in (
            groups.items()
        )
    ]
    rows.sort(key=lambda row: -row.us)
    return Profile(
        rows,
        len(later),
        median(whole[run] for run in later) / 1e3,
        whole[0] / 1e3 if 0 in whole else None,
    )
