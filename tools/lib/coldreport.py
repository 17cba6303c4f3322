"""The tables of measure-cold: Markdown, and each limit with its figure."""
import statistics

from nnv12measure import figure, geometric_mean, p90

MB = 1e6
PLANS = ["none", "K", "K+C", "K+C+P"]
PEERS = ["ORT default", "ORT mapped", "ORT noprepack", "ORT prepacked"]


def _ms(value):
    if value is None:
        return "–"
    return (
        f"{value:.0f}"
        if value >= 1000
        else f"{value:.1f}"
        if value >= 10
        else f"{value:.2f}"
    )


def _cell(samples):
    """median ± noise (least)"""
    found = figure(samples)
    return (
        f"{_ms(found['median'])} ± {_ms(found['noise'])} ({_ms(found['min'])})"
        if found
        else "–"
    )


def _ratio(value):
    return "–" if value is None else f"{value:.2f}"


def _median(samples):
    found = figure(samples)
    return found["median"] if found else None


class Limits:
    """Limits that must hold, each with the figure that was found."""

    def __init__(self, cpus):
        self.cpus = cpus  # of the machine
        self.rows = []

    def add(self, what, found, limit, text=None, least=False):
        if found is None:
            return
        good = found >= limit if least else found <= limit
        self.rows.append(
            (
                what,
                f"{'≥' if least else '≤'} {limit:g}",
                text or f"{found:.2f}",
                good,
            )
        )

    @property
    def missed(self):
        return sum(not row[3] for row in self.rows)

    def table(self):
        return table(
            ["must hold", "limit", "found", ""],
            [
                [what, limit, found, "ok" if good else "**fell short**"]
                for what, limit, found, good in self.rows
            ],
            "lrrl",
        )


def finished(lines, limits, note):
    """The report of these paragraphs: behind them the limits, and a line for
    each thing that was not measured. And how many limits were missed."""
    if limits.rows:
        lines = [*lines, "### Limits", limits.table()]
    skipped = note["skipped"].items()
    lines = [*lines, *(f"{what} not measured: {why}" for what, why in skipped)]
    return "\n\n".join(lines), limits.missed


def table(columns, rows, align=None):
    align = align or "l" + "r" * (len(columns) - 1)
    lines = [
        "| " + " | ".join(columns) + " |",
        "|" + "|".join("---:" if a == "r" else "---" for a in align) + "|",
    ]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _cold(turns, name="cold", stage="in-process"):
    return [s[stage] for s in turns["samples"].get(name, [])]


def _warm(turns, name="cold"):
    """The warm time of each round."""
    return [
        statistics.median(s["warm"])
        for s in turns["samples"].get(name, [])
        if "warm" in s
    ]


def progress(row):
    turns = row.get("turns", {"samples": {}})
    text = f"{row['model']:28} {row['threads']} thr."
    for name in ("floor", "cold", "untuned", "beside peers", *PEERS):
        samples = turns["samples"].get(name)
        if samples:
            values = samples if name == "floor" else _cold(turns, name)
            text += f"  {name} {_ms(_median(values))}"
    parts = [p for p in row if p not in ("model", "threads", "turns")]
    return text + ("  " + ", ".join(parts) if parts else "")


class _Ratios:
    """Ratios of all models, for the limits."""

    def __init__(self):
        self.rows = {}

    def add(self, what, model, over, under):
        """The ratio, if there are both."""
        if not over or not under:
            return None
        self.rows.setdefault(what, []).append((over / under, model))
        return over / under

    def limits(self, limits, what, text, mean=None, worst=None):
        found = self.rows.get(what, [])
        if found and mean:
            limits.add(
                f"{text}, geometric mean",
                geometric_mean(r for r, _ in found),
                mean,
            )
        if found and worst:
            ratio, model = max(found)
            limits.add(f"{text}, worst", ratio, worst, f"{ratio:.2f} ({model})")


def _memory(turns, more):
    """Peak memory and its limit, of the cold run that is nearest to it. The
    limit is bundle, arena, 8 MB and `more`, a function of the bundle's note."""

    def pair(sample):
        note = turns["bundles"][sample["sitting"]]
        return sample["peak"], note["bundle"] + note["arena"] + 8 * MB + more(
            note
        )

    return max(map(pair, turns["samples"]["cold"]), key=lambda p: p[0] / p[1])


