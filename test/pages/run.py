"""Runs all blocks of docs/getting-started.md and docs/shipping.md.

    run.py --build FOLDER [--cmake CMAKE] [--installed FOLDER]

Installs the build into a folder as a wheel does, and works there: with a copy
of the Python package, and the files below it. --installed names an installed
build instead.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

from pages import Failure, Page, blocks_of, inside

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
EXPORTED = ROOT / "test" / "exported"
sys.path += [str(EXPORTED), str(ROOT / "test" / "python")]

# Commands that other tests run, and those tests.
ELSEWHERE = {
    "python3 -m pip install nnv12-": "package.wheel",
    "tools/wheel": "package.wheel",
    "cmake --preset release && cmake --build build": "tools/check",
    "cmake --preset runtime && cmake --build build/runtime-only": "tools/check",
    "cmake -B build-arm": "tools/check, with the preset aarch64",
}


def check(is_good, message):
    if not is_good:
        raise Failure(message)


def is_elsewhere(text):
    return any(text.lstrip().startswith(command) for command in ELSEWHERE)


def make_files():
    """The files that the pages' commands take."""
    shutil.copy(EXPORTED / "detector.onnx", "detector.onnx")
    shutil.copy(ROOT / "tools" / "demo.d" / "espresso.jpg", "photo.jpg")
    import chunks
    import numpy as np

    sound = np.concatenate(list(chunks.detector_inputs(20)), axis=None)
    with wave.open("speech.wav", "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", None))
        file.writeframes((sound * 32767).astype("<i2").tobytes())
    shape = 1, 3, 64, 64
    noise = np.random.RandomState(45).random_sample(shape)
    os.mkdir("case")
    np.save("case/input_0.npy", noise.astype(np.float32))
    shutil.copy(EXPORTED / "classifier.npy", "case/output_0.npy")


