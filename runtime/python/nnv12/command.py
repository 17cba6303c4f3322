"""The command nnv12, which is python3 -m nnv12: tries a model."""
import argparse
import json
import os
import random
import shutil
import struct
import sys
import tempfile
import time
from array import array
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from . import _tensors
from ._tensors import TensorInfo, np
from .compiler import compile, run_tool
from .errors import Error, wrong
from .profile import Profile, median
from .session import Session

_IMAGES = (".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".pgm", ".pnm")
_SECONDS = 0.5  # of later runs, of each engine
_ROUNDS = 5
# ONNX Runtime's threads compute nothing for so long after a run, and keep CPUs
# from others.
_SPINNING = 0.06


class Times(NamedTuple):
    """Medians of an engine, in seconds."""

    name: str
    cold: float
    warm: float


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nnv12",
        description="Compiles a model, runs it, and prints the time of its"
        " first result in a fresh process and of later ones, beside ONNX"
        " Runtime's where that is installed. Tells where the time goes, and"
        " gives advice.",
        epilog="example: nnv12 model.onnx x=photo.jpg -o model.nnv",
    )
    parser.add_argument("model", help="an ONNX model, or a bundle (.nnv)")
    parser.add_argument(
        "input",
        nargs="*",
        help="NAME=FILE, or FILE where there is one input: .npy, an image, or"
        " .wav; other inputs are random",
    )
    parser.add_argument("-o", "--output", help="keep the bundle in this file")
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=1x3x224x224",
        help="the shape of an input, or the size of a dimension, that the"
        " model leaves open",
    )
    parser.add_argument("--target", help="as nnv12c takes it, such as host")
    parser.add_argument(
        "--threads", type=int, default=0, help="default: one a CPU"
    )
    parser.add_argument(
        "--cold", type=int, default=5, help="fresh processes; default 5"
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="OPTION",
        help="one more option of nnv12c, as in --option=--mode=cold",
    )
    return parser


def _random(info: TensorInfo) -> memoryview:
    """Floats from 0 to 1; zeros and ones of other types."""
    draw = random.Random(1).random
    if info.element in ("f32", "f64"):
        values = array(info.format, [draw() for _ in range(info.count)])
        return memoryview(values)
    if info.element == "f16":
        halves = [draw() for _ in range(info.count)]
        content = struct.pack(f"{info.count}e", *halves)
    elif info.element == "bf16":
        # The upper half of a float.
        content = b"".join(
            struct.pack("<f", draw())[2:] for _ in range(info.count)
        )
    else:
        size = info.nbytes // max(info.count, 1)
        content = b"".join(
            int(draw() < 0.5).to_bytes(size, sys.byteorder)
            for _ in range(info.count)
        )
    return _tensors.view_of(info.element, content)


def _read_npy(path: str) -> Any:
    if np is None:
        raise Error(f"{path}: found a .npy file, expected NumPy to read it")
    try:
        return np.load(path)
    except (OSError, ValueError, EOFError) as error:
        raise Error(f"{path}: {str(error).splitlines()[0]}") from None


def _read_sound(path: str, info: TensorInfo, properties: Dict[str, str]) -> Any:
    """A .wav file, of the rate that the bundle says or of its own, cut or
    filled with zeros."""
    import wave

    from .media import audio

    rate = properties.get("sample_rate", "")
    if not rate.isdigit():
        try:
            with wave.open(path) as file:
                rate = str(file.getframerate())
        except (OSError, EOFError, wave.Error) as error:
            raise Error(f"{path}: {error}") from None
    samples = audio(path, rate=int(rate), samples=info.count)
    return samples.reshape(info.shape) if np else samples


def _read(path: str, info: TensorInfo, session: Session) -> Any:
    """A file as an input."""
    ending = os.path.splitext(path)[1].lower()
    if ending == ".npy":
        return _read_npy(path)
    try:
        if ending == ".wav":
            return _read_sound(path, info, session.properties)
        if ending in _IMAGES:
            from .media import image

            return image(path, info, properties=session)
    except ImportError:
        raise Error(
            f"{path}: found an image or sound, expected a .npy file: this"
            " package has no nnv12.media"
        ) from None
    raise wrong(f"{path}: found '{ending}', expected .npy, .wav or an image")


