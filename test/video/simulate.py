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
  paper          DeepCache's rule without its search: blocks of 10x10 that are
                 within 20 dB of the frame before are reused, each 10th frame is
                 plain
  skip n         each nth frame is plain, the others have its answer

Beside each of them: frames skipped in turns, so many that as much is saved.

Saved: multiply-adds of convolutions and products in tiles of 4x8 pixels where
no pixel is computed; for DeepCache's rule in single pixels. Age: the mean
distance to plain by the mean distance of plain answers of two frames in a row.
Worst: the largest 1 - cosine to plain, in thousandths.
"""
import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from clip import pictures  # noqa: E402
from network import Network, Plane  # noqa: E402

CELL = 8  # pixels of the input, each way
TILE = (4, 8)
PAPER = dict(block=10, db=20, every=10)
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


def grid():
    result = [
        Configuration("plain"),
        Configuration("noise"),
        Configuration("paper", PAPER["db"], 0, PAPER["every"]),
        Configuration("reuse"),
        Configuration("reuse", few=True),
    ]
    for db in (46, 42, 40, 38, 34):
        for tolerance in (0, 0.01, 0.02, 0.05, 0.1):
            for every in (0, 6, 10, 30):
                result.append(Configuration("reuse", db, tolerance, every))
            result.append(Configuration("reuse", db, tolerance, 10, few=True))
    return result


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
    def __init__(self, network, configurations, device):
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
        self.paper = column([c.kind == "paper" for c in configurations])
        self.fewOnly = column([c.few for c in configurations])
        self.few = isFew(network)
        self.stored, self.rms = {}, {}
        self.reference = self.before = None
        self.frame = 0
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
            pixels = dirty * (differs > 0).float()
            paper = self.blocks(
                (now - self.before).square().mean(1, keepdim=True),
                PAPER["block"],
                self.error,
            )
            changed = torch.where(self.paper, paper, pixels)
            take = torch.where(
                self.full | self.paper, torch.ones_like(changed), changed
            )
            self.reference = torch.where(take > 0, now, self.reference)
            changed = torch.where(self.full, torch.ones_like(changed), changed)
        self.before = now
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
        self.computed += work * torch.where(
            self.full[:, 0, 0, 0], torch.ones_like(share), share
        )
        self.total += work
        old = self.stored.get(name)
        if old is None:
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
        return kept.reshape(flat.shape), Plane(dirty.float())

    def run(self, picture, prepare):
        inputs, changed = self.take(picture)
        self.computed = torch.zeros(
            len(self.configurations), device=self.device, dtype=torch.float64
        )
        self.total = 0
        answer = self.network.run(prepare(inputs), Plane(changed), self.check)
        self.frame += 1
        return answer.double(), self.computed / self.total


def distance(a, b):
    return (a - b).norm(dim=-1)


def cosine(a, b):
    return F.cosine_similarity(a, b, dim=-1, eps=1e-30)


def skipping(plain, saved):
    """The distances and 1 - cosine, from the second frame on, where the share
    `saved` of the frames is skipped and has the answer of the one before."""
    last, due, old = plain[0], 0.0, []
    for answer in plain[1:]:
        due += saved
        if due < 1:
            last = answer
        else:
            due -= 1
        old.append(last)
    old, new = torch.stack(old), torch.stack(plain[1:])
    return distance(old, new), 1 - cosine(old, new)


def measure(network, clip, configurations, prepare, size, frames, device):
    """A row of figures for each configuration and each way of skipping."""
    simulation = Simulation(network, configurations, device)
    away, worst, saved = [], [], []
    moved, plain = [], []
    for picture in pictures(clip, *size, device):
        if len(plain) == frames:
            break
        answer, computed = simulation.run(picture, prepare)
        if not plain:  # in a batch as one by one; the second one has noise
            assert (
                distance(answer[2:], answer[:1]).max()
                <= 1e-5 * answer[0].norm()
            ), clip
        else:
            moved.append(distance(answer[0], plain[-1]))
        plain.append(answer[0])
        away.append(distance(answer, answer[:1]))
        worst.append(1 - cosine(answer, answer[:1]))
        saved.append(1 - computed)
    # Without the first frame, of which nothing can be reused.
    moved = float(torch.stack(moved).mean()) or 1.0
    rows = []

    def row(name, saved, away, worst):
        skipAway, skipWorst = skipping(plain, float(saved))
        rows.append(
            dict(
                name=name,
                saved=float(saved),
                age=float(away.mean()) / moved,
                worst=1e3 * float(worst.max()),
                skipAge=float(skipAway.mean()) / moved,
                skipWorst=1e3 * float(skipWorst.max()),
            )
        )

    away, worst, saved = (torch.stack(x[1:]) for x in (away, worst, saved))
    for i, c in enumerate(configurations):
        if c.kind != "plain":
            row(c.name(), saved[:, i].mean(), away[:, i], worst[:, i])
    for n in SKIPS:
        row(f"skip {n}", 1 - 1 / n, *skipping(plain, 1 - 1 / n))
    return rows, len(plain)


def summary(name, rows):
    """A row of a table: noise, the exact mode, the most that is saved with
    answers that are no older than 0.5 or 1.3 times those of noise, frames
    skipped that save as much, and the paper's rule."""
    named = {r["name"]: r for r in rows}
    limit = max(0.5, 1.3 * named["noise"]["age"])
    fit = [
        r for r in rows if r["name"].startswith("reuse") and r["age"] <= limit
    ]
    good = [r for r in fit if r["worst"] <= 0.5 * r["skipWorst"]] or fit
    best, paper = max(good, key=lambda r: r["saved"]), named["paper"]

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
        pair(best["skipAge"], best["skipWorst"]),
        best["name"].replace("reuse ", ""),
        f"{100 * paper['saved']:.0f} %",
        pair(paper["age"], paper["worst"]),
        pair(paper["skipAge"], paper["skipWorst"]),
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
    for clip in options.clip:
        rows, count = measure(
            network, clip, grid(), prepare, size, options.frames, device
        )
        results.append(
            dict(model=options.model, clip=clip, frames=count, rows=rows)
        )
        print(f"{options.model}, {clip}: {count} frames")
        for r in rows:
            print(
                f"  {r['name']:28} saved {100 * r['saved']:5.1f} %  "
                f"age {r['age']:.3f}  "
                f"worst {r['worst']:.3f}  skipping: age {r['skipAge']:.3f}  "
                f"worst {r['skipWorst']:.3f}",
                flush=True,
            )
        print(summary(Path(options.model).stem, rows))
        exact = next(r for r in rows if r["name"] == "exact")
        assert exact["age"] < 1e-3, "exact reuse changes no answer"
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file)


if __name__ == "__main__":
    main()
