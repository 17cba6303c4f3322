"""The tables of DeepCache's paper beside ours, as Markdown.

For `tools/measure-video`. A result is one that test/video/simulate.py writes: a
network on a clip. Numbers of the paper are quoted from its text and tables.
"""
import statistics
import textwrap

# Names that our pages have for clips.
CLIPS = {
    "still_vtest_384x288": "people, still",
    "still_tree_320x240": "tree, still",
    "street_bikes_320x136": "street, cuts",
    "carphone_176x144": "man in a car",
    "made_turns": "made, turns",
    "made_still": "made, still",
}
SEARCHES = ["none", "ES", "TSS", "DS", "DS, k = 2"]
WORDS = {
    "none": "at its place (like DeepMon)",
    "ES": "exhaustive (ES)",
    "TSS": "three steps (TSS)",
    "DS": "diamond (DS)",
    "DS, k = 2": "DS, k = 2, errors kept",
}
BEST = "DeepCache DS, k = 2 20 dB 10 full 10"
NONE = "DeepCache none 20 dB 10 full 10"
OURS = "reuse 40 dB 0.02 full 10"


def table(heads, rows):
    """The first column is text, the others are numbers."""
    lines = ["| " + " | ".join(heads) + " |"]
    lines.append("|---|" + "---:|" * (len(heads) - 1))
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def prose(*sentences):
    """Lines as wide as those of our pages."""
    return textwrap.wrap(
        " ".join(sentences), 120, break_long_words=False, break_on_hyphens=False
    )


def clip_name(stem):
    return CLIPS.get(stem, stem)


def percent(share):
    return f"{100 * share:.0f} %"


def number(x):
    return f"{x:.2f}" if x < 10 else f"{x:.0f}"


def pair(figures):
    worst = figures["worst"]
    text = f"{worst:.2g}" if worst < 10 else f"{worst:.0f}"
    return f"{figures['age']:.2f}; {text}"


def named(result):
    return {row["name"]: row for row in result["rows"]}


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def networks(results):
    """By network: its results, one a clip, in order."""
    found = {}
    for result in results:
        found.setdefault(result["network"], []).append(result)
    return found