def _floor(rows, threads, limits):
    cells, ratios, process, peak, bare = [], _Ratios(), [], [], []
    right, predicted = 0, 0
    for row in rows:
        turns = row["turns"]
        floor, cold, warm = (
            turns["samples"].get("floor", []),
            _cold(turns),
            _warm(turns),
        )
        if not cold or not warm:
            continue
        least = max(_median(floor) or 0, _median(warm))
        ratio = ratios.add("floor", row["model"], _median(cold), least)
        added = _median(
            [s["process"] - s["in-process"] for s in turns["samples"]["cold"]]
        )
        # Added memory is a small part of other models' time.
        if _median(cold) < 5:
            process.append(added)
        # Each sitting has a bundle of its own.
        used, allowed = _memory(
            turns, lambda note: note["prepared"] + note["buffers"]
        )
        peak.append(used / allowed)
        bare_used, bare_allowed = _memory(turns, lambda note: 0)
        bare.append(bare_used / bare_allowed)
        guess = _median([note["predicted_cold"] for note in turns["bundles"]])
        if guess:
            predicted += 1
            right += abs(guess / _median(cold) - 1) <= 0.15
        cells.append(
            [
                row["model"],
                _cell(floor),
                _cell(warm),
                _cell(cold),
                _ratio(ratio),
                f"+{_ms(added)}",
                f"{used / MB:.1f} / {allowed / MB:.1f}",
                _ms(guess) if guess else "–",
                _ratio(guess / _median(cold)) if guess else "–",
            ]
        )
    if not cells:
        return ""
    who = f"{threads} thr."
    ratios.limits(
        limits, "floor", f"cold / max(floor, warm), memory ready, {who}", 1.25
    )
    if process:
        limits.add(
            f"whole process adds, ms, models below 5 ms, largest median, {who}",
            max(process),
            1.2,
        )
    limits.add(
        "peak memory / (bundle + arena + prepared + inputs and outputs + 8 MB),"
        f" largest, {who}",
        max(peak),
        1,
    )
    limits.add(
        f"peak memory / (bundle + arena + 8 MB), largest, {who}", max(bare), 1
    )
    if predicted:
        limits.add(
            f"models predicted within 15 %, {who}",
            100 * right / predicted,
            80,
            f"{100 * right / predicted:.0f} % of {predicted}",
            least=True,
        )
    return table(
        [
            "model",
            "floor",
            "warm",
            "cold",
            "cold / max",
            "process",
            "peak MB / allowed",
            "predicted",
            "predicted / cold",
        ],
        cells,
    )


def _users(rows, threads, limits):
    cells, ratios = [], _Ratios()
    for row in rows:
        turns, model = row["turns"], row["model"]
        cold, alone = _cold(turns, "untuned"), _cold(turns, "untuned, alone")
        if not cold or not alone:
            continue
        median, tuned = _median(cold), _median(_cold(turns, "tuned"))
        cpu, cpu_alone = (
            _median(_cold(turns, name, "CPU time"))
            for name in ("untuned", "untuned, alone")
        )
        floor = _median(turns["samples"].get("floor, untuned", []))
        warm = _median(_warm(turns, "untuned"))
        # The spread that runs without preparation threads have as well is not
        # the plan's.
        if median > 5:
            spread = 1.1 / 1.25 * p90(alone) / _median(alone)
            ratios.add("p90", model, p90(cold) / median, max(1, spread))
        cells.append(
            [
                model,
                _cell(cold),
                _ms(p90(cold)),
                _ms(cpu),
                _ms(floor),
                _ms(warm),
                _ratio(
                    ratios.add(
                        "least",
                        model,
                        median,
                        floor and warm and max(floor, warm),
                    )
                ),
                _ms(_median(alone)),
                _ms(p90(alone)),
                _ratio(ratios.add("lanes", model, median, _median(alone))),
                _ratio(ratios.add("cpu", model, cpu, cpu_alone)),
                _ms(_median(_cold(turns, "untuned, backed"))),
                _ms(tuned),
                _ratio(ratios.add("tuned", model, tuned, median)),
            ]
        )
    if not cells:
        return ""
    who = f"{threads} thr."
    ratios.limits(
        limits, "least", f"cold, untuned / max(floor, warm), {who}", 1.12, 1.6
    )
    ratios.limits(limits, "tuned", f"cold, tuned / untuned, {who}", 0.97, 1.05)
    ratios.limits(
        limits,
        "lanes",
        f"cold, with preparation threads / without, {who}",
        0.85 if limits.cpus > threads else 0.97,
        1.03,
    )
    ratios.limits(
        limits,
        "p90",
        f"cold, p90 / median, or as much over 1.1 x the same without "
        f"preparation threads, {who}",
        worst=1.25,
    )
    ratios.limits(
        limits,
        "cpu",
        f"CPU time, with preparation threads / without, {who}",
        1.15,
    )
    return table(
        [
            "model",
            "untuned",
            "p90",
            "CPU time",
            "floor",
            "warm",
            "cold / max",
            "no preparation threads",
            "p90",
            "with / without",
            "CPU, with / without",
            "memory ready",
            "tuned",
            "tuned / untuned",
        ],
        cells,
    )


