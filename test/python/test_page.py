"""Runs all commands and pieces of Python of docs/python.md, in their order."""
import concurrent.futures
import os
import sys
import unittest
import unittest.mock

from made_models import FOLDER, ROOT, Case, needs_numpy, nnv12, np, stream
from onnx_writer import write_model

sys.path.append(str(ROOT / "test" / "pages"))
import pages  # noqa: E402


class Blocks(pages.Page):
    """Keeps the output of each block, beside its language and text."""

    def __init__(self, path, environment):
        super().__init__(path, environment)
        self.blocks = []

    def run_block(self, language, text, line):
        super().run_block(language, text, line)
        self.blocks.append((language, text, self.output))


@needs_numpy
class PageTest(Case):
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
        # Times that --target host measures are not kept.
        cache = {"XDG_CACHE_HOME": str(self.folder)}
        patch = unittest.mock.patch.dict(os.environ, cache)
        patch.start()
        self.addCleanup(patch.stop)
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "python3").symlink_to(sys.executable)
        environment = {
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "runtime" / "python"),
        }
        self.page = Blocks(ROOT / "docs" / "python.md", environment)
        self.page.names = {
            "np": np,
            "image": image,
            "chunks": chunks,
            "concurrent": concurrent,
        }
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)

    def test_blocks(self):
        self.page.run()
        self.assertGreater(len(self.page.blocks), 6)
        printed = ""
        for language, text, output in self.page.blocks:
            if language == "python":
                printed += output
                continue
            commands = len(text.splitlines())
            self.assertEqual(output.count("Where the time goes"), commands)
        self.assertIn("runs, median", printed)
        self.assertIn("photo.jpg", printed)
        # The state of five steps: 2 (0 + 1 + 2 + 3 + 4).
        np.testing.assert_array_equal(self.page.names["state"], [[20] * 4])


if __name__ == "__main__":
    unittest.main()