class Inputs:
    """The inputs of a model: `feeds` by name, and where they come from."""

    def __init__(self, given: Sequence[str], session: Session) -> None:
        names = [info.name for info in session.inputs]
        files: Dict[str, str] = {}
        for text in given:
            name, separator, path = text.partition("=")
            if not separator or name not in names:
                if len(names) != 1 or (separator and not os.path.exists(text)):
                    raise wrong(
                        f"{text}: found no input of that name, expected"
                        f" NAME=FILE with a name of {', '.join(names)}"
                    )
                name, path = names[0], text
            files[name] = path
        self.infos = session.inputs
        self.files = files
        self.feeds = {
            info.name: _read(files[info.name], info, session)
            if info.name in files
            else _random(info)
            for info in session.inputs
        }

    def save(self, folder: str) -> List[str]:
        """Writes them for coldstart.py, and returns its arguments."""
        arguments = []
        for i, info in enumerate(self.infos):
            path = os.path.join(folder, f"input_{i}")
            with open(path, "wb") as file:
                file.write(memoryview(self.feeds[info.name]).cast("B"))
            extents = "x".join(map(str, info.shape))
            arguments.append(f"{info.name}={info.element}={extents}={path}")
        return arguments


def _evict(path: str) -> None:
    """Takes a file out of the page cache, so that a run reads it again."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def _cold(
    engine: str, model: str, threads: int, inputs: Sequence[str]
) -> Dict[str, float]:
    """Seconds of the parts of a first result in a fresh process."""
    import subprocess

    _evict(model)
    command = [sys.executable, "-c"]
    # The package is where this one is.
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    command.append(
        f"import sys; sys.path.insert(0, {folder!r});"
        " from nnv12.coldstart import main; main(*sys.argv[1:])"
    )
    command += [engine, model, str(threads), *inputs]
    return json.loads(run_tool(command, stdout=subprocess.PIPE))


def _first_result(parts: Dict[str, float]) -> float:
    return parts["session"] + parts["run"]


def _round(run: Any) -> List[float]:
    """Seconds of each of some runs, one after the other."""
    times: List[float] = []
    end = time.perf_counter() + _SECONDS / _ROUNDS
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def _warm(runs: Sequence[Any], pause: float) -> List[float]:
    """The medians of functions that take turns."""
    times: List[List[float]] = [[] for _ in runs]
    for _ in range(_ROUNDS):
        for own, run in zip(times, runs):
            own += _round(run)
            time.sleep(pause)
    return [median(own) for own in times]


def _ms(seconds: float) -> str:
    milliseconds = 1e3 * seconds
    digits = 3 if milliseconds < 1 else 2 if milliseconds < 100 else 0
    return f"{milliseconds:.{digits}f} ms"


def _counted(count: int, noun: str, plural: str = "s") -> str:
    return f"{count} {noun}{plural if count != 1 else ''}"


def _table(engines: Sequence[Times]) -> str:
    lines = [" " * 30 + "".join(f"{e.name:>20}" for e in engines)]
    for label, name in (
        ("cold: session and first run", "cold"),
        ("warm: a later run", "warm"),
    ):
        times = [getattr(engine, name) for engine in engines]
        lines.append(f"{label:30}" + "".join(f"{_ms(t):>20}" for t in times))
    return "\n".join(lines)


def _difference(ours: Sequence[Any], theirs: Sequence[Any]) -> str:
    """The largest difference of outputs that both engines have."""
    worst = 0.0
    for mine, other in zip(ours, theirs):
        if mine.shape != other.shape or mine.dtype != other.dtype:
            return "outputs differ in shape or type"
        if mine.size and mine.dtype.kind in "fiub":
            size = np.abs(other.astype(np.float64)).max() or 1.0
            apart = np.abs(mine.astype(np.float64) - other)
            worst = max(worst, float(apart.max() / size))
    return f"outputs differ by {worst:.1g} of the largest element at most"


def _classes(session: Session, results: Sequence[Any]) -> Optional[str]:
    """The best three classes, where the bundle has their names."""
    labels = session.properties.get("labels", "").splitlines()
    if not labels or np is None or results[0].size != len(labels):
        return None
    scores = results[0].reshape(-1)
    best = scores.argsort()[::-1][:3]
    return ", ".join(f"{labels[i]} ({scores[i]:.3g})" for i in best)


def _explain(cold: Dict[str, float], profile: Profile) -> List[str]:
    """Where the time goes."""
    run, weights = cold["run"], cold["weights"]
    rest = max(run - weights - cold["compute"], 0)
    top = profile.rows[0]
    layers = _counted(top.layers, "layer")
    return [
        f"cold: {_ms(cold['session'])} to open the bundle and to start the"
        f" session, {_ms(cold['compute'])} to compute, {_ms(weights)} waiting"
        f" for weights, {_ms(rest)} for the rest",
        f"warm: {100 * top.share:.0f} % in {top.kernel}, {layers}, such as"
        f" {top.layer}",
    ]


def _advice(
    args: argparse.Namespace,
    session: Session,
    cold: Dict[str, float],
    warm: float,
) -> List[str]:
    """Advice in words."""
    info, threads = session.bundle.info, session.info["threads"]
    lines = []
    is_compiled_here = not args.model.endswith(".nnv")
    if is_compiled_here and args.target != "host":
        lines.append("--target host: measures kernels on this machine")
    if cold["weights"] > 0.2 * (cold["session"] + cold["run"]):
        lines.append(
            "--option=--weights=f16: half the bytes to read; results differ"
            " in the last digits"
        )
    if threads > 1 and warm < 100e-6:
        lines.append("--threads 1: so small a model gains little by more")
    if is_compiled_here and info["num_switches"]:
        lines.append(
            "--option=--mode=cold: for a program that runs it once; or"
            " --option=--mode=continuous for one that runs it on and on"
        )
    if info["weights_size"] > 1 << 20 and warm > 1e-3:
        lines.append(
            "8 bits: nnv12c --precision int8 --calibrate FOLDER, see"
            " docs/quantization.md"
        )
    lines.append("all layers: Session(record='operation').profile(by='layer')")
    return lines


def _peer(model: str) -> Optional[str]:
    """ONNX Runtime's version, where it is installed."""
    if model.endswith(".nnv") or np is None:
        return None
    try:
        import onnxruntime
    except ImportError:
        return None
    return onnxruntime.__version__


