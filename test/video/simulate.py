#!/usr/bin/python3
"""Tells the work that frames of a video share, and the age of answers that
reuse it.

Simulates DeepCache's idea and ours on networks and clips, exactly in f32 but
without saving any time: docs/results/video.md has the figures. Needs PyTorch
(Debian: python3-torch; a GPU is used where there is one), python3-onnx and
python3-numpy.

Each frame runs
  plain          all of it, for comparison
  noise          all of it, with -1, 0 or +1 levels added to each pixel
  reuse T, t, N  the reference picture takes cells of 8x8 pixels that differ by
                 more than T dB (255 levels are 0 dB); each convolution's result
                 keeps its old value at a pixel where it differs by at most t
                 times the tensor's root mean square; each Nth frame is plain
  DeepCache      blocks of the frame before that match by more than 20 dB, at
                 their place ("none") or at the motion of the camera that a
                 search finds; values are shifted by it, and reused pixel by
                 pixel; each 10th frame is plain. --grid searches has each
                 search, --grid parameters other dB, sizes of blocks and N
  skip n         each nth frame is plain, the others have its answer

Beside each of them: frames skipped in turns, so many that as much is saved.

Saved: multiply-adds of convolutions and products in tiles of 4x8 pixels where
no pixel is computed; for DeepCache's rule in single pixels. Age: the mean
distance to plain by the mean distance of plain answers of two frames in a row.
Worst: the largest 1 - cosine to plain, in thousandths.

DeepCache's blocks are those of build/bin/motion-frames (ninja motion-frames).
"""
import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import motion  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from clip import pictures  # noqa: E402
from network import Network, Plane  # noqa: E402

CELL = 8  # pixels of the input, each way
TILE = (4, 8)
ROOT = Path(__file__).resolve().parents[2]
SKIPS = (2, 3, 4)
# A sum in another order differs by so much of the tensor's root mean square.
ROUNDING = 2e-6


class Configuration:
    def __init__(self, kind, db=0.0, tolerance=0.0, every=0, few=False):
        self.kind, self.db, self.tolerance = kind, db, tolerance
        self.every, self.few = every, few

    def name(self):
        if self.kind != "reuse":
            return self.kind
        text = (
            "exact"
            if self.db == 0
            else f"reuse {self.db:g} dB {self.tolerance:g}"
        )
        return (
            text
            + (f" full {self.every}" if self.every else "")
            + (" few" if self.few else "")
        )


class DeepCache(Configuration):
    """The paper's rule, with its numbers where no others are given."""

    def __init__(self, search, db=20, block=10, every=10):
        super().__init__("DeepCache", db, 0, every)
        self.search, self.block = search, block

    def name(self):
        every = f"full {self.every}" if self.every else "full never"
        return f"DeepCache {self.search} {self.db} dB {self.block} {every}"


def grid():
    result = [
        Configuration("plain"),
        Configuration("noise"),
        DeepCache("none"),
        Configuration("reuse"),
        Configuration("reuse", few=True),
    ]
    for db in (46, 42, 40, 38, 34):
        for tolerance in (0, 0.01, 0.02, 0.05, 0.1):
            for every in (0, 6, 10, 30):
                result.append(Configuration("reuse", db, tolerance, every))
            result.append(Configuration("reuse", db, tolerance, 10, few=True))
    return result


# The search as DeepCache uses it, whose other parameters its figures vary.
BEST = "DS, k = 2"


def searches():
    """DeepCache's rule with each search, and two of ours beside."""
    return [
        Configuration("plain"),
        Configuration("noise"),
        Configuration("reuse"),
        Configuration("reuse", 40, 0.02, 10),
        *(DeepCache(search) for search in motion.SEARCHES),
    ]


def parameters():
    """DeepCache's rule with other thresholds, blocks and numbers of frames."""
    return [
        Configuration("plain"),
        Configuration("noise"),
        Configuration("reuse"),
        *(DeepCache(BEST, db=db) for db in (10, 15, 20, 25, 30)),
        *(DeepCache(BEST, block=n) for n in (5, 8, 15, 20)),
        *(DeepCache(BEST, every=n) for n in (2, 5, 20, 0)),
    ]


GRIDS = {"all": grid, "searches": searches, "parameters": parameters}


def isFew(network):
    """The results that are compared where few are: several layers read them, or
    they have at most half of the channels of their input."""
    few = set()
    for name, node in network.compared.items():
        weights = network.constants.get(node.inputs[1])
        group = node.get("group", 1)
        squeezes = (
            node.op == "Conv"
            and weights is not None
            and 2 * weights.shape[0] <= weights.shape[1] * group
        )
        if (
            network.numReaders.get(name, 0) > 1
            or squeezes
            or node.op in ("Gemm", "MatMul")
        ):
            few.add(name)
    return few


