#!/usr/bin/python3
"""Compares layers that CPU and GPU compute together with each of both alone.

Each element of a result that is cut in two must be, bit for bit, the GPU's
where it lies in front of the cut, and the CPU's behind it, with any number of
threads. So parts of models are taken that have one input and one output: single
layers, and chains of them with branches that join again. The parts of
a model become one model with an input for each. That is compiled with forced
splits of several dimensions and places, and with all on the GPU. It runs with
the GPU, and without it.

Where several splits make up a part, or a layer is computed whole, no one knows
the bits: the output must be the CPU's within 1e-4 of the largest element.

    compose.py --group own                  models of the repository
    compose.py --parts 40 squeezenet        more of a model
    compose.py --only 17 squeezenet         one part of those, by its number

Exits with 77 where nothing fails but there is no device or no model.
"""
import argparse
import random
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools/lib"))
import nnv12tools  # noqa: E402
from nnv12tools import ON_GPU, Tools, ToolError  # noqa: E402

GROUPS = ("own", "shared", "zoo")
DIMS = ("batch", "channels", "rows")
BATCH = 4  # images of the models that are cut between images
MOST_NODES = 12  # of a part
# The relative error, of the largest element, where bits are not known.
TOLERANCE, LEAST = 1e-4, 1e-5
# Nodes that only move elements: any processor has the same bits. A part does
# not end with one of them, since its dimensions are not those of the layer.
MOVES = {
    "Concat",
    "DepthToSpace",
    "Flatten",
    "Identity",
    "Pad",
    "Reshape",
    "Slice",
    "SpaceToDepth",
    "Split",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
}
# Nodes that CPUs compute with the layer before them.
ELEMENTWISE = {
    "Add",
    "Clip",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Mul",
    "PRelu",
    "Relu",
    "Sigmoid",
}
# Nodes whose constants say how many images there are.
FIXED_BATCH = {"Expand", "Flatten", "Reshape", "Resize", "Slice", "Upsample"}


@dataclass
class Part:
    """The nodes between a tensor and another one that depends on it alone."""

    start: str
    end: str
    nodes: list  # in order

    @property
    def is_layer(self):
        """Whether it is a node, or one with an activation."""
        return len(self.nodes) <= 2

    def text(self):
        kinds = [n.op_type for n in self.nodes]
        return f"{' '.join(kinds)} to '{self.end}'"


def node_key(node):
    """Equal for nodes that compute the same."""
    return node.op_type, tuple(
        sorted(a.SerializeToString() for a in node.attribute)
    )


