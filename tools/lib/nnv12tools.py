"""Our tools as Python calls, and the models that they are tried on.

Used by the conformance tests, the model tests and the benchmarks. Runs under
Debian's Python with python3-numpy (and python3-onnx where a caller needs it).
"""
import json
import os
import subprocess
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
LIB = Path(__file__).resolve().parent


class ToolError(Exception):
    """A tool ended with an error; the text is its last line on stderr."""


def shape_text(dims):
    """A shape as --shape takes it."""
    return "x".join(str(d) for d in dims) or "scalar"


def put_between_marks(text, path):
    """Replaces the text between the marks "measured: begin" and "measured: end"
    of a Markdown file. Returns a line that says what is wrong, or None.
    """
    lines = path.read_text().splitlines()
    places = [
        i
        for mark in ("begin", "end")
        for i, line in enumerate(lines)
        if line.startswith(f"<!-- measured: {mark}")
    ]
    if len(places) != 2 or places[0] > places[1]:
        return f"{path}: found no marks 'measured: begin' and 'measured: end'"
    path.write_text(
        "\n".join([*lines[: places[0] + 1], "", text, "", *lines[places[1] :]])
        + "\n"
    )
    return None


def call(command, timeout=600, stderr=subprocess.PIPE, **options):
    """Runs a command and returns its output, with `stderr=subprocess.STDOUT`
    that of both channels; raises ToolError with one line that says what went
    wrong."""
    try:
        done = subprocess.run(
            [str(c) for c in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            errors="replace",
            timeout=timeout,
            **options,
        )
    except subprocess.TimeoutExpired:
        raise ToolError(
            f"{Path(str(command[0])).name}: no end after {timeout} s"
        )
    if done.returncode == 0:
        return done.stdout
    lines = [
        l
        for l in ((done.stderr or "") + "\n" + done.stdout).splitlines()
        if l.strip()
    ]
    name = Path(str(command[0])).name
    if done.returncode < 0:
        first = lines[0] if lines else ""
        raise ToolError(f"{name}: CRASH by signal {-done.returncode}: {first}")
    if not lines:
        raise ToolError(f"{name}: exit {done.returncode} in silence")
    errors = [l for l in lines if "error" in l.lower()]
    raise ToolError(f"{name}: {(errors or lines)[0]}")


# All features of GPUs that kernels may ask for.
ALL_FEATURES = "vulkan1.1+int64+float64+int8+int16+storage8+storage16"
# nnv12-run with any GPU, from the first run on.
ANY_GPU = ["--allow-software-gpu", "--gpu-cache=none"]
ON_GPU = ["--gpu=wait", *ANY_GPU]


def why_no_gpu():
    """None where Vulkan has a driver, if only one in software."""
    folders = ("/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d")
    if any(list(Path(f).glob("*.json")) for f in folders):
        return None
    return "no driver of Vulkan: install mesa-vulkan-drivers"


def why_no_validation():
    """None where Vulkan's validation layer is installed."""
    layers = Path("/usr/share/vulkan/explicit_layer.d")
    if (layers / "VkLayer_khronos_validation.json").is_file():
        return None
    return "no validation layer: install vulkan-validationlayers"


def add_gpu_arguments(parser):
    parser.add_argument(
        "--gpu",
        action="store_true",
        help="compute on a GPU, or lavapipe, all layers that it can",
    )
    parser.add_argument(
        "--gpu-precision",
        choices=["f32", "f16"],
        default="f32",
        help="with --gpu: the type in memory of tensors of f32 (f32)",
    )
    parser.add_argument(
        "--split",
        metavar="VALUE",
        help="with --gpu: cut layers in two, for CPU and GPU, as nnv12c "
        "--split VALUE does, in place of all on the GPU",
    )


def for_gpu(precision):
    """Options of nnv12c: kernels for a GPU with all features."""
    return [f"--gpu={ALL_FEATURES}", f"--gpu-precision={precision}"]


def all_on_gpu(precision):
    """Options of nnv12c: all that a GPU can compute is left to it."""
    return [*for_gpu(precision), "--gpu-force"]


def kernels_in_f16(described):
    """How many kernels for GPUs read or write tensors in f16, by the output of
    nnv12-inspect --json."""
    modules = described.get("gpu", {}).get("modules", ())
    return sum(" f16:" in module["name"] for module in modules)


def splits_of(program):
    """The stretches of a program that CPU and GPU compute together, by the
    output of nnv12-inspect --json."""
    stretches = program.get("gpu", {}).get("stretches", ())
    return [s for s in stretches if "dim" in s]


@dataclass
class Tools:
    """The built tools: nnv12c of one folder, nnv12-run of the same or, for
    another architecture, of another folder behind an emulator's command
    line."""

    compiler_dir: Path
    run_dir: Path = None
    emulator: list = field(default_factory=list)
    target: str = None
    checks: list = field(
        default_factory=list
    )  # "bounds", "tiles": nnv12c --check-…
    gpu: bool = False  # all on a GPU, or on software that acts as one
    gpu_precision: str = "f32"  # nnv12c --gpu-precision
    split: str = None  # nnv12c --split, in place of all on the GPU

    @staticmethod
    def add_arguments(parser):
        parser.add_argument(
            "--bin-dir",
            type=Path,
            default=ROOT / "build/bin",
            help="folder of the built tools (build/bin)",
        )
        parser.add_argument(
            "--run-dir",
            type=Path,
            help="folder of nnv12-run, where it is another one",
        )
        parser.add_argument(
            "--emulator", default="", help="command that nnv12-run runs under"
        )
        parser.add_argument(
            "--target", help="the target to compile for (nnv12c --target)"
        )
        parser.add_argument(
            "--check",
            action="append",
            default=[],
            choices=["bounds", "tiles"],
            help="check every access of the kernels, or what their tiles write",
        )
        add_gpu_arguments(parser)

    @classmethod
    def of(cls, args):
        return cls(
            args.bin_dir,
            args.run_dir,
            args.emulator.split(),
            args.target,
            args.check,
            args.gpu,
            args.gpu_precision,
            args.split,
        )

    @property
    def halves(self):
        """Whether tensors of f32 are in f16 on the GPU."""
        return self.gpu and self.gpu_precision == "f16"

    def compile(
        self, model, bundle, shapes=(), constants=(), options=(), timeout=600
    ):
        """shapes: pairs of name and dims; constants: pairs of name and .npy or
        .pb file."""
        command = [self.compiler_dir / "nnv12c", model, "-o", bundle]
        command += [f"--shape={n}={shape_text(d)}" for n, d in shapes]
        command += [f"--constant={n}={f}" for n, f in constants]
        if self.target:
            command.append(f"--target={self.target}")
        command += [f"--check-{what}" for what in self.checks]
        if self.gpu:
            command += (
                [*for_gpu(self.gpu_precision), f"--split={self.split}"]
                if self.split
                else all_on_gpu(self.gpu_precision)
            )
        return call(command + list(options), timeout=timeout)

    def run_command(self, bundle, inputs=(), options=(), gpu="wait"):
        command = [
            *self.emulator,
            (self.run_dir or self.compiler_dir) / "nnv12-run",
            bundle,
        ]
        command += [f"--input={n}={f}" for n, f in inputs]
        if self.gpu:
            command += [f"--gpu={gpu}", *ANY_GPU, "--time"]
        return command + list(options)

    def run(self, bundle, inputs=(), options=(), timeout=600):
        return call(self.run_command(bundle, inputs, options), timeout=timeout)

    def described(self, bundle):
        """The output of nnv12-inspect --json for a bundle."""
        inspect = self.compiler_dir / "nnv12-inspect"
        return json.loads(call([inspect, bundle, "--json"]))

    def kernels_in_f16(self, bundle):
        return kernels_in_f16(self.described(bundle))

    def count_splits(self, bundle):
        programs = self.described(bundle)["programs"]
        return sum(len(splits_of(p)) for p in programs)


@dataclass
class Case:
    """A model with inputs and the outputs that it must give (output_I.npy in
    `folder`)."""

    name: str
    model: Path
    folder: Path
    inputs: list  # pairs of name and .npy file
    # Pairs of name and dims, for inputs whose shape the model leaves open.
    shapes: list


# Inputs whose dimensions these models leave open.
OPEN_SHAPES = {"ppocr_cls", "ppocrv4_det", "magika"}


def _case(folder, name=None):
    note = json.loads((folder / "case.json").read_text())
    name = name or folder.name
    inputs = [(i["name"], folder / i["file"]) for i in note["inputs"]]
    shapes = (
        [(i["name"], i["dims"]) for i in note["inputs"]]
        if name in OPEN_SHAPES
        else []
    )
    return Case(
        name, folder / note.get("model", "model.onnx"), folder, inputs, shapes
    )


def own_cases():
    """The models that stand in the repository."""
    return [
        _case(f.parent)
        for f in sorted((ROOT / "test/models/data").glob("*/case.json"))
    ]


def shared_folder():
    """The folder with models beside the repository, or None. NNV12_SHARED names
    another place; an empty value says that there is none."""
    named = os.environ.get("NNV12_SHARED")
    folder = (
        ROOT / "../shared" if named is None else Path(named) if named else None
    )
    return folder.resolve() if folder and (folder / "models").is_dir() else None


def shared_cases(shared):
    return [
        _case(f.parent) for f in sorted((shared / "models").glob("*/case.json"))
    ]


def _hydrate(source, hydrate, folder, modules):
    """Fills in the weights of a stripped graph and asks ONNX Runtime for its
    answer."""
    import onnx

    folder.mkdir(parents=True, exist_ok=True)
    call([sys.executable, hydrate, source, folder / "model.onnx"])
    graph = onnx.load(str(folder / "model.onnx")).graph
    stored = {t.name for t in graph.initializer}
    inputs = []
    for i, value in enumerate(v for v in graph.input if v.name not in stored):
        dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
        rng = np.random.default_rng(zlib.crc32(value.name.encode()))
        np.save(folder / f"input_{i}.npy", rng.random(dims, dtype=np.float32))
        inputs.append(
            {"name": value.name, "dims": dims, "file": f"input_{i}.npy"}
        )
    with Peer(
        modules,
        folder / "model.onnx",
        [(i["name"], folder / i["file"]) for i in inputs],
    ) as peer:
        peer.ask(f"save {folder}")
    (folder / "case.json").write_text(json.dumps({"inputs": inputs}))


def zoo_cases(shared, work, modules, names=None):
    """The graphs of shared/zoo with weights, in folders under `work` that are
    filled once; of `names` alone where given. `modules`: node_modules with
    onnxruntime-node; None: graphs that are not filled yet are left out."""
    cases = []
    for source in sorted((shared / "zoo").glob("*.onnx")):
        if names and source.stem not in names:
            continue
        folder = work / source.stem
        stamp = f"{source.stat().st_size} {zlib.crc32(source.read_bytes())}"
        mark = folder / "hydrated"
        if not mark.is_file() or mark.read_text() != stamp:
            if not modules:
                continue
            _hydrate(source, shared / "zoo/hydrate.py", folder, modules)
            mark.write_text(stamp)
        cases.append(_case(folder))
    return cases


class LineServer:
    """A process that answers each line of its input with one line of JSON."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            [str(c) for c in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except OSError:
            self._fail(line)

    def answer(self, line):
        """The answer to `line`, which was sent before."""
        try:
            answer = json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            self._fail(line)
        if "error" in answer:
            raise ToolError(answer["error"])
        return answer

    def ask(self, line):
        self.send(line)
        return self.answer(line)

    def _fail(self, line):
        raise ToolError(
            f"{self.process.args[0]}: ended without an answer to '{line}'"
        )

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Peer(LineServer):
    """ONNX Runtime in a process of its own (ort.js, which tells of the forms).
    The first question other than `ready` makes the session.
    """

    def __init__(self, modules, model, inputs, threads=1, form="default"):
        super().__init__(
            [
                "node",
                LIB / "ort.js",
                modules,
                model,
                threads,
                form,
                *(f"{n}={f}" for n, f in inputs),
            ]
        )


def find_peers():
    """node_modules with onnxruntime-node, installed where it is missing; or
    ToolError."""
    return Path(call(["bash", "-c", f". '{LIB}/common.sh' && peers"]).strip())
