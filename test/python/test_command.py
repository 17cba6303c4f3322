"""python3 -m nnv12."""
import os
import signal
import subprocess
import sys
import time
import unittest
import wave

from made_models import FOLDER, ROOT, Case, identity, mnist, needs_numpy, np
from made_models import nnv12, stream
from onnx_writer import write_model

MODEL = ROOT / "test" / "models" / "data" / "mnist" / "model.onnx"
# Stands for ONNX Runtime, which few machines have for Python.
STUB = """
import numpy as np
__version__ = "9.9"
class SessionOptions:
    intra_op_num_threads = 0
class InferenceSession:
    def __init__(self, model, options, providers):
        assert providers == ["CPUExecutionProvider"]
        assert open(model, "rb").read(1)
    def run(self, names, feeds):
        assert feeds["Input3"].shape == (1, 1, 28, 28), feeds
        assert feeds["Input3"].dtype == np.float32
        return [np.full((1, 10), 1e6, np.float32)]
"""


class Command(Case):
    def start(self, *arguments, path=()):
        folders = [ROOT / "runtime" / "python", *path]
        return subprocess.Popen(
            [sys.executable, "-m", "nnv12", *map(str, arguments)],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, folders)),
            },
            cwd=FOLDER,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )

    def good(self, *arguments, path=()):
        process = self.start(*arguments, path=path)
        output, messages = process.communicate()
        self.assertEqual(process.returncode, 0, messages)
        for line in (
            "cold: session and first run",
            "warm: a later run",
            "Where the time goes",
            "Advice",
        ):
            self.assertIn(line, output)
        return output

    def bad(self, expected, *arguments):
        process = self.start(*arguments)
        output, messages = process.communicate()
        self.assertEqual(process.returncode, 1, output)
        self.assertEqual(messages.count("\n"), 1, messages)
        self.assertIn(expected, messages)

    def test_model(self):
        output = self.good(MODEL, "--cold=1", "--threads=1")
        self.assertRegex(output, r"^compiled in [\d.]+ s, 0.06 MB\n")
        self.assertIn("input   Input3 f32 (1, 1, 28, 28): random", output)
        self.assertIn("output  Plus214_Output_0 f32 (1, 10)", output)
        self.assertIn("1 thread, 1 fresh process; medians", output)
        self.assertRegex(output, r"warm: \d+ % in cpu:f32/")
        self.assertNotIn("onnxruntime", output)
        self.assertIn("--target host", output)

    def test_kept_bundle(self):
        kept = FOLDER / "kept.nnv"
        self.good(MODEL, "-o", kept, "--cold=1", "--option=--mode=cold")
        nnv12.Bundle(kept).close()
        output = self.good(kept, "--cold=1")
        self.assertNotIn("compiled", output)
        self.assertNotIn("--target", output)

    def test_types_and_open_shapes(self):
        model = FOLDER / "many.onnx"
        types = ("f64", "f16", "bf16", "i64", "u8", "bool")
        write_model(
            model,
            [("Identity", [t], [f"{t}.out"]) for t in types],
            [(t, t, ("n", 2)) for t in types],
            [(f"{t}.out", t, ("n", 2)) for t in types],
        )
        output = self.good(model, "--shape=n=3", "--cold=1")
        self.assertIn("input   f16 f16 (3, 2): random", output)

    def test_scalar(self):
        self.good(identity("f32", ()), "--cold=1")

    def test_refusals(self):
        self.bad("No such file", "missing.onnx")
        self.bad("missing.nnv", "missing.nnv")
        self.bad("threads: found -1", mnist(), "--threads=-1")
        self.bad("z=a.npy: found no input of that name", mnist(), "z=a.npy")
        self.bad("expected NAME=FILE", stream(), "a.npy")
        self.bad("found '.txt', expected .npy", mnist(), "a.txt")

    def test_ctrl_c(self):
        process = self.start(mnist(), "--cold=500")
        self.assertIn("input", process.stdout.readline() or "input")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertNotIn("Error", messages)

    @needs_numpy
    def test_files(self):
        np.save(FOLDER / "x.npy", np.ones((1, 1, 28, 28), np.float32))
        output = self.good(mnist(), "x.npy", "--cold=1")
        self.assertIn("(1, 1, 28, 28): x.npy", output)
        output = self.good(mnist(), "Input3=x.npy", "--cold=1")
        self.assertIn("(1, 1, 28, 28): x.npy", output)
        np.save(FOLDER / "wrong.npy", np.ones((1, 28, 28), np.float32))
        self.bad("found shape (1, 28, 28)", mnist(), "wrong.npy")
        (FOLDER / "text.npy").write_text("no array")
        self.bad("text.npy: ", mnist(), "text.npy")
        self.bad("gone.npy: ", mnist(), "gone.npy")

    def test_image_and_sound(self):
        image = ROOT / "tools" / "demo.d" / "espresso.jpg"
        pixels = identity("f32", (1, 3, 8, 8))
        sound = FOLDER / "sound.wav"
        with wave.open(str(sound), "wb") as file:
            file.setparams((1, 2, 16000, 0, "NONE", None))
            file.writeframes(bytes(100))
        try:
            import nnv12.media  # noqa: F401
        except ImportError:
            self.bad("expected a .npy file", pixels, image)
            self.bad("expected a .npy file", stream(), f"x={sound}")
            return
        self.assertIn("espresso.jpg", self.good(pixels, image, "--cold=1"))
        output = self.good(stream(), f"x={sound}", "--cold=1")
        self.assertIn(f"x f32 (1, 4): {sound}", output)
        sound.write_text("no sound")
        self.bad("sound.wav: ", stream(), f"x={sound}")

    @needs_numpy
    def test_beside_onnxruntime(self):
        stub = FOLDER / "stub"
        stub.mkdir()
        (stub / "onnxruntime.py").write_text(STUB)
        output = self.good(MODEL, "--cold=1", path=[stub])
        self.assertRegex(output, r"nnv12 +onnxruntime 9.9\n")
        self.assertRegex(output, r"warm: a later run +[\d.]+ ms +[\d.]+ ms\n")
        self.assertIn("outputs differ by 1 of the largest element", output)
        # One that cannot run the model.
        broken = FOLDER / "broken"
        broken.mkdir()
        (broken / "onnxruntime.py").write_text(
            STUB.replace("def run", "def walk")
        )
        output = self.good(MODEL, "--cold=1", path=[broken])
        self.assertIn("onnxruntime: 'InferenceSession' object has", output)


if __name__ == "__main__":
    unittest.main()