class Simulation:
    """`motions`: by configuration of DeepCache, motion.match()'s frames."""

    def __init__(self, network, configurations, motions, device):
        self.motions = motions
        self.network, self.configurations = network, configurations
        self.device = device
        column = lambda values: torch.tensor(values, device=device).reshape(
            -1, 1, 1, 1
        )  # noqa: E731
        self.tolerance = column([c.tolerance for c in configurations]).float()
        self.error = column(
            [
                (255 / 10 ** (c.db / 20)) ** 2 if c.db else 0.0
                for c in configurations
            ]
        )
        self.always = column(
            [c.kind in ("plain", "noise") for c in configurations]
        )
        self.paper = column([isinstance(c, DeepCache) for c in configurations])
        self.fewOnly = column([c.few for c in configurations])
        self.few = isFew(network)
        self.stored, self.rms = {}, {}
        self.reference = None
        self.frame = 0
        self.moves = {}  # of the frame: by configuration, in pixels
        self.layers = {}  # by result: work of a frame, and shares computed
        self.bytes = 0  # of all results of convolutions
        self.generator = torch.Generator().manual_seed(1)

    def take(self, picture):
        """The inputs of all configurations, and the pixels that changed."""
        count = len(self.configurations)
        noise = torch.randint(
            -1, 2, picture.shape, generator=self.generator
        ).to(self.device)
        noisy = (picture + noise).clamp(0, 255)
        now = picture[None].expand(count, *picture.shape).clone()
        now[1] = noisy
        self.full = self.always.clone()
        for i, c in enumerate(self.configurations):
            if self.frame == 0 or (c.every and self.frame % c.every == 0):
                self.full[i] = True
        if self.frame == 0:
            self.reference = now.clone()
            changed = torch.ones_like(now[:, :1])
        else:
            differs = (now - self.reference).square().mean(1, keepdim=True)
            dirty = self.blocks(differs, CELL, self.error)
            changed = dirty * (differs > 0).float()
            self.moves.clear()
            for i, frames in self.motions.items():
                found = frames[self.frame - 1]
                mask = motion.changed(found, *picture.shape[1:])
                changed[i, 0] = torch.from_numpy(mask)
                if not self.full[i] and (found["dx"] or found["dy"]):
                    self.moves[i] = found["dx"], found["dy"]
            take = torch.where(
                self.full | self.paper, torch.ones_like(changed), changed
            )
            self.reference = torch.where(take > 0, now, self.reference)
            changed = torch.where(self.full, torch.ones_like(changed), changed)
        return self.reference, changed

    @staticmethod
    def blocks(differs, size, most):
        """Pixels of blocks that differ by more than `most` on average."""
        rows, columns = differs.shape[2:]
        mean = F.avg_pool2d(
            differs, size, size, ceil_mode=True, count_include_pad=False
        )
        dirty = (mean > most).float()
        return dirty.repeat_interleave(size, 2).repeat_interleave(size, 3)[
            :, :, :rows, :columns
        ]

    def shift(self, old):
        """Moves values with the camera, to the nearest pixel of their plane."""
        sides = self.reference.shape[2:]
        strides = [max(1, round(a / b)) for a, b in zip(sides, old.shape[2:])]
        for i, (dx, dy) in self.moves.items():
            by = [-round(dy / strides[0]), -round(dx / strides[1])]
            old[i] = torch.roll(old[i], by, (1, 2))

    def check(self, name, new, plane, work):
        flat = new
        if new.dim() != 4:
            new = new.flatten(1)[:, :, None, None]
        mask = plane.mask
        if tuple(mask.shape[2:]) != tuple(new.shape[2:]):
            mask = mask.amax(dim=(2, 3), keepdim=True).expand(
                -1, 1, *new.shape[2:]
            )
        tiles = F.max_pool2d(mask, TILE, TILE, ceil_mode=True)
        # The last ones may be smaller.
        sizes = F.avg_pool2d(
            torch.ones_like(mask[:1]),
            TILE,
            TILE,
            ceil_mode=True,
            divisor_override=1,
        )
        share = (tiles * sizes).sum((1, 2, 3)) / sizes.sum()
        share = torch.where(self.paper[:, 0, 0, 0], mask.mean((1, 2, 3)), share)
        share = torch.where(
            self.full[:, 0, 0, 0], torch.ones_like(share), share
        )
        self.computed += work * share
        self.total += work
        layer = self.layers.setdefault(name, [work, 0])
        if self.frame:
            layer[1] = layer[1] + share.double()
        old = self.stored.get(name)
        if old is not None:
            self.shift(old)
        else:
            self.bytes += 4 * new[0].numel()
            old = torch.zeros_like(new)
            self.rms[name] = torch.zeros_like(self.tolerance)
        rms = new.square().mean(dim=(1, 2, 3), keepdim=True).sqrt()
        self.rms[name] = torch.where(self.full, rms, self.rms[name])
        isCompared = (
            torch.ones_like(self.fewOnly) if name in self.few else ~self.fewOnly
        )
        limit = torch.clamp(self.tolerance, min=ROUNDING) * self.rms[name]
        differs = (new - old).square().mean(1, keepdim=True).sqrt() > limit
        dirty = (mask > 0) & (differs | ~isCompared | self.paper)
        dirty = dirty | self.full
        kept = torch.where(dirty, new, old)
        self.stored[name] = kept
        return kept.reshape(flat.shape), plane.like(dirty.float())

    def run(self, picture, prepare):
        inputs, changed = self.take(picture)
        self.computed = torch.zeros(
            len(self.configurations), device=self.device, dtype=torch.float64
        )
        self.total = 0
        border = [torch.zeros_like(self.tolerance) for _ in range(2)]
        for i, move in self.moves.items():
            for side, distance in zip(border, move):
                side[i] = float(distance != 0)
        plane = Plane(changed, border)
        answer = self.network.run(prepare(inputs), plane, self.check)
        self.frame += 1
        return answer.double(), self.computed / self.total


