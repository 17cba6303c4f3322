"""The tables of measure-idle: Markdown, and each limit with its figure.

A figure has its part, engine and further keys, and a list of samples, one a
turn. Ratios are of samples of the same turn.
"""
import textwrap

from coldreport import Limits, finished, table
from nnv12measure import figure, p90

KEYS = {
    "cpu",
    "cores",
    "peer",
    "compile",
    "evict",
    "time",
    "load_before",
    "skipped",
    "hertz",
    "seconds",
    "turns",
    "count",
    "models",
    "figures",
}
ENGINES = {
    "nnv12": "nnv12",
    "ort": "ONNX Runtime",
    "ort-blocking": "ONNX Runtime, `allow_spinning=0`",
}
ORDERS = {
    "all": "one after the other, at each time",
    "next": "a time for each in turn",
}
MB = 1e6
# Percent of CPU time beyond the loop, and ratios.
BEYOND, TWO_THREADS, TOGETHER = 3, 1.05, 1.05


def _number(value, digits=3):
    """With so many digits that count, and at most as many behind the point."""
    if value is None:
        return "–"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return f"{value:.{max(0, digits - whole)}f}"


def _cell(samples, digits=3):
    """median ± noise"""
    found = figure(samples or [])
    if not found:
        return "–"
    return (
        f"{_number(found['median'], digits)} ± "
        f"{_number(found['noise'], digits)}"
    )


def _percent(samples):
    found = figure(samples or [])
    if not found:
        return "–"
    return f"{found['median']:+.1f} % ± {found['noise']:.1f}"


def _median(samples):
    found = figure(samples or [])
    return found and found["median"]


class _Figures:
    def __init__(self, note):
        self.note = note

    def of(self, part):
        return [f for f in self.note["figures"] if f["part"] == part]

    def values(self, name, **keys):
        """A value of each sample of a figure; None where there is no such
        figure or value."""
        for found in self.note["figures"]:
            if all(found.get(k) == v for k, v in keys.items()):
                values = [s.get(name) for s in found["samples"]]
                return None if None in values or not values else values
        return None

    def a_minute(self, nanoseconds):
        """CPU seconds of a minute, from the nanoseconds of each run."""
        scale = self.note["hertz"] * 60 / 1e9
        return nanoseconds and [n * scale for n in nanoseconds]


def _ratios(over, under):
    """Turn by turn; None where one of them is missing."""
    if not over or not under:
        return None
    return [a / b for a, b in zip(over, under)]


def _percents(ratios):
    """Percent above 1."""
    return ratios and [100 * (r - 1) for r in ratios]


def _pace(figures, limits):
    rows = []
    order = list(figures.note["models"])
    # Each model's rows together.
    for found in sorted(
        figures.of("pace"), key=lambda f: order.index(f["model"])
    ):
        model, engine, threads = (
            found[k] for k in ("model", "engine", "threads")
        )
        keys = {"part": "pace", "model": model, "engine": engine}
        cpu = figures.values("cpu", threads=threads, **keys)
        evicted = figures.values("evicted", threads=threads, **keys)
        beyond = _percents(_ratios(cpu, evicted))
        one = figures.values("cpu", threads=1, **keys)
        more = None if threads == 1 else _ratios(cpu, one)
        process = "nnv12" if engine == "nnv12" else "ort"
        waits = figures.values("cpu", part="waits", engine=process)
        runs = waits and [a - b for a, b in zip(cpu, waits)]
        own = _percents(_ratios(runs, evicted))
        wall = [t / 1e6 for s in found["samples"] for t in s["wall"]]
        seconds = figures.a_minute(cpu)
        rows.append(
            [
                model,
                ENGINES[engine],
                str(threads),
                _cell(seconds),
                _number(p90(seconds)),
                _number(_median(figures.a_minute(waits))),
                _cell(figures.a_minute(evicted)),
                _percent(beyond),
                _percent(own),
                _cell(more),
                _number(_median(wall)),
                _number(p90(wall)),
            ]
        )
        # Limits are for a model of about a millisecond.
        if engine != "nnv12" or model != order[0]:
            continue
        plural = "s" if threads > 1 else ""
        who = f"{model}, {threads} thread{plural}"
        limits.add(
            f"CPU time beyond the loop that evicts caches, %, {who}",
            _median(beyond),
            BEYOND,
        )
        limits.add(
            f"the same without the process's own waits, %, {who}",
            _median(own),
            BEYOND,
        )
        if threads == 2:
            limits.add(
                f"CPU time, 2 threads / 1, {model}", _median(more), TWO_THREADS
            )
    columns = [
        "model",
        "engine",
        "threads",
        "CPU s a minute",
        "p90",
        "waits alone",
        "loop, caches evicted",
        "beyond the loop",
        "without waits",
        "/ 1 thread",
        "a run takes, ms",
        "p90",
    ]
    return rows and table(columns, rows, "llr" + "r" * 9)


