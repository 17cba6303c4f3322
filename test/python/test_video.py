"""Frames of a video: sessions with a stream."""
import functools
import unittest

from made_models import FOLDER, ROOT, Case, mnist, nnv12, noise, np


@functools.lru_cache(maxsize=None)
def blazeface():
    """A bundle with a part for video."""
    model = ROOT / "test" / "models" / "data" / "blazeface" / "model.onnx"
    return nnv12.compile(model, FOLDER / "video.nnv", options=["--video=exact"])


class VideoTest(Case):
    def setUp(self):
        self.session = nnv12.Session(blazeface(), stream=True, threads=2)
        self.plain = nnv12.Session(blazeface(), threads=2)
        (self.tensor,) = self.session.inputs
        self.frame = noise(self.tensor.count)
        # The first frame that changes after the plan is computed whole.
        self.session.prepare()
        while not self.session.stream_info["whole_frames"]:
            self.change(0, 0, 1, 1)
            self.run_both()
        info = self.session.stream_info
        self.runs, self.frames = info["runs"], info["frames"]

    def tearDown(self):
        self.session.close()
        self.plain.close()

    def run_both(self):
        """Runs a frame. The results are those of a session without a stream."""
        feeds = {self.tensor.name: self.frame}
        found, expected = self.session.run(feeds), self.plain.run(feeds)
        for name, output in expected.items():
            self.assertEqual(bytes(found[name]), bytes(output))

    def change(self, x, y, width, height):
        """Changes a rectangle of the frame, whose channels come last."""
        _, _, columns, channels = self.tensor.shape
        for row in range(y, y + height):
            begin = (row * columns + x) * channels
            for i in range(begin, begin + width * channels):
                self.frame[i] += 1

    def sums(self, pixels):
        """How many pixels there are of each kind."""
        data = bytes(memoryview(pixels).cast("B"))
        return {value: data.count(value) for value in (0, 1)}

    def test_frames(self):
        _, rows, columns, _ = self.tensor.shape
        for x, y, width, height in ((10, 20, 9, 5), (100, 90, 16, 16)):
            self.change(x, y, width, height)
            self.run_both()
            pixels = self.session.changed(self.tensor.name)
            self.assertEqual(memoryview(pixels).shape, (rows, columns))
            self.assertEqual(self.sums(pixels)[1], width * height)
            here = memoryview(pixels)[y, x], memoryview(pixels)[y - 1, x]
            self.assertEqual(here, (True, False))
        info = self.session.stream_info
        self.assertEqual(info["runs"], self.runs + 2)
        self.assertEqual(info["frames"], self.frames + 2)
        self.assertLess(info["computed"], 0.9)
        self.assertGreater(info["memory_size"], 0)
        computed = self.sums(self.session.computed(0))
        self.assertGreater(computed[0], computed[1])
        self.assertGreater(computed[1], 0)
        self.session.reset()
        self.run_both()
        self.assertEqual(self.sums(self.session.computed(0))[0], 0)

    def test_hint(self):
        _, rows, columns, _ = self.tensor.shape
        self.change(0, 0, 8, 8)
        clean = [(0, 8, columns, rows - 8), (8, 0, columns - 8, 8)]
        self.session.hint(self.tensor.name, clean)
        self.run_both()
        self.assertEqual(
            self.sums(self.session.changed(self.tensor.name))[1], 64
        )

    @unittest.skipUnless(np, "this Python has no NumPy")
    def test_arrays(self):
        self.change(0, 0, 8, 8)
        self.run_both()
        pixels = self.session.changed(self.tensor.name)
        self.assertEqual(pixels.dtype, np.bool_)
        self.assertTrue(pixels[:8, :8].all())
        self.assertEqual(pixels.sum(), 64)

    def test_refusals(self):
        session, name = self.session, self.tensor.name
        self.refuses("changed: found input 'z', expected", session.changed, "z")
        self.refuses("hint: found input 'z', expected", session.hint, "z", [])
        self.refuses("operation: found -1", session.computed, -1)
        self.refuses("operation: found 99999", session.computed, 99999)
        self.refuses("rectangle", session.hint, name, [(0, 0, 0, 8)])
        with nnv12.Session(mnist()) as other:
            self.refuses("without a stream", other.changed, "Input3", status=4)
        session.close()
        self.refuses("closed", session.changed, name)


if __name__ == "__main__":
    unittest.main()