def matching(found, conditions):
    """Table 4. `found`: by clip and search, lists of matched and ms."""
    theirs = {
        "none": ("46.1 %", "4.7 ± 0.7"),
        "ES": ("71.5 %", "33.3 ± 13.2"),
        "TSS": ("70.8 %", "24.7 ± 9.4"),
        "DS": ("71.2 %", "19.5 ± 6.5"),
        "DS, k = 2": ("69.5 %", "9.7 ± 2.6"),
    }
    clips = list(found)
    heads = ["search", "theirs: matched", "ms"]
    heads += ["ours, ms: median; p90"] + [clip_name(c) for c in clips]
    rows = []
    for search in SEARCHES:
        times = sorted(t for c in clips for t in found[c][search]["ms"])
        late = times[-(-9 * len(times) // 10) - 1]
        rows.append(
            [
                WORDS[search],
                *theirs[search],
                f"{statistics.median(times):.2f}; {late:.2f}",
                *(percent(mean(found[c][search]["matched"])) for c in clips),
            ]
        )
    return [
        "### Table 4: matching",
        "",
        *prose(*conditions),
        "",
        *table(heads, rows),
    ]


def saving(results):
    """Figures 10 and 11."""
    clips = [r["clip"] for r in next(iter(networks(results).values()))]
    heads = ["network", "no search: mean", "search: mean"]
    heads += [f"search: {clip_name(c)}" for c in clips]
    rows, means = [], {NONE: [], BEST: []}
    for network, found in networks(results).items():
        saved = {
            name: [named(r)[name]["saved"] for r in found]
            for name in (NONE, BEST)
        }
        for name in means:
            means[name] += saved[name]
        rows.append(
            [network]
            + [percent(mean(saved[n])) for n in (NONE, BEST)]
            + [percent(s) for s in saved[BEST]]
        )
    rows.append(
        ["mean", percent(mean(means[NONE])), percent(mean(means[BEST]))]
        + ["" for _ in clips]
    )
    return [
        "### Figures 10 and 11: saved, by network and by clip",
        "",
        *prose(
            "Theirs: 18.2 % of the time on average with DeepCache, 8.9 % "
            "with DeepMon: AlexNet 28.1 and 13.1 %, GoogLeNet 19.7 and "
            "10.2 %, YOLO 14.2 % with DeepCache. At best 47.1 % (AlexNet, "
            "billiards), at worst 3.8 % (ResNet-50, a marching band). "
            "Ours:"
        ),
        "",
        *table(heads, rows),
    ]


def ages(results):
    """Answers beside those of skipped frames; no figure has them."""
    heads = ["network", "clip", "noise", "no search: saved", "age; worst"]
    heads += ["skipping", "search: saved", "age; worst", "skipping"]
    heads += ["40 dB, 0.02: saved", "age; worst", "skipping"]
    rows = []
    for network, found in networks(results).items():
        for result in found:
            row = named(result)
            cells = [network, clip_name(result["clip"])]
            cells.append(f"{row['noise']['age']:.2f}")
            for name in (NONE, BEST, OURS):
                cells += [
                    percent(row[name]["saved"]),
                    pair(row[name]),
                    pair(row[name]["skip"]),
                ]
            rows.append(cells)
    return [
        "### The age of answers, beside skipping frames",
        "",
        *prose(
            "Theirs compares no answers with those of frames that are "
            "skipped."
        ),
        "",
        *table(heads, rows),
    ]


def searches(results):
    """Each search in the networks: figures 10 and 14 for all of table 4."""
    heads = ["search", "matched", "frames that move", "saved", "age"]
    heads += ["skipping's age"]
    clips = list(dict.fromkeys(r["clip"] for r in results))
    rows = []
    for clip in clips:
        here = [named(r) for r in results if r["clip"] == clip]
        for search in SEARCHES:
            picked = [r[f"DeepCache {search} 20 dB 10 full 10"] for r in here]
            rows.append(
                [
                    f"{clip_name(clip)}: {WORDS[search]}",
                    percent(mean(r["matched"] for r in picked)),
                    percent(mean(r["moved"] for r in picked)),
                    percent(mean(r["saved"] for r in picked)),
                    number(mean(r["age"] for r in picked)),
                    number(mean(r["skip"]["age"] for r in picked)),
                ]
            )
    return [
        "### Each search in the networks, means of all networks",
        "",
        *prose("Theirs: matched as in table 4; no other figures by search."),
        "",
        *table(heads, rows),
    ]


def depth(results):
    """Figure 12."""
    heads = ["network", "first quarter", "second", "third", "last"]
    rows = []
    for network, found in networks(results).items():
        sums = [[0.0, 0.0] for _ in range(4)]
        for result in found:
            done, total = 0, sum(result["work"])
            for work, saved in zip(
                result["work"], named(result)[BEST]["layers"]
            ):
                part = sums[min(3, int(4 * (done + work / 2) / total))]
                part[0] += work * saved
                part[1] += work
                done += work
        rows.append([network] + [percent(a / b) if b else "–" for a, b in sums])
    return [
        "### Figure 12: saved, by depth",
        "",
        *prose(
            "Theirs: the gain comes from the first layers. GoogLeNet's "
            "third convolution, 165 ms, saves 90.2 ms (55 %). Ours, by "
            "quarters of the multiply-adds in order, with the search, "
            "mean of the clips:"
        ),
        "",
        *table(heads, rows),
    ]


def classes(results):
    """Figure 13."""
    heads = ["network", "clip", "noise: top-1; top-3", "no search", "skipping"]
    heads += ["search", "skipping", "40 dB, 0.02", "skipping"]
    rows = []

    def both(figures):
        return f"{percent(figures['top1'])}; {percent(figures['top3'])}"

    for network, found in networks(results).items():
        for result in found:
            row = named(result)
            if "top1" not in row["noise"]:
                continue
            cells = [network, clip_name(result["clip"]), both(row["noise"])]
            for name in (NONE, BEST, OURS):
                cells += [both(row[name]), both(row[name]["skip"])]
            rows.append(cells)
    return [
        "### Figure 13: classes",
        "",
        *prose(
            "Theirs: at most 3 % less top-1 accuracy and 1.5 % less "
            "top-3, of 62.8 and 76.1 %. Our clips have no labels. Ours: "
            "frames whose first class is another one than plain's; whose "
            "first three classes lack plain's first:"
        ),
        "",
        *table(heads, rows),
    ]


def squares(results):
    """Figure 14."""
    heads = ["network", "clip", "frame before", "noise", "no search"]
    heads += ["skipping", "search", "skipping", "40 dB, 0.02"]
    rows = []
    for network, found in networks(results).items():
        for result in found:
            row = named(result)
            if "top1" in row["noise"]:
                continue
            cells = [network, clip_name(result["clip"])]
            cells += [f"{x['mse']:.2g}" for x in (result["last"], row["noise"])]
            for name in (NONE, BEST):
                cells += [
                    f"{row[name]['mse']:.2g}",
                    f"{row[name]['skip']['mse']:.2g}",
                ]
            rows.append(cells + [f"{row[OURS]['mse']:.2g}"])
    return [
        "### Figure 14: mean squared error",
        "",
        *prose(
            "Theirs: median 0.00166 (YOLO) and 2.617 (steering, in "
            "degrees), DeepMon 0.00164 and 2.017. The scale is that of "
            "the outputs, so that a number says something beside others "
            "of its row alone. Ours, medians of the frames:"
        ),
        "",
        *table(heads, rows),
    ]


def parameters(results):
    """Figures 16 and 17, and the number of frames between plain ones."""
    settings = [
        (
            "threshold",
            [
                (f"{db} dB", f"{db} dB 10 full 10")
                for db in (10, 15, 20, 25, 30)
            ],
        ),
        (
            "block",
            [(f"{n} pixels", f"20 dB {n} full 10") for n in (5, 8, 10, 15, 20)],
        ),
        (
            "plain",
            [
                (
                    f"one of {n} frames" if n else "the first alone",
                    f"20 dB 10 full {n or 'never'}",
                )
                for n in (2, 5, 10, 20, 0)
            ],
        ),
    ]
    lines = [
        "### Figures 16 and 17: threshold, blocks, and plain frames",
        "",
        *prose(
            "Theirs (GoogLeNet, basketball): 20 dB saves 18.3 % (917 to "
            "748 ms) and loses 2.1 % of top-1; higher thresholds save "
            "less and lose less. Larger blocks save more and lose more; "
            "one pixel saves 2.19 % and loses 0.2 %. No figure has other "
            "numbers than 10 of frames between plain ones. Ours: saved, "
            "age (age of skipping), by clip:"
        ),
    ]
    for network, found in networks(results).items():
        heads = [network] + [clip_name(r["clip"]) for r in found]
        rows = []
        for what, values in settings:
            for title, name in values:
                picked = [
                    named(r)[f"DeepCache DS, k = 2 {name}"] for r in found
                ]
                rows.append(
                    [f"{what}: {title}"]
                    + [
                        f"{percent(r['saved'])}, {number(r['age'])} "
                        f"({number(r['skip']['age'])})"
                        for r in picked
                    ]
                )
        lines += ["", *table(heads, rows)]
    return lines


def work(found):
    """Table 1. `found`: by network, microseconds by kind of layer."""
    kinds = ["conv", "fc", "pool", "rest"]
    heads = ["network", "convolutions", "fully connected", "pooling", "rest"]
    rows = [
        ["theirs: AlexNet, ncnn", "77.9 %", "7.1 %", "12.1 %", "2.9 %"],
        ["theirs: GoogLeNet, ncnn", "78.8 %", "0.7 %", "8.6 %", "11.9 %"],
        ["theirs: ResNet-50, ncnn", "93.7 %", "4.9 %", "0.8 %", "0.6 %"],
        ["theirs: YOLO, ncnn", "84.1 %", "12.2 %", "2.6 %", "1.1 %"],
        ["theirs: Dave-orig, ncnn", "62.7 %", "25.9 %", "5.8 %", "5.6 %"],
    ]
    for network, times in found.items():
        total = sum(times.values())
        rows.append(
            [network]
            + [f"{100 * times.get(k, 0) / total:.1f} %" for k in kinds]
        )
    return [
        "### Table 1: time by kinds of layers",
        "",
        *prose(
            "Activations are the rest in their rows; we compute them with "
            "the convolution before."
        ),
        "",
        *table(heads, rows),
    ]


def memory(found):
    """Figure 18. `found`: by network, MB of convolutions and of a session."""
    heads = ["network", "results of convolutions, MB"]
    heads += ["values that `--video exact` keeps, MB"]
    rows = [
        [network, f"{a:.1f}" if a else "–", f"{b:.1f}"]
        for network, (a, b) in found.items()
    ]
    return [
        "### Figure 18: memory",
        "",
        *prose(
            "Theirs: 2.5 to 43.8 MB more, as only results of convolutions "
            "stay. Ours:"
        ),
        "",
        *table(heads, rows),
    ]