def distance(a, b):
    return (a - b).norm(dim=-1)


def cosine(a, b):
    return F.cosine_similarity(a, b, dim=-1, eps=1e-30)


def compare(given, plain, isClasses):
    """By figure: a number for each pair of answers."""
    figures = dict(away=distance(given, plain), cosine=1 - cosine(given, plain))
    if isClasses:
        best = plain.argmax(-1, keepdim=True)
        three = given.topk(3, dim=-1).indices
        figures["top1"] = (three[..., :1] != best).all(-1).double()
        figures["top3"] = (three != best).all(-1).double()
    return figures


def skipping(plain, saved):
    """The answers, from the second frame on, where the share `saved` of the
    frames is skipped and has the answer of the one before."""
    last, due, old = plain[0], 0.0, []
    for answer in plain[1:]:
        due += saved
        if due < 1:
            last = answer
        else:
            due -= 1
        old.append(last)
    return torch.stack(old)


def summarise(figures, moved, size):
    """The figures of a way to answer, over all frames."""
    result = dict(
        age=float(figures["away"].mean()) / moved,
        worst=1e3 * float(figures["cosine"].max()),
        mse=float((figures["away"].square() / size).median()),
    )
    for name in ("top1", "top3"):
        if name in figures:
            result[name] = float(figures[name].mean())
    return result


def matchAll(configurations, frames, binary):
    """By configuration of DeepCache: the motion of each frame."""
    known, result = {}, {}
    for i, c in enumerate(configurations):
        if isinstance(c, DeepCache):
            key = c.search, c.block, c.db
            if key not in known:
                known[key] = motion.match(binary, frames, *key)
            result[i] = known[key]
    return result


def distinct(configurations, motions):
    """Configurations that do not all the same, and the index of each one of
    `configurations` among them."""
    kept, places, known = [], [], {}
    for i, c in enumerate(configurations):
        key = i
        if i in motions:
            moves = [(f["dx"], f["dy"], f["clean"]) for f in motions[i]]
            key = c.every, json.dumps(moves)
        if key not in known:
            known[key] = len(kept)
            kept.append(c)
        places.append(known[key])
    return kept, places


def measure(network, clip, configurations, prepare, size, most, device, binary):
    """Figures for each configuration and each way of skipping, and for the
    network as a whole."""
    frames = []
    for picture in pictures(clip, *size, device):
        if len(frames) == most:
            break
        frames.append(picture)
    numbers = [f.permute(1, 2, 0).byte().cpu().numpy() for f in frames]
    motions = matchAll(configurations, numbers, binary)
    kept, places = distinct(configurations, motions)
    simulation = Simulation(
        network, kept, {places[i]: m for i, m in motions.items()}, device
    )
    figures, saved, plain = [], [], []
    for picture in frames:
        answer, computed = simulation.run(picture, prepare)
        isClasses = answer.shape[1] <= 1001
        if not plain:  # in a batch as one by one; the second one has noise
            assert (
                distance(answer[2:], answer[:1]).max()
                <= 1e-5 * answer[0].norm()
            ), clip
        plain.append(answer[0])
        # Without the first frame, of which nothing can be reused.
        if len(plain) > 1:
            figures.append(compare(answer, answer[:1], isClasses))
            saved.append(1 - computed)
    plain, saved = torch.stack(plain), torch.stack(saved).mean(0)
    last = compare(plain[:-1], plain[1:], isClasses)
    moved, size = float(last["away"].mean()) or 1.0, plain.shape[1]
    rows = []

    def row(name, saved, figures, **others):
        skipped = compare(skipping(plain, saved), plain[1:], isClasses)
        skipped = summarise(skipped, moved, size)
        rows.append(
            dict(
                name=name,
                saved=saved,
                **summarise(figures, moved, size),
                skip=skipped,
                **others,
            )
        )

    for i, c in enumerate(configurations):
        if c.kind == "plain":
            continue
        k = places[i]
        found = {n: torch.stack([f[n][k] for f in figures]) for n in figures[0]}
        others = dict(
            layers=[
                1 - float(shares[k]) / len(figures)
                for _, shares in simulation.layers.values()
            ]
        )
        if i in motions:
            matched = [f["matched"] for f in motions[i]]
            others["matched"] = sum(matched) / len(matched)
            others["moved"] = sum(
                1 for f in motions[i] if f["dx"] or f["dy"]
            ) / len(matched)
        row(c.name(), float(saved[k]), found, **others)
    for n in SKIPS:
        held = compare(skipping(plain, 1 - 1 / n), plain[1:], isClasses)
        row(f"skip {n}", 1 - 1 / n, held)
    return dict(
        frames=len(frames),
        rows=rows,
        layers=list(simulation.layers),
        work=[work for work, _ in simulation.layers.values()],
        bytes=simulation.bytes,
        last=summarise(last, moved, size),
    )