class Graph:
    """A model's nodes between tensors that depend on its inputs."""

    def __init__(self, model, inputs):
        """`inputs`: dims by name, for inputs that leave them open."""
        for value in model.graph.input:
            dims = value.type.tensor_type.shape.dim
            for dim, size in zip(dims, inputs.get(value.name, ())):
                dim.dim_value = size
        self.model = onnx.shape_inference.infer_shapes(model)
        graph = self.model.graph
        self.constants = {t.name: t for t in graph.initializer}
        self.shapes = {}
        for value in [*graph.value_info, *graph.input, *graph.output]:
            tensor = value.type.tensor_type
            if tensor.elem_type == onnx.TensorProto.FLOAT:
                dims = [d.dim_value for d in tensor.shape.dim]
                if len(dims) > 1 and all(dims):
                    self.shapes[value.name] = dims
        self.producer = {o: n for n in graph.node for o in n.output}
        self._find_dominators()

    def _find_dominators(self):
        """By tensor that depends on inputs: the last tensor that all paths to
        it go through, or None; and how many there are on the way."""
        graph = self.model.graph
        self.dominator, depth = {}, {}
        for value in graph.input:
            if value.name not in self.constants:
                self.dominator[value.name], depth[value.name] = None, 0

        def common(a, b):
            while a != b:
                if a is None or b is None:
                    return None
                if depth[a] >= depth[b]:
                    a = self.dominator[a]
                else:
                    b = self.dominator[b]
            return a

        for node in graph.node:
            read = [i for i in node.input if i in self.dominator]
            if not read or any(a.g.node for a in node.attribute):
                continue
            before = read[0]
            for name in read[1:]:
                before = common(before, name)
            for output in node.output:
                self.dominator[output] = before
                depth[output] = depth[before] + 1 if before else 0

    def part(self, start, end):
        """The nodes from `start` to `end` but those that make constants."""
        order = {id(n): i for i, n in enumerate(self.model.graph.node)}
        found, pending = {}, [end]
        while pending:
            name = pending.pop()
            node = self.producer.get(name)
            if name == start or name not in self.dominator or node is None:
                continue
            if order[id(node)] not in found:
                found[order[id(node)]] = node
                pending += node.input
        return Part(start, end, [found[i] for i in sorted(found)])

    def parts(self, batch):
        """All parts of up to MOST_NODES nodes that are not alike."""
        seen, result = set(), []
        for end in self.dominator:
            node = self.producer.get(end)
            if end not in self.shapes or node is None or node.op_type in MOVES:
                continue
            start = self.dominator[end]
            while start is not None:
                part = self.part(start, end)
                if len(part.nodes) > MOST_NODES:
                    break
                kinds = {n.op_type for n in part.nodes}
                key = (
                    tuple(self.shapes.get(start, ())),
                    tuple(node_key(n) for n in part.nodes),
                    tuple(self.shapes[end]),
                )
                first = part.nodes[0].op_type
                if (
                    start in self.shapes
                    and key not in seen
                    and not (first in MOVES)
                    and not (first in ELEMENTWISE and kinds - ELEMENTWISE)
                    and (batch == 1 or self._takes_batches(part, kinds))
                ):
                    seen.add(key)
                    result.append(part)
                start = self.dominator[start]
        return result

    def _takes_batches(self, part, kinds):
        """Whether no constant says how many images there are."""
        joins = any(
            n.op_type == "Concat" and set(n.input) - set(self.dominator)
            for n in part.nodes
        )
        return (
            self.shapes[part.start][0] == 1
            and not kinds & FIXED_BATCH
            and not joins
        )


def draw_parts(graph, batch, count, draw):
    """Layers and longer ones in equal numbers, where there are as many."""
    all_parts = graph.parts(batch)
    layers = [p for p in all_parts if p.is_layer]
    chains = [p for p in all_parts if not p.is_layer]
    num_layers = min(len(layers), max(count // 2, count - len(chains)))
    return draw.sample(layers, num_layers) + draw.sample(
        chains, min(len(chains), count - num_layers)
    )


def model_of(graph, numbered, batch):
    """One model of parts: pairs of number and part. The names of part N begin
    with "pN."; its input is pN.in, its output pN.out."""
    nodes, inputs, outputs, used = [], [], [], {}

    def constant(name):
        """Takes a constant along, and the nodes that make it."""
        if not name or name in used:
            return
        used[name] = self_made = graph.producer.get(name)
        if self_made is None:
            return
        for read in self_made.input:
            constant(read)
        nodes.append(self_made)

    for number, part in numbered:
        new = {part.start: f"p{number}.in", part.end: f"p{number}.out"}
        for node in part.nodes:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            for names in (copy.input, copy.output):
                for i, name in enumerate(names):
                    if name in graph.dominator:
                        names[i] = new.get(name, f"p{number}.{name}")
                    else:
                        constant(name)
            copy.name = f"p{number}.{node.name or node.output[0]}"
            nodes.append(copy)
        dims = list(graph.shapes[part.start])
        if batch > 1:
            dims[0] = batch
        inputs.append(
            onnx.helper.make_tensor_value_info(
                f"p{number}.in", onnx.TensorProto.FLOAT, dims
            )
        )
        outputs.append(
            onnx.helper.make_tensor_value_info(
                f"p{number}.out", onnx.TensorProto.FLOAT, None
            )
        )
    made = onnx.helper.make_graph(
        nodes,
        "parts",
        inputs,
        outputs,
        [graph.constants[n] for n in used if n in graph.constants],
    )
    return onnx.helper.make_model(
        made,
        opset_imports=graph.model.opset_import,
        ir_version=graph.model.ir_version,
    )


def of_part(number, layer):
    """Whether a layer of a bundle is of the part."""
    return any(name.startswith(f"p{number}.") for name in layer.split("+"))


def cut_of(program, number, part):
    """The dimension and the place where the one split of a part cuts it. None
    where the part is not of one split. Layers that move elements do not
    count."""
    layers = [o for o in program["operations"] if of_part(number, o["layer"])]
    names = [o["layer"] for o in layers]
    kinds = {
        f"p{number}.{n.name or n.output[0]}": n.op_type for n in part.nodes
    }

    def moves(operation):
        """Also where it changes but the layout of an operand of a layer."""
        name, kernel = operation["layer"], operation["kernel"]
        return "/adapt" in kernel or (
            "/element" in kernel
            and (names.count(name) > 1 or kinds.get(name) in MOVES)
        )

    computing = {o["id"] for o in layers if not moves(o)}
    for stretch in nnv12tools.splits_of(program):
        if computing & set(stretch["executes"]):
            if computing <= set(stretch["executes"]):
                return stretch["dim"], stretch["at"]
            return None
    return None


def different(a, b):
    """None, or where two arrays of floats differ by a bit."""
    wrong = a.view(np.uint32) != b.view(np.uint32)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"element {list(at)} of {list(a.shape)} is {a[at]}, expected {b[at]}; "
        f"{int(wrong.sum())} of {a.size} differ"
    )


def far(a, b):
    """None, or where an array is not another one, about."""
    error = np.abs(a.astype(np.float64) - b)
    wrong = ~(error <= TOLERANCE * np.abs(b).max(initial=0) + LEAST)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"element {list(at)} of {list(a.shape)} is {a[at]}, expected {b[at]}; "
        f"{int(wrong.sum())} of {a.size} differ"
    )


