"""Runs all commands and pieces of Python of docs/python.md, in their order."""
import concurrent.futures
import contextlib
import io
import os
import re
import subprocess
import sys
import unittest
import unittest.mock

from made_models import FOLDER, ROOT, Case, needs_numpy, nnv12, np, stream
from onnx_writer import write_model

BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.M | re.S)
PAGE = ROOT / "docs" / "python.md"


@needs_numpy
class Page(Case):
    def setUp(self):
        self.folder = FOLDER / "page"
        self.folder.mkdir()
        shape = (1, 3, 32, 32)
        write_model(
            self.folder / "model.onnx",
            [("Relu", ["x"], ["y"])],
            [("x", "f32", shape)],
            [("y", "f32", shape)],
        )
        os.link(stream(), self.folder / "stream.nnv")
        image = np.ones(shape, np.float32)
        np.save(self.folder / "image.npy", image)
        chunks = [np.full((1, 4), i, np.float32) for i in range(5)]
        self.names = {
            "np": np,
            "image": image,
            "chunks": chunks,
            "concurrent": concurrent,
        }
        # Times that --target host measures are not kept.
        cache = {"XDG_CACHE_HOME": str(self.folder)}
        patch = unittest.mock.patch.dict(os.environ, cache)
        patch.start()
        self.addCleanup(patch.stop)
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)

    def test_blocks(self):
        blocks = [
            (kind, text, PAGE.read_text()[: match.start()].count("\n") + 1)
            for match in BLOCK.finditer(PAGE.read_text())
            for kind, text in [match.groups()]
        ]
        self.assertGreater(len(blocks), 6)
        output = io.StringIO()
        for kind, text, line in blocks:
            with self.subTest(line=line):
                if kind == "sh":
                    self.run_commands(text)
                else:
                    code = compile("\n" * line + text, str(PAGE), "exec")
                    with contextlib.redirect_stdout(output):
                        exec(code, self.names)
        self.assertIn("runs, median", output.getvalue())
        self.assertIn("photo.jpg", output.getvalue())
        # The state of five steps: 2 (0 + 1 + 2 + 3 + 4).
        np.testing.assert_array_equal(self.names["state"], [[20] * 4])

    def run_commands(self, text):
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "runtime" / "python"),
        }
        for command in text.splitlines():
            command = command.replace("python3", sys.executable, 1)
            done = subprocess.run(
                command,
                shell=True,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                universal_newlines=True,
            )
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("Where the time goes", done.stdout)


if __name__ == "__main__":
    unittest.main()