class GettingStarted:
    """The page of that name."""

    def __init__(self, environment):
        page = DOCS / "getting-started.md"
        self.page = Page(page, environment, self.instead)
        self.exports = 0

    def instead(self, language, text):
        if "torch.onnx.export" in text:
            # Exported on a machine with PyTorch.
            ran = (EXPORTED / "classifier.txt").read_text(encoding="utf-8")
            check(
                text == ran,
                "found another text than test/exported/classifier.txt, which"
                " made the model: run test/exported/export.py",
            )
            shutil.copy(EXPORTED / "classifier.onnx", "model.onnx")
            self.exports += 1
            return True
        if language == "sh" and is_elsewhere(text):
            check_options(text)
            # The variables are those of the wheel.
            if "_files" in text:
                self.page.run_commands("\n".join(text.splitlines()[1:]) + "\n")
            return True
        return False

    def run(self):
        self.page.run()
        check(self.exports == 1, f"found {self.exports} exports, expected 1")
        names = self.page.names
        self.check_image(names)
        self.check_stream(names)
        self.check_errors()

    def check_image(self, names):
        """nnv12-run makes the same bytes of a photo."""
        import numpy as np

        self.page.run_commands(
            "nnv12c model.onnx -o photo.nnv --property fit=crop --property"
            " mean=0.485,0.456,0.406 --property std=0.229,0.224,0.225\n"
            "nnv12-run photo.nnv --input x=photo.jpg --save-inputs saved\n"
        )
        saved = np.load("saved/input_0.npy")
        check(
            saved.tobytes() == names["x"].tobytes(),
            "nnv12.image: found other bytes than those of nnv12-run",
        )

    def check_stream(self, names):
        """The steps of the page are those of a plain loop."""
        import numpy as np

        nnv12, sound = names["nnv12"], names["sound"]
        session = nnv12.Session("detector.nnv", threads=1)
        state = [np.zeros(i.shape, i.dtype) for i in session.inputs[1:]]
        for x in sound[: sound.size // 512 * 512].reshape(-1, 1, 512):
            feeds = dict(zip([i.name for i in session.inputs], [x, *state]))
            speech, *state = session.run(None, feeds)
        check(sound.size == 20 * 512, f"found {sound.size} samples")
        for found, expected in zip(
            [names["speech"], *names["now"].values()], [speech, *state]
        ):
            check(
                found.tobytes() == expected.tobytes(),
                "stream: found other results than those of a plain loop",
            )

    def check_errors(self):
        """Each row of the table is a message that comes."""
        table = (DOCS / "getting-started.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| `(.+?)` \|", table, re.M)
        found = list(first_errors(self.page))
        check(len(rows) == len(found), f"found {len(rows)} rows of errors")
        for row, message in zip(rows, found):
            pattern = ".*".join(map(re.escape, row.split("…")))
            check(
                re.fullmatch(pattern, message),
                f"errors: found '{message}', expected '{row}'",
            )


def first_errors(page):
    """The messages of the table, in its order."""
    import numpy as np
    from onnx_writer import write_model

    nnv12 = page.names["nnv12"]
    session = nnv12.Session("model.nnv")

    def error(function, *arguments, **options):
        try:
            function(*arguments, **options)
        except nnv12.Error as caught:
            return str(caught)
        return "no error"

    for model, operator, shape in (
        ("open.onnx", "Relu", ("batch", "height", 4)),
        ("odd.onnx", "Wobble", (1, 4)),
    ):
        tensors = [[(name, "f32", shape)] for name in "xy"]
        write_model(model, [(operator, ["x"], ["y"])], *tensors)
        yield error(nnv12.compile, model)
    flat = np.zeros((1, 64, 64, 3), np.float32)
    for feeds in (
        {"x": np.zeros((1, 3, 64, 64))},
        {"x": np.zeros((3, 64, 64), np.float32)},
        {"x": flat.transpose(0, 3, 1, 2)},
        {"image": flat},
    ):
        yield error(session.run, feeds)
    yield error(nnv12.Session, "model.onnx")
    nnv12.compile("model.onnx", "other.nnv", target="aarch64")
    yield error(nnv12.Session, "other.nnv")
    yield error(nnv12.Session, ROOT / "test" / "data" / "format-4.nnv")
    with wave.open("fast.wav", "wb") as file:
        file.setparams((1, 2, 44100, 0, "NONE", None))
        file.writeframes(bytes(100))
    yield error(nnv12.audio, "fast.wav", rate=16000)
    for variable, call in (
        ("NNV12_TOOLS", "compile('model.onnx')"),
        ("NNV12_LIBRARY", "Session('model.nnv')"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", f"import nnv12; nnv12.{call}"],
            env={**page.environment, variable: "/nowhere/none"},
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        last = done.stderr.splitlines()[-1]
        yield last.replace("nnv12.errors.Error: ", "")


class Shipping:
    """docs/shipping.md, where the files of the page before are."""

    def __init__(self, environment, files):
        page = DOCS / "shipping.md"
        self.page = Page(page, environment, self.instead)
        self.files = files

    def instead(self, language, text):
        if language == "sh" and is_elsewhere(text):
            check_options(text)
            return True
        if language == "cmake":
            first, _, rest = text.partition("\n")
            Path("CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.16)\nproject(app C)\n"
                f"{first}\nadd_executable(app app.c)\n{rest}"
            )
            self.page.run_commands(
                f"cmake -B app-build -DCMAKE_PREFIX_PATH={self.files}\n"
                "cmake --build app-build\napp-build/app\n"
            )
            check("class" in self.page.output, "app: found no class")
            return True
        if "DIR" in text:
            self.page.run_commands(text.replace("DIR", str(self.files)))
            return True
        return False

    def run(self):
        shutil.rmtree("build", ignore_errors=True)
        self.page.run()
        check(Path("a.out").exists(), "cc app.c: found no program")
        done = subprocess.run(
            ["nnv12-inspect", "model.nnv", "--public-key", "release.pub"],
            env=self.page.environment,
            stdout=subprocess.PIPE,
            universal_newlines=True,
        )
        check(done.returncode == 0, "model.nnv: found no good signature")
        check_option_table()


def check_options(text):
    """Presets and files that a command names are there; so are options."""
    presets = (ROOT / "CMakePresets.json").read_text()
    for name in re.findall(r"--preset (\w+)", text):
        check(f'"name": "{name}"' in presets, f"preset {name}: found none")
    for name in re.findall(r"CMAKE_TOOLCHAIN_FILE=(\S+)", text):
        check((ROOT / name).is_file(), f"{name}: found no such file")
    for name in re.findall(r"-D(NNV12_\w+)", text):
        check_option(name)


def check_option(name):
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "grep", "-lw", name, "--", "*CMake*"],
        stdout=subprocess.PIPE,
    )
    check(listed.stdout, f"{name}: found no option of the build of that name")


def check_option_table():
    page = (DOCS / "shipping.md").read_text(encoding="utf-8")
    names = re.findall(r"^\| `(NNV12_\w+)` \|", page, re.M)
    check(len(names) > 3, f"found {len(names)} options of the build")
    for name in names:
        check_option(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build")
    parser.add_argument("--installed")
    parser.add_argument("--cmake", default="cmake")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nnv12-pages-") as work:
        work = Path(work)
        # As a wheel has it.
        package = work / "site" / "nnv12"
        files = package / "_files"
        shutil.copytree(ROOT / "runtime" / "python" / "nnv12", package)
        if args.installed:
            files.symlink_to(Path(args.installed).resolve())
        else:
            install = [args.cmake, "--install", args.build, "--prefix"]
            subprocess.run(
                [*install, files], check=True, stdout=subprocess.DEVNULL
            )
        links = work / "bin"
        links.mkdir()
        (links / "python3").symlink_to(sys.executable)
        environment = {
            **os.environ,
            "PATH": f"{links}:{files}/bin:{os.environ['PATH']}",
            "PYTHONPATH": str(package.parent),
            "PYTHONDONTWRITEBYTECODE": "1",
            # Times that --target host measures are not kept.
            "XDG_CACHE_HOME": str(work / "cache"),
        }
        for name in ("NNV12_LIBRARY", "NNV12_TOOLS"):
            environment.pop(name, None)
            os.environ.pop(name, None)
        os.environ["XDG_CACHE_HOME"] = environment["XDG_CACHE_HOME"]
        sys.path.insert(0, str(package.parent))
        (work / "in").mkdir()
        try:
            with inside(work / "in"):
                make_files()
                pages = [
                    GettingStarted(environment),
                    Shipping(environment, files),
                ]
                for page in pages:
                    page.run()
        except Failure as failure:
            sys.exit(f"pages: {failure}")
        print(f"pages: {sum(page.page.done for page in pages)} blocks run")


if __name__ == "__main__":
    main()