def _try(args: argparse.Namespace, folder: str) -> None:
    bundle = args.model
    if not bundle.endswith(".nnv"):
        bundle = args.output or os.path.join(folder, "model.nnv")
        shapes = [f"--shape={shape}" for shape in args.shape]
        start = time.perf_counter()
        compile(
            args.model,
            bundle,
            target=args.target,
            options=[*shapes, *args.option],
        )
        seconds = time.perf_counter() - start
        size = os.path.getsize(bundle) / 1e6
        kept = f", in {bundle}" if args.output else ""
        print(f"compiled in {seconds:.1f} s, {size:.2f} MB{kept}")
    session = Session(bundle, threads=args.threads, record="operation")
    with session:
        inputs = Inputs(args.input, session)
        # All that is wrong with inputs comes to light before measuring.
        results = session.run(None, inputs.feeds)
        for info in session.inputs:
            source = inputs.files.get(info.name, "random")
            print(f"input   {info.name} {info.element} {info.shape}: {source}")
        for info in session.outputs:
            print(f"output  {info.name} {info.element} {info.shape}")
        classes = _classes(session, results)
        if classes:
            print(f"classes {classes}")
        _measure(args, folder, bundle, session, inputs, results)


def _measure(
    args: argparse.Namespace,
    folder: str,
    bundle: str,
    session: Session,
    inputs: Inputs,
    results: Sequence[Any],
) -> None:
    """Measures both engines, and prints all that is found."""
    threads = session.info["threads"]
    saved = inputs.save(folder)
    models = {"nnv12": bundle}
    runs = [lambda: session.run(None, inputs.feeds)]
    names = ["nnv12"]
    version = _peer(args.model)
    difference = None
    if version:
        from .coldstart import ort_array, ort_session

        try:
            peer = ort_session(args.model, threads)
            feeds = {
                info.name: ort_array(
                    info.element, info.shape, bytes(inputs.feeds[info.name])
                )
                for info in inputs.infos
            }
            difference = _difference(results, peer.run(None, feeds))
        except Exception as error:
            print(f"onnxruntime: {str(error).splitlines()[0]}")
        else:
            models["onnxruntime"] = args.model
            runs.append(lambda: peer.run(None, feeds))
            names.append(f"onnxruntime {version}")
    colds: List[List[Dict[str, float]]] = [[] for _ in models]
    for _ in range(max(args.cold, 1)):
        for own, (engine, model) in zip(colds, models.items()):
            own.append(_cold(engine, model, threads, saved))
    for own in colds:
        own.sort(key=_first_result)
    # The parts are those of the process that the table has.
    middle = [own[len(own) // 2] for own in colds]
    session.prepare()
    pause = _SPINNING if len(runs) > 1 and threads > 1 else 0
    warms = _warm(runs, pause)
    print(
        f"\n{_counted(threads, 'thread')},"
        f" {_counted(max(args.cold, 1), 'fresh process', 'es')}; medians"
    )
    print(
        _table(
            [
                Times(name, _first_result(parts), warm)
                for name, parts, warm in zip(names, middle, warms)
            ]
        )
    )
    if difference:
        print(difference)
    print("\nWhere the time goes")
    for line in _explain(middle[0], session.profile()):
        print(f"  {line}")
    print("Advice")
    for line in _advice(args, session, middle[0], warms[0]):
        print(f"  {line}")


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command, with its exit status."""
    args = _parser().parse_args(arguments)
    folder = tempfile.mkdtemp(prefix="nnv12-")
    try:
        _try(args, folder)
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0
