"""Sessions with NumPy's arrays."""
import unittest
from pathlib import Path

from made_models import Case, identity, mnist, needs_numpy, nnv12, np, stream


@needs_numpy
class Arrays(Case):
    def setUp(self):
        self.session = nnv12.Session(stream(), threads=1)
        self.addCleanup(self.session.close)
        self.feeds = {
            "x": np.array([[1, 2, 3, 4]], np.float32),
            "state": np.array([[5, 6, 7, 8]], np.float32),
        }

    def addresses(self):
        """The addresses that the last run gave to the library, inputs
        first."""
        return [buffer.data for buffer in self.session._buffers]

    def test_nothing_is_copied(self):
        y = np.zeros((1, 4), np.float32)
        results = self.session.run(self.feeds, out={"y": y})
        self.assertIs(results["y"], y)
        self.assertEqual(
            self.addresses(),
            [
                array.ctypes.data
                for array in (
                    self.feeds["x"],
                    self.feeds["state"],
                    y,
                    results["next"],
                )
            ],
        )
        results = self.session.run(None, self.feeds)
        self.assertEqual(
            self.addresses()[2:], [array.ctypes.data for array in results]
        )

    def test_views_are_not_copied(self):
        frames = np.arange(40, dtype=np.float32).reshape(10, 4)
        for i in range(10):
            x = frames[i : i + 1]
            results = self.session.run({**self.feeds, "x": x})
            self.assertEqual(self.addresses()[0], frames.ctypes.data + 16 * i)
            np.testing.assert_array_equal(results["y"], x + self.feeds["state"])
        frames.flags.writeable = False
        self.session.run({**self.feeds, "x": frames[:1]})
        self.assertEqual(self.addresses()[0], frames.ctypes.data)

    def test_mapped_files_are_not_copied(self):
        path = Path(stream()).with_suffix(".bin")
        np.arange(4, dtype=np.float32).tofile(path)
        x = np.memmap(path, np.float32, "r", shape=(1, 4))
        self.session.run({**self.feeds, "x": x})
        self.assertEqual(self.addresses()[0], x.ctypes.data)

    def test_address_without_the_shortcut(self):
        from nnv12 import _tensors

        if _tensors.ADDRESS_OFFSET is not None:
            for array in (
                np.zeros(0),
                np.array(2),
                np.zeros((3, 4), "i1")[1:, 2:],
                np.zeros(4, ">i2")[::-1],
            ):
                self.assertEqual(
                    _tensors.array_address(array), array.ctypes.data
                )

    def test_two_states_change_places(self):
        a, b = (np.zeros((1, 4), np.float32) for _ in range(2))
        y, x = np.empty((1, 4), np.float32), self.feeds["x"]
        for step in range(1, 100):
            self.session.run({"x": x, "state": a}, out={"y": y, "next": b})
            self.assertEqual(
                self.addresses()[1:],
                [a.ctypes.data, y.ctypes.data, b.ctypes.data],
            )
            a, b = b, a
            np.testing.assert_array_equal(a, 2 * step * x)
        # Buffers that were found apart are looked at again when they change.
        run = self.session.run
        self.refuses(
            "output 'next': found memory that input 'state' has as well",
            run,
            {"x": x, "state": a},
            out={"y": y, "next": a},
        )

    def test_wrong_arrays(self):
        run, feeds, y = self.session.run, self.feeds, np.empty((1, 4), "f4")
        for expected, x in (
            ("found float64, expected float32", np.zeros((1, 4))),
            ("of another byte order", np.zeros((1, 4), ">f4")),
            ("found shape (4,), expected (1, 4)", np.zeros(4, "f4")),
            ("found shape (4, 1)", np.zeros((4, 1), "f4")),
            ("found strides (32, 8)", np.zeros((1, 8), "f4")[:, ::2]),
            ("found strides (16, -4)", np.zeros((1, 4), "f4")[:, ::-1]),
            ("found object", np.zeros((1, 4), object)),
            ("found a", np.zeros(17, "u1")[1:].view("f4").reshape(1, 4)),
            ("found float", 1.5),
            ("found NoneType", None),
        ):
            with self.subTest(expected):
                if expected == "found a":
                    expected = "input 'x'"
                line = self.refuses(expected, run, {**feeds, "x": x})
                self.assertIn("input 'x'", line)
        frozen = np.zeros((1, 4), "f4")
        frozen.flags.writeable = False
        for expected, out in (
            ("output 'y': found a read-only array", {"y": frozen}),
            ("output 'y': found float64", {"y": np.zeros((1, 4))}),
            ("output 'y': found NoneType", {"y": None}),
            (
                "output 'y': found strides",
                {"y": np.zeros((1, 8), "f4")[:, ::2]},
            ),
            ("out: found 'z'", {"z": y, "y": y}),
            ("output 'y': found memory that output 'next'", None),
        ):
            with self.subTest(expected):
                if out is None:
                    both = np.zeros(6, "f4")
                    out = {
                        "y": both[2:6].reshape(1, 4),
                        "next": both[:4].reshape(1, 4),
                    }
                self.refuses(expected, run, feeds, out=out)
        np.testing.assert_array_equal(run(feeds)["y"], [[6, 8, 10, 12]])

    def test_lines_of_values_of_many_lines(self):
        many = np.zeros((3, 3))
        self.refuses("output_names", self.session.run, many, self.feeds)
        self.refuses("mode: found array", nnv12.Session, stream(), mode=many)
        self.refuses("threads: found", nnv12.Session, stream(), threads=many)
        self.refuses("digest: found", nnv12.Session, stream(), digest=many)

    def test_fortran_order(self):
        with nnv12.Session(identity("f32", (2, 3))) as session:
            x = np.asfortranarray(np.zeros((2, 3), np.float32))
            self.refuses("expected C order", session.run, {"x": x})

    def test_as_onnxruntime(self):
        x, state = self.session.get_inputs()
        self.assertEqual((x.name, list(x.shape)), ("x", [1, 4]))
        self.assertEqual(x.type, "tensor(float)")
        names = [info.name for info in self.session.get_outputs()]
        results = self.session.run(names, self.feeds)
        self.assertIsInstance(results[0], np.ndarray)
        zeros = np.zeros(x.shape, x.dtype)
        self.session.run(None, {"x": zeros, "state": zeros})

    def test_types(self):
        for element, dtype in (
            ("f16", np.float16),
            ("bool", np.bool_),
            ("i64", np.int64),
            ("bf16", np.uint16),
            ("i4", np.int8),
            ("u4", np.uint8),
            ("f8e4m3fn", np.uint8),
        ):
            with self.subTest(element):
                with nnv12.Session(identity(element, (2, 3))) as session:
                    x = np.arange(6).reshape(2, 3).astype(dtype)
                    y = session.run({"x": x})["y"]
                    self.assertEqual(y.dtype, dtype)
                    np.testing.assert_array_equal(x, y)

    def test_types_of_other_packages(self):
        # ml_dtypes names its types so. Any type of the name and size is taken.
        class Dtype:
            name, isnative = "bfloat16", True

        with nnv12.Session(identity("bf16", (2, 3))) as session:
            info = session.inputs[0]
            self.assertTrue(info.takes_dtype(Dtype))
            self.assertFalse(info.takes_dtype(np.dtype(np.int16)))

    def test_scalar(self):
        with nnv12.Session(identity("f32", ())) as session:
            self.assertEqual(session.run({"x": np.float32(3)})["y"], 3)
            y = session.run({"x": np.array(4, np.float32)})["y"]
            self.assertEqual((y.shape, y), ((), 4))

    def test_results_outlive_the_session(self):
        with nnv12.Session(mnist()) as session:
            x = np.ones((1, 1, 28, 28), np.float32)
            (first,) = session.run(None, {"Input3": x})
            kept = first.copy()
            (second,) = session.run(None, {"Input3": 0 * x})
        np.testing.assert_array_equal(first, kept)
        self.assertTrue((first != second).any())


if __name__ == "__main__":
    unittest.main()