def _peers(rows, threads, limits):
    cells, ratios = [], _Ratios()
    for row in rows:
        turns, model = row["turns"], row["model"]
        cold = _cold(turns, "beside peers")
        peers = {
            name: _median(_cold(turns, name))
            for name in PEERS
            if _cold(turns, name)
        }
        if not cold or not peers:
            continue
        best = min(peers.values())
        cells.append(
            [
                model,
                _cell(cold),
                *(_ms(peers.get(name)) for name in PEERS),
                _ratio(ratios.add("best", model, _median(cold), best)),
            ]
        )
    if not cells:
        return ""
    ratios.limits(
        limits,
        "best",
        f"cold, untuned / best of ORT's forms, {threads} thr.",
        0.36 if threads == 1 else 0.42,
        0.65,
    )
    return table(
        ["model", "ours, untuned", *PEERS, "untuned / best ORT"], cells
    )


def _warm_table(rows, threads, limits):
    cells, ratios = [], []
    for row in rows:
        ours, theirs = row["warm"]["ours"], row["warm"]["ORT"]
        ratio = _median(ours) / _median(theirs)
        ratios.append(ratio)
        cells.append([row["model"], _cell(ours), _cell(theirs), _ratio(ratio)])
    limits.add(
        f"warm, continuous mode / ORT, geometric mean, {threads} thr.",
        geometric_mean(ratios),
        0.9,
    )
    return table(["model", "ours", "ORT", "ratio"], cells)


def _ablation(rows, threads, limits):
    cells = []
    for row in rows:
        turns = row["turns"]
        columns = [_cold(turns, f"plan {p}") for p in PLANS[:-1]] + [
            _cold(turns)
        ]
        if not any(columns[:-1]):
            continue
        first, last = _median(columns[0]), _median(columns[-1])
        cells.append(
            [
                row["model"],
                *map(_cell, columns),
                _ratio(first / last if first else None),
            ]
        )
    return cells and table(["model", *PLANS, "none / K+C+P"], cells)


def _continuous(rows, threads, limits):
    cells, second, steady = [], [], []
    for row in rows:
        part = row["continuous"]
        run = lambda name, first, last: [
            statistics.median(r[first:last]) for r in part[name]
        ]
        one, two, three, later = (
            run("continuous", *r) for r in ((0, 1), (1, 2), (2, 5), (5, None))
        )
        # The same runs of a process of the same age: early ones are slower in
        # any. The third to the fifth, since later ones would hide a slow third.
        warm_two, warm_three, warm_later = (
            run("warm-only", *r) for r in ((1, 2), (2, 5), (5, None))
        )
        second.append(_median(two) / _median(warm_two))
        steady.append(_median(three) / _median(warm_three))
        cells.append(
            [
                row["model"],
                *map(_cell, (one, two, three, later)),
                *(_ms(_median(w)) for w in (warm_two, warm_three, warm_later)),
                _ratio(second[-1]),
                _ratio(steady[-1]),
            ]
        )
    limits.add(
        f"run 2 / warm-only's, geometric mean, {threads} thr.",
        geometric_mean(second),
        1.1,
    )
    limits.add(
        f"runs 3 to 5 / warm-only's, geometric mean, {threads} thr.",
        geometric_mean(steady),
        1.03,
    )
    return table(
        [
            "model",
            "run 1",
            "run 2",
            "runs 3 to 5",
            "runs 6 to 13",
            "warm-only, 2",
            "warm-only, 3 to 5",
            "warm-only, 6 to 13",
            "2 / 2",
            "3–5 / 3–5",
        ],
        cells,
    )


def _throttled(rows, threads, limits):
    rates = list(rows[0]["throttled"]["rates"])
    cells, ratios, fewer, large = [], {rate: [] for rate in rates}, 0, 0
    for row in rows:
        line = [row["model"]]
        for rate in rates:
            part = row["throttled"]["rates"][rate]
            note, samples = part["bundle"], part["samples"]
            if len(line) == 1:
                line.append(f"{note['model'] / MB:.2f}")
            # In smaller files, headers and page alignment weigh more than
            # weights.
            if note["model"] > MB:
                large += 1
                fewer += note["bundle"] < note["model"]
            read, cold, warm = (
                _median([s[k] for s in samples])
                for k in ("read", "cold", "warm")
            )
            # The limiter lets a tenth of a second's bytes through at once.
            small = note["bundle"] / MB / float(rate) < 0.2
            computes = warm > read
            if not small and not computes:
                ratios[rate].append(cold / read)
            line += [
                f"{note['bundle'] / MB:.2f}",
                _ratio(note["bundle"] / note["model"]),
                _ms(read),
                _ms(cold),
                _ratio(cold / read)
                + (" †" if small else " *" if computes else ""),
            ]
        cells.append(line)
    for rate in rates:
        limits.add(
            f"cold / reading at {rate} MB/s, geometric mean where storage sets "
            f"the bound, {threads} thr.",
            geometric_mean(ratios[rate]),
            1.05,
        )
    if large:
        limits.add(
            "bundles smaller than the model's file, %, models above 1 MB, "
            f"{threads} thr.",
            100 * fewer / large,
            100,
            f"{fewer} of {large}",
            least=True,
        )
    heads = [
        h
        for rate in rates
        for h in (
            f"bundle MB, {rate} MB/s",
            "/ ONNX",
            f"read, {rate} MB/s",
            f"cold, {rate} MB/s",
            "cold / read",
        )
    ]
    return table(["model", "ONNX MB", *heads], cells) + (
        "\n\nPlanned with `--storage-mbps`. "
        "\\* computing takes longer than reading, so storage sets no bound. "
        "† so few bytes that the limiter lets them through at once."
    )