@dataclass
class Counts:
    """How many outputs were compared."""

    exact: dict  # by dimension
    about: int = 0
    telling: int = 0  # CPU and GPU differ on both sides of the cut


class Trial:
    """The parts of a model, with so many images."""

    def __init__(self, args, name, graph, parts, batch, draw):
        """`parts`: pairs of number and part."""
        self.args, self.parts, self.batch = args, parts, batch
        self.name = f"{name}.{batch}"
        self.work = args.work / self.name
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        self.model = self.work / "model.onnx"
        onnx.save(model_of(graph, parts, batch), self.model)
        rng = np.random.default_rng(draw.getrandbits(32))
        self.inputs = []
        for number, part in parts:
            dims = list(graph.shapes[part.start])
            if batch > 1:
                dims[0] = batch
            file = self.work / f"input_{number}.npy"
            np.save(file, rng.standard_normal(dims, dtype=np.float32))
            self.inputs.append((f"p{number}.in", file))
        # It says itself what runs on the GPU.
        self.tools = Tools(args.bin_dir, target=args.target)
        self.gpu_alone = self.run(self.compile("gpu", ["--gpu-force"]))
        self.cpu_alone = None
        self.failed = []

    def compile(self, name, options):
        bundle = self.work / f"{name}.nnv"
        features = f"--gpu={nnv12tools.ALL_FEATURES}"
        options = [features, "--quiet", *options, *self.args.option]
        self.tools.compile(self.model, bundle, options=options)
        return bundle

    def run(self, bundle, gpu=ON_GPU, threads=2, runs=1):
        """The outputs of a later run by the number of the part. Its first run
        is the CPU's."""
        folder = self.work / "outputs"
        shutil.rmtree(folder, ignore_errors=True)
        self.tools.run(
            bundle,
            self.inputs,
            [
                *gpu,
                *self.args.run_option,
                "--settle",
                f"--runs={runs}",
                f"--threads={threads}",
                "--oversubscribe",
                f"--output-dir={folder}",
            ],
        )
        return {
            number: np.load(folder / f"output_{i}.npy")
            for i, (number, _) in enumerate(self.parts)
        }

    def fail(self, number, part, split, text):
        self.failed.append(
            f"FAIL {self.name} part {number}, {part.text()}, --split {split}: "
            f"{text}"
        )

    def try_split(self, split, counts):
        """All parts with one value of --split."""
        bundle = self.compile("split", [f"--split={split}"])
        (program,) = self.tools.described(bundle)["programs"]
        cpu_alone = self.run(bundle, ["--gpu=off"])
        together = {
            threads: self.run(bundle, ON_GPU, threads, 1 + threads % 3)
            for threads in self.args.threads
        }
        for number, part in self.parts:
            cpu, gpu = cpu_alone[number], self.gpu_alone[number]
            if self.cpu_alone:
                wrong = different(cpu, self.cpu_alone[number])
                if wrong:
                    self.fail(number, part, split, f"the CPU alone: {wrong}")
            cut = cut_of(program, number, part)
            for threads, outputs in together.items():
                wrong = self.compare(outputs[number], cpu, gpu, cut)
                if wrong:
                    self.fail(
                        number, part, split, f"{threads} threads: {wrong}"
                    )
                first = together[self.args.threads[0]][number]
                wrong = different(outputs[number], first)
                if wrong:
                    self.fail(
                        number,
                        part,
                        split,
                        f"{threads} threads are not "
                        f"{self.args.threads[0]}: {wrong}",
                    )
            if not cut:
                counts.about += 1
                continue
            counts.exact[DIMS[cut[0]]] += 1
            sides = np.split(cpu, [cut[1]], cut[0]), np.split(
                gpu, [cut[1]], cut[0]
            )
            counts.telling += all(
                different(np.ascontiguousarray(a), np.ascontiguousarray(b))
                is not None
                for a, b in zip(*sides)
            )
        self.cpu_alone = self.cpu_alone or cpu_alone

    @staticmethod
    def compare(found, cpu, gpu, cut):
        """None, or in words where the output is not the composition."""
        if not cut:
            return far(found, cpu)
        dim, at = cut
        if not 0 < at < found.shape[dim]:
            return (
                f"cut at {at} of {found.shape[dim]} {DIMS[dim]}, "
                "expected a place between"
            )
        front = np.split(gpu, [at], dim)[0]
        back = np.split(cpu, [at], dim)[1]
        wrong = different(found, np.concatenate([front, back], dim))
        return wrong and f"cut at {at} of {DIMS[dim]}: {wrong}"