def _together(figures, limits):
    rows = []
    for found in figures.of("together"):
        engine, threads, order = (
            found[k] for k in ("engine", "threads", "order")
        )
        each = [
            figures.values(
                "cpu", part="pace", engine=engine, threads=threads, model=model
            )
            for model in figures.note["models"]
        ]
        if None in each:
            continue
        total = [sum(turn) for turn in zip(*each)]
        cpu = [s["cpu"] for s in found["samples"]]
        ratio = _ratios(cpu, total)
        rows.append(
            [
                ENGINES[engine],
                str(threads),
                ORDERS[order],
                _cell(figures.a_minute(total)),
                _cell(figures.a_minute(cpu)),
                _cell(ratio),
            ]
        )
        if engine == "nnv12":
            plural = "s" if threads > 1 else ""
            limits.add(
                f"CPU time of {len(each)} models in turn / sum of each, "
                f"{ORDERS[order]}, {threads} thread{plural}",
                _median(ratio),
                TOGETHER,
            )
    columns = [
        "engine",
        "threads",
        "runs",
        "each alone, sum, CPU s a minute",
        "together",
        "together / sum",
    ]
    return rows and table(columns, rows, "lrlrrr")


def _many(figures, limits):
    rows, count = [], figures.note["count"]
    for found in figures.of("sessions"):
        engine, threads = found["engine"], found["threads"]
        keys = {"engine": engine, "threads": threads}

        def median(part, name):
            return _median(figures.values(name, part=part, **keys))

        def megabytes(part, name, share=1):
            value = median(part, name)
            return "–" if value is None else _number(value / share / MB)

        def idle(part):
            """Milliseconds of CPU time a minute."""
            value = median(part, "idle")
            return "–" if value is None else _number(value * 60 / 1e6)

        def closed(name):
            extra = median("sessions", f"threads_{name}")
            return f"{megabytes('sessions', name)}, {extra:+.0f}"

        rows.append(
            [
                ENGINES[engine],
                str(threads),
                megabytes("sessions", "alone"),
                megabytes("sessions", "one"),
                megabytes("sessions", "all", count),
                f"{median('sessions', 'threads_all'):+.0f}",
                megabytes("processes", "alone"),
                megabytes("processes", "all"),
                idle("sessions"),
                idle("processes"),
                closed("closed"),
                closed("closed_again"),
            ]
        )
    columns = [
        "engine",
        "threads",
        "process, MB",
        "a session adds",
        f"{count} sessions add, each",
        "threads",
        f"{count} processes, MB each",
        "a session adds, each",
        "idle sessions, CPU ms a minute",
        "idle processes",
        "after close, MB, threads",
        "after 10 times more",
    ]
    return rows and table(columns, rows, "lr" + "r" * 10)


SECTIONS = [
    ("A model now and then", _pace),
    ("Models in turn", _together),
    ("Many sessions, many processes", _many),
]


def report(note):
    """The Markdown text, and how many limits were missed."""
    limits, figures = Limits(note["cores"]), _Figures(note)
    options = (
        f"`{' '.join(note['compile'])}`" if note["compile"] else "defaults"
    )
    models = ", ".join(
        f"{n} ({_number(t)} ms)" for n, t in note["models"].items()
    )
    lines = [
        f"{note['cpu']}, {note['cores']} CPUs; "
        f"ONNX Runtime {note['peer'] or 'not there'}; "
        f"{note['hertz']:g} Hz; {note['turns']} turns, together "
        f"{note['seconds']:g} s a figure; compiled with {options}; caches of "
        f"{note['evict']} MB evicted; load before {note['load_before']:.2f}; "
        f"{note['time']}.",
        f"Models, with the time of a run at once behind another one, on one "
        f"thread: {models}.",
        "Cells: median ± noise.",
    ]
    lines = ["\n".join(textwrap.wrap(line, 120)) for line in lines]
    for title, make in SECTIONS:
        text = make(figures, limits)
        if text:
            lines += [f"### {title}", text]
    return finished(lines, limits, note)
