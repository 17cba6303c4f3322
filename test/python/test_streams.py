"""Streams of speech that hand on their states: models of test/exported."""
import sys
import time
import unittest

from made_models import FOLDER, ROOT, Case, needs_numpy, nnv12, np

EXPORTED = ROOT / "test" / "exported"
sys.path.append(str(EXPORTED))
STEPS = 100
TOLERANCE = 1e-4
# Microseconds of a step beside those of the library's call.
STEP_BOUND = 30


class Stream:
    """A session, its result and two buffers of each state, which change
    places."""

    def __init__(self, name):
        bundle = FOLDER / f"{name}.nnv"
        if not bundle.exists():
            nnv12.compile(EXPORTED / f"{name}.onnx", bundle)
        self.session = nnv12.Session(bundle, threads=1)
        self.result, *_ = self.session.outputs
        self.y = np.empty(self.result.shape, self.result.dtype)
        _, *states = self.session.inputs
        self.state, self.after = (
            {info.name: np.zeros(info.shape, info.dtype) for info in states}
            for _ in range(2)
        )

    def step(self, x):
        out = {f"{name}_next": array for name, array in self.after.items()}
        out[self.result.name] = self.y
        self.session.run({"x": x, **self.state}, out=out)
        self.state, self.after = self.after, self.state

    def values(self):
        """Copies of the outputs by name."""
        found = {f"{name}_next": a.copy() for name, a in self.state.items()}
        found[self.result.name] = self.y.copy()
        return found


@needs_numpy
class Streams(Case):
    def inputs(self, name):
        import chunks

        return list(getattr(chunks, f"{name}_inputs")(STEPS))

    def follow(self, name):
        stream = Stream(name)
        self.addCleanup(stream.session.close)
        found = []
        for x in self.inputs(name):
            before = {n: a.ctypes.data for n, a in stream.state.items()}
            stream.step(x)
            found.append(stream.values())
            self.check_addresses(stream, x, before)
        with np.load(EXPORTED / f"{name}.npz") as recorded:
            self.assertEqual(set(recorded.files), set(found[0]))
            for output in recorded.files:
                self.compare(recorded[output], [f[output] for f in found])

    def check_addresses(self, stream, x, before):
        """The last step read and wrote where the caller's arrays lie."""
        now = {n: a.ctypes.data for n, a in stream.state.items()}
        self.assertEqual(
            [buffer.data for buffer in stream.session._buffers],
            [
                x.ctypes.data,
                *before.values(),
                stream.y.ctypes.data,
                *now.values(),
            ],
        )

    def compare(self, expected, found):
        """With all steps, or with the last one."""
        is_last = expected.shape == found[-1].shape
        found = found[-1] if is_last else np.stack(found)
        self.assertEqual(found.shape, expected.shape)
        self.assertEqual(found.dtype, expected.dtype)
        np.testing.assert_allclose(found, expected, 0, TOLERANCE)

    def test_detector(self):
        self.follow("detector")

    def test_conformer(self):
        self.follow("conformer")

    def test_states_count(self):
        """A state that is not handed on gives other results."""
        stream = Stream("detector")
        self.addCleanup(stream.session.close)
        with np.load(EXPORTED / "detector.npz") as recorded:
            expected = recorded["speech"][-1]
        for x in self.inputs("detector"):
            for name in "hc":
                stream.state[name].fill(0)
            stream.step(x)
        self.assertGreater(abs(stream.y - expected).max(), TOLERANCE)

    def test_time_of_a_step(self):
        """In turns with the library's call alone."""
        for name in ("detector", "conformer"):
            stream = Stream(name)
            self.addCleanup(stream.session.close)
            step, session = stream.step, stream.session
            x = self.inputs(name)[-1]
            stream.session.prepare()
            best = min(self.more(step, session, x) for _ in range(5))
            self.assertLess(best, STEP_BOUND, name)

    def more(self, step, session, x):
        """By how many microseconds a step takes longer than its call."""
        clock = time.perf_counter_ns
        steps, calls = [], []
        for _ in range(300):
            start = clock()
            step(x)
            middle = clock()
            session._run(*session._arguments)
            end = clock()
            steps.append(middle - start)
            calls.append(end - middle)
        return (sorted(steps)[150] - sorted(calls)[150]) / 1e3


if __name__ == "__main__":
    unittest.main()