def summary(name, rows):
    """A row of a table: noise, the exact mode, the most that is saved with
    answers that are no older than 0.5 or 1.3 times those of noise, frames
    skipped that save as much, and the paper's rule."""
    named = {r["name"]: r for r in rows}
    limit = max(0.5, 1.3 * named["noise"]["age"])
    fit = [
        r for r in rows if r["name"].startswith("reuse") and r["age"] <= limit
    ]
    good = [r for r in fit if r["worst"] <= 0.5 * r["skip"]["worst"]] or fit
    best, paper = (
        max(good, key=lambda r: r["saved"]),
        named[DeepCache("none").name()],
    )

    def pair(age, worst):
        return (
            f"{age:.2f}; {worst:.2g}"
            if worst < 10
            else f"{age:.2f}; {worst:.0f}"
        )

    cells = [
        name,
        f"{named['noise']['age']:.2f}",
        f"{100 * named['exact']['saved']:.0f} %",
        f"{100 * best['saved']:.0f} %",
        pair(best["age"], best["worst"]),
        pair(best["skip"]["age"], best["skip"]["worst"]),
        best["name"].replace("reuse ", ""),
        f"{100 * paper['saved']:.0f} %",
        pair(paper["age"], paper["worst"]),
        pair(paper["skip"]["age"], paper["skip"]["worst"]),
    ]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--clip", action="append", required=True)
    parser.add_argument(
        "--frames", type=int, default=10000, help="at most so many"
    )
    parser.add_argument(
        "--mean", type=float, nargs=3, default=[0, 0, 0], help="in levels"
    )
    parser.add_argument(
        "--std", type=float, nargs=3, default=[1, 1, 1], help="in levels"
    )
    parser.add_argument("--bgr", action="store_true")
    parser.add_argument("--grid", choices=list(GRIDS), default="all")
    parser.add_argument("--bin-dir", default=ROOT / "build/bin", type=Path)
    parser.add_argument("--json", help="write all rows to this file")
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.deterministic = True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = Network(options.model, device)
    column = lambda x: torch.tensor(x, device=device).reshape(
        1, 3, 1, 1
    )  # noqa: E731
    mean, std = column(options.mean), column(options.std)
    isLast = network.shape[3] == 3
    size = network.shape[1:3] if isLast else network.shape[2:4]

    def prepare(x):
        x = (x - mean) / std
        x = x.flip(1) if options.bgr else x
        return x.permute(0, 2, 3, 1) if isLast else x

    results = []
    configurations = GRIDS[options.grid]()
    for clip in options.clip:
        found = measure(
            network,
            clip,
            configurations,
            prepare,
            size,
            options.frames,
            device,
            options.bin_dir / "motion-frames",
        )
        rows = found["rows"]
        results.append(dict(model=options.model, clip=clip, **found))
        print(f"{options.model}, {clip}: {found['frames']} frames")
        for r in rows:
            skip = r["skip"]
            print(
                f"  {r['name']:36} saved {100 * r['saved']:5.1f} %  "
                f"age {r['age']:.3f}  "
                f"worst {r['worst']:.3f}  skipping: age {skip['age']:.3f}  "
                f"worst {skip['worst']:.3f}",
                flush=True,
            )
        if options.grid == "all":
            print(summary(Path(options.model).stem, rows))
        exact = next(r for r in rows if r["name"] == "exact")
        assert exact["age"] < 1e-3, "exact reuse changes no answer"
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file)


if __name__ == "__main__":
    main()