def _load(rows, threads, limits):
    ways = list(rows[0]["load"])
    cells, worst = [], {}
    for row in rows:
        line = [row["model"]]
        for way in ways:
            base = None
            for load, samples in row["load"][way].items():
                median = _median(samples)
                base = base or median
                line.append(
                    _cell(samples)
                    if base == median
                    else f"{_cell(samples)}, {median / base:.2f}x"
                )
                if int(load) and way == "stealing":
                    worst.setdefault(int(load), []).append(median / base)
        cells.append(line)
    for load, ratios in worst.items():
        limits.add(
            f"one core {load} % busy / undisturbed, geometric mean, "
            f"{threads} thr.",
            geometric_mean(ratios),
            1.5,
        )
    heads = [
        f"{way}, {load} %" for way in ways for load in rows[0]["load"][way]
    ]
    return table(["model", *heads], cells)


def _table4(rows, threads, limits):
    cells = []
    for row in rows:
        note = row["table4"]
        stages = note["compile"]
        plan = sum(
            ms
            for name, ms in stages.items()
            if any(w in name for w in ("plan", "select", "schedule"))
        )
        tune = sum(
            ms
            for name, ms in stages.items()
            if "tun" in name or name == "costs"
        )
        cells.append(
            [
                row["model"],
                f"{note['model'] / MB:.2f}",
                f"{note['bundle'] / MB:.2f}",
                f"{(note['bundle'] - note['model']) / MB:+.2f}",
                f"{note['prepared'] / MB:.2f}",
                _ms(plan) if plan else "–",
                _ms(tune) if tune else "–",
                _ms(stages["all"]),
            ]
        )
    return table(
        [
            "model",
            "ONNX MB",
            "bundle MB",
            "overhead MB",
            "prepared MB",
            "planning ms",
            "tuning ms",
            "compile ms",
        ],
        cells,
    )


# Title, where a row has its samples, and the table's function.
SECTIONS = [
    ("floor", "Cold against floor and warm, ms", "turns", _floor),
    ("users", "Cold as users meet it, ms", "turns", _users),
    ("peers", "Cold against ONNX Runtime, ms", "turns", _peers),
    (
        "warm",
        "Warm in continuous mode against ONNX Runtime, ms",
        "warm",
        _warm_table,
    ),
    (
        "ablation",
        "Ablation: cold by what the plan may do, ms",
        "turns",
        _ablation,
    ),
    (
        "continuous",
        "Continuous mode: run by run, ms",
        "continuous",
        _continuous,
    ),
    ("throttled", "Slow storage, ms", "throttled", _throttled),
    ("load", "A busy core: cold, ms", "load", _load),
    ("table4", "Storage overhead and planning", "table4", _table4),
]


def report(note):
    """The Markdown text, and how many limits were missed."""
    limits = Limits(note["cores"])
    lines = [
        f"{note['cpu']}, {note['cores']} CPUs; "
        f"ONNX Runtime {note['peer'] or 'not there'}; "
        f"{note['rounds']} rounds; "
        f"compiled with `{' '.join(note['compile'])}`; "
        f"load before {note['load_before']:.2f}; {note['time']}.",
        "Cells: median ± noise (least).",
    ]
    for part, title, where, make in SECTIONS:
        if part not in note["parts"]:
            continue
        for threads in dict.fromkeys(row["threads"] for row in note["rows"]):
            rows = [
                row
                for row in note["rows"]
                if row["threads"] == threads and where in row
            ]
            text = rows and make(rows, threads, limits)
            if text:
                plural = "s" if threads > 1 else ""
                lines += [f"### {title}, {threads} thread{plural}", text]
    return finished(lines, limits, note)