def splits_of(batch, count, draw):
    """Values of --split: each dimension that there is, at some places."""
    # No kernel of GPUs computes some channels of several images.
    dims = ("batch", "rows") if batch > 1 else ("channels", "rows")
    return [
        f"force={dim}:{draw.randint(1, 99)}"
        for dim in dims
        for _ in range(count)
    ] + ["force"]


def try_model(case, args, counts):
    """Lines that say what failed."""
    failed = []
    inputs = {
        name: np.load(file, mmap_mode="r").shape for name, file in case.inputs
    }
    graph = Graph(onnx.load(str(case.model)), inputs)
    for batch in (1, BATCH):
        draw = random.Random(f"{args.seed} {case.name} {batch}")
        parts = list(enumerate(draw_parts(graph, batch, args.parts, draw)))
        splits = splits_of(batch, args.cuts, draw)
        if args.only is not None:
            parts = [p for p in parts if p[0] == args.only]
        if not parts:
            continue
        trial = Trial(args, case.name, graph, parts, batch, draw)
        for split in args.split or splits:
            trial.try_split(split, counts)
        failed += trial.failed
        if not trial.failed:
            shutil.rmtree(trial.work)
    return failed


def gather(args):
    """Cases, and a line for each group of them that cannot run here."""
    cases, skipped = [], []
    shared = nnv12tools.shared_folder()
    for group in args.group or GROUPS:
        if group == "own":
            cases += nnv12tools.own_cases()
        elif not shared:
            skipped.append(f"{group}: no ../shared, and NNV12_SHARED not set")
        elif group == "shared":
            cases += nnv12tools.shared_cases(shared)
        else:
            try:
                cases += nnv12tools.zoo_cases(
                    shared, args.zoo, nnv12tools.find_peers(), args.zoo_models
                )
            except (ToolError, OSError) as error:
                skipped.append(f"zoo: {error}")
    if args.cases:
        cases = [c for c in cases if c.name in args.cases]
    return cases, skipped


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--group",
        action="append",
        choices=GROUPS,
        help="whose models; may be repeated (all)",
    )
    parser.add_argument(
        "--parts", type=int, default=12, help="of a model, at most (12)"
    )
    parser.add_argument(
        "--cuts",
        type=int,
        default=2,
        help="how many places along each dimension (2)",
    )
    parser.add_argument(
        "--at-least",
        type=int,
        default=1,
        metavar="N",
        help="how many outputs must be compared bit for bit (1)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of all draws")
    parser.add_argument("--only", type=int, metavar="N", help="one part")
    parser.add_argument(
        "--split",
        action="append",
        metavar="VALUE",
        help="as nnv12c has it, in place of those drawn; may be repeated",
    )
    parser.add_argument(
        "--threads",
        type=lambda s: [int(n) for n in s.split(",")],
        default=[1, 2, 3, 4],
        metavar="LIST",
        help="numbers of threads (1,2,3,4)",
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="OPTION",
        help="passed on to nnv12c; may be repeated",
    )
    parser.add_argument(
        "--run-option",
        action="append",
        default=[],
        metavar="OPTION",
        help="passed on to nnv12-run; may be repeated",
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=nnv12tools.ROOT / "build/splits",
        help="folder for bundles, and models that fail (build/splits)",
    )
    parser.add_argument(
        "--zoo",
        type=Path,
        default=nnv12tools.ROOT / "build/zoo",
        help="folder of the filled zoo (build/zoo)",
    )
    parser.add_argument(
        "--zoo-models",
        type=lambda s: s.split(","),
        default=["resnet18-17", "resnet50-13"],
        metavar="LIST",
        help="of the zoo (resnet18-17,resnet50-13)",
    )
    parser.add_argument(
        "--bin-dir",
        type=Path,
        default=nnv12tools.ROOT / "build/bin",
        help="folder of the built tools (build/bin)",
    )
    parser.add_argument("--target", help="the target to compile for")
    parser.add_argument("cases", nargs="*", help="names of models (all)")
    args = parser.parse_args()
    args.work = args.work.resolve()
    return args


def main():
    args = parse()
    if nnv12tools.why_no_gpu():
        print(f"skipped: {nnv12tools.why_no_gpu()}")
        return 77
    cases, skipped = gather(args)
    total, failed = Counts(dict.fromkeys(DIMS, 0)), 0
    start = time.monotonic()
    for case in cases:
        counts = Counts(dict.fromkeys(DIMS, 0))
        try:
            lines = try_model(case, args, counts)
        except ToolError as error:
            lines = [f"FAIL {case.name}: {error}"]
        for line in lines:
            print(line, flush=True)
        failed += len(lines)
        for dim in DIMS:
            total.exact[dim] += counts.exact[dim]
        total.about += counts.about
        total.telling += counts.telling
        print(
            f"{'FAIL' if lines else 'pass'} {case.name} ({text(counts)})",
            flush=True,
        )
    exact = sum(total.exact.values())
    if cases and exact < args.at_least:
        failed += 1
        print(f"FAIL: at least {args.at_least} must be compared bit for bit")
    for line in skipped:
        print(f"skipped: {line}")
    print(f"{text(total)}; {failed} failed, {time.monotonic() - start:.0f} s")
    if failed or not (cases or skipped):
        return 1
    return 77 if skipped else 0


def text(counts):
    exact = ", ".join(f"{n} {dim}" for dim, n in counts.exact.items())
    return (
        f"bit for bit: {exact}, of which CPU and GPU differ in "
        f"{counts.telling}; about: {counts.about}"
    )


if __name__ == "__main__":
    sys.exit(main())
