"""Sessions with memory that is no NumPy array, on each Python."""
import array
import gc
import mmap
import os
import unittest

from made_models import Case, floats, identity, mnist, nnv12, noise, np, stream


def as_bytes(value):
    return bytes(value.tobytes())


class Buffers(Case):
    def setUp(self):
        self.session = nnv12.Session(stream(), threads=1)
        self.feeds = {"x": floats(1, 2, 3, 4), "state": floats(5, 6, 7, 8)}
        self.addCleanup(self.session.close)

    def test_results_by_name(self):
        results = self.session.run(self.feeds)
        self.assertEqual(list(results), ["y", "next"])
        self.assertEqual(results["y"].tolist(), [[6, 8, 10, 12]])
        self.assertEqual(results["next"].tolist(), [[7, 10, 13, 16]])

    def test_results_as_list(self):
        y, after = self.session.run(None, self.feeds)
        self.assertEqual(y.tolist(), [[6, 8, 10, 12]])
        (last,) = self.session.run(["next"], self.feeds)
        self.assertEqual(last.tolist(), after.tolist())
        self.assertEqual(
            self.session.run(["next", "y", "next"], self.feeds)[1].tolist(),
            y.tolist(),
        )
        by_keyword = self.session.run(output_names=["y"], input_feed=self.feeds)
        self.assertEqual(by_keyword[0].tolist(), y.tolist())
        self.assertEqual(self.session.run([], self.feeds), [])

    @unittest.skipIf(np, "NumPy makes arrays")
    def test_made_outputs_are_views(self):
        y = self.session.run(self.feeds)["y"]
        self.assertIsInstance(y, memoryview)
        self.assertEqual((y.format, y.shape), ("f", (1, 4)))
        self.assertFalse(y.readonly)

    def test_writes_where_the_caller_says(self):
        y = floats(0, 0, 0, 0)
        results = self.session.run(self.feeds, out={"y": y})
        self.assertIs(results["y"], y)
        self.assertEqual(list(y), [6, 8, 10, 12])
        self.assertEqual(results["next"].tolist(), [[7, 10, 13, 16]])

    def test_reads_memory_of_any_kind(self):
        flat = floats(1, 2, 3, 4)
        for kind in (
            memoryview(flat),
            memoryview(flat).toreadonly(),
            memoryview(flat).cast("B").cast("f", (1, 4)),
            memoryview(as_bytes(flat)).cast("f"),
        ):
            results = self.session.run({**self.feeds, "x": kind})
            self.assertEqual(results["y"].tolist(), [[6, 8, 10, 12]])

    def test_buffers_cannot_move_while_they_are_used(self):
        # A run takes an export of each buffer, which keeps it in its place.
        held = []
        from nnv12 import _tensors

        x = floats(1, 2, 3, 4)
        info = self.session.inputs[0]
        address = _tensors.address_of(info, x, False, held)
        self.assertEqual(address, x.buffer_info()[0])
        with self.assertRaises(BufferError):
            x.append(1)
        held.clear()
        x.append(1)

    def test_two_states_change_places(self):
        a, b = floats(0, 0, 0, 0), floats(0, 0, 0, 0)
        y = floats(0, 0, 0, 0)
        x = floats(1, 2, 3, 4)
        for step in range(1, 50):
            self.session.run({"x": x, "state": a}, out={"y": y, "next": b})
            a, b = b, a
            # state -> 2 x + state
            self.assertEqual(list(a), [2 * step * value for value in x])

    def test_wrong_arguments(self):
        run, feeds = self.session.run, self.feeds
        four = floats(0, 0, 0, 0)
        self.refuses("inputs: found no 'state'", run, {"x": four})
        self.refuses("found 'z'", run, {**feeds, "z": four})
        self.refuses("found list, expected a dict", run, [four, four])
        self.refuses("found NoneType, expected a dict", run)
        self.refuses("found NoneType, expected a dict", run, None)
        self.refuses("found output 'z'", run, ["z"], feeds)
        self.refuses("output_names: found 'y'", run, "y", feeds)
        self.refuses("out: found 'z'", run, feeds, out={"z": four})
        self.refuses("out: found list", run, feeds, out=[four])
        self.refuses(
            "input 'x': found elements 'd', expected 'f'",
            run,
            {**feeds, "x": array.array("d", four)},
        )
        self.refuses(
            "input 'x': found shape (3,), expected (1, 4)",
            run,
            {**feeds, "x": floats(1, 2, 3)},
        )
        self.refuses(
            "found shape (4, 1)",
            run,
            {**feeds, "x": memoryview(four).cast("B").cast("f", (4, 1))},
        )
        self.refuses(
            "input 'x': found strides (8,), expected C order",
            run,
            {**feeds, "x": memoryview(noise(8))[::2]},
        )
        self.refuses(
            "input 'x': found list, expected an array or a buffer",
            run,
            {**feeds, "x": [1, 2, 3, 4]},
        )
        self.refuses(
            "output 'y': found a read-only buffer",
            run,
            feeds,
            out={"y": memoryview(four).toreadonly()},
        )
        self.refuses(
            "input 'x': found elements 'B'", run, {**feeds, "x": bytes(16)}
        )
        # And it is as good as before.
        self.assertEqual(run(feeds)["y"].tolist(), [[6, 8, 10, 12]])

    def test_unaligned_memory(self):
        odd = memoryview(bytearray(17))[1:].cast("f")
        self.refuses("input 'x': ", self.session.run, {**self.feeds, "x": odd})

    def test_overlap(self):
        run, feeds = self.session.run, self.feeds
        memory = memoryview(noise(7))
        line = self.refuses(
            "found memory that",
            run,
            feeds,
            out={"y": memory[:4], "next": memory[3:]},
        )
        self.assertIn("output 'y'", line)
        self.refuses("input 'x'", run, feeds, out={"next": feeds["x"]})
        # Neighbours, and inputs that share memory, are no overlap.
        memory = memoryview(noise(8))
        run(feeds, out={"y": memory[:4], "next": memory[4:]})
        x = feeds["x"]
        self.assertEqual(
            run({"x": x, "state": x}, out={})["y"].tolist(), [[2, 4, 6, 8]]
        )

    def test_refused_outputs_are_untouched(self):
        y = floats(9, 9, 9, 9)
        self.refuses(
            "input 'x'", self.session.run, {**self.feeds, "x": 1}, out={"y": y}
        )
        self.assertEqual(list(y), [9, 9, 9, 9])


class Types(Case):
    FORMATS = {
        "f32": "f",
        "f64": "d",
        "i8": "b",
        "u8": "B",
        "i16": "h",
        "u16": "H",
        "i32": "i",
        "u32": "I",
        "i64": "q",
        "u64": "Q",
        "bool": "?",
        "bf16": "H",
        "f16": "H",
        "i4": "b",
        "u4": "B",
        "f8e4m3fn": "B",
    }

    def test_bytes_are_handed_on(self):
        for element, format in self.FORMATS.items():
            with self.subTest(element):
                with nnv12.Session(identity(element, (2, 3))) as session:
                    self.assertEqual(session.inputs[0].element, element)
                    self.assertEqual(session.inputs[0].shape, (2, 3))
                    size = session.inputs[0].nbytes
                    given = bytes(i % 2 for i in range(size))
                    x = memoryview(given).cast(format, (2, 3))
                    y = session.run({"x": x})["y"]
                    self.assertEqual(as_bytes(y), given)

    def test_long_is_an_integer_of_its_size(self):
        with nnv12.Session(identity("i64", (2, 3))) as session:
            x = array.array("l", range(6))
            self.assertEqual(x.itemsize, 8)
            y = session.run({"x": x})["y"]
            self.assertEqual(y.tolist(), [[0, 1, 2], [3, 4, 5]])

    def test_scalar_and_no_element(self):
        with nnv12.Session(identity("f32", ())) as session:
            self.assertEqual(session.inputs[0].shape, ())
            y = session.run({"x": floats(3)})["y"]
            self.assertEqual(y.tolist(), 3)


class Opening(Case):
    def classes(self, session):
        return as_bytes(session.run({"Input3": noise(784)})["Plus214_Output_0"])

    def test_from_path_bytes_and_mapping(self):
        with nnv12.Session(mnist()) as session:
            expected = self.classes(session)
        with open(mnist(), "rb") as file:
            content = file.read()
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        for source in (content, bytearray(content), mapped):
            with nnv12.Session(source) as session:
                del source
                gc.collect()
                self.assertEqual(self.classes(session), expected)
        with self.assertRaises(BufferError):
            session = nnv12.Session(mapped)
            mapped.close()
        session.close()
        del session
        gc.collect()
        mapped.close()

    def test_bytes_stay_behind_a_closed_bundle(self):
        with open(mnist(), "rb") as file:
            bundle = nnv12.Bundle(file.read())
        sessions = [nnv12.Session(bundle) for _ in range(3)]
        bundle.close()
        del bundle
        gc.collect()
        self.assertEqual(len({self.classes(s) for s in sessions}), 1)

    def test_facts(self):
        with nnv12.Session(mnist(), threads=1) as session:
            (x,), (y,) = session.get_inputs(), session.get_outputs()
            self.assertEqual((x.name, x.shape), ("Input3", (1, 1, 28, 28)))
            self.assertEqual((x.nbytes, x.type), (3136, "tensor(float)"))
            self.assertEqual((y.name, y.shape), ("Plus214_Output_0", (1, 10)))
            self.assertEqual(session.info["threads"], 1)
            info = session.bundle.info
            self.assertEqual(info["file_size"], os.path.getsize(mnist()))
            self.assertEqual((info["kind"], info["reuse"]), ("model", "off"))
            self.assertEqual(len(info["digest"]), 32)
            self.assertIn("mnist", mnist())
            self.assertIn("threads", repr(dict(session.info)))

    def test_trust(self):
        digest = nnv12.Bundle(mnist()).info["digest"]
        nnv12.Session(mnist(), digest=digest).close()
        nnv12.Session(mnist(), digest=digest.hex()).close()
        wrong = bytes([digest[0] ^ 1]) + digest[1:]
        self.refuses("digest", nnv12.Session, mnist(), digest=wrong, status=5)
        self.refuses("expected 32 bytes", nnv12.Session, mnist(), digest="ab")
        self.refuses("expected 32 bytes", nnv12.Session, mnist(), key=32)

    def test_wrong_options(self):
        for expected, options in (
            ("threads: found -1", {"threads": -1}),
            ("threads: found 2.0", {"threads": 2.0}),
            ("threads: found 65", {"threads": 65}),
            ("mode: found 'warm', expected plan, cold", {"mode": "warm"}),
            ("gpu: found 'yes'", {"gpu": "yes"}),
            ("gpu: found 'device'", {"gpu": {"device": 1}}),
            ("stream: found 'often'", {"stream": "often"}),
            ("record: found 'all'", {"record": "all"}),
            ("record_runs: found", {"record": "run", "record_runs": 2**32}),
            ("copying: found 'no'", {"copying": "no"}),
            ("unexpected keyword argument 'speed'", {"speed": 1}),
        ):
            with self.subTest(expected):
                self.refuses(expected, nnv12.Session, mnist(), **options)
        self.refuses(
            "part for video", nnv12.Session, mnist(), stream=True, status=4
        )
        bundle = nnv12.Bundle(mnist())
        self.refuses("option 'key'", nnv12.Session, bundle, key=b"")
        bundle.close()
        self.refuses("bundle: found a closed one", nnv12.Session, bundle)
        self.refuses("bundle: found int", nnv12.Session, 7)
        self.refuses("expected no zero", nnv12.Session, "a\0b")

    def test_options_that_change_no_result(self):
        expected = None
        for options in (
            {},
            {"threads": 1},
            {"threads": 2, "pin_threads": True, "no_stealing": True},
            {"threads": 3, "oversubscribe": True, "preparation_threads": 0},
            {"mode": "cold", "gpu": False, "verify_weights": True},
            {"gpu": {"mode": "off", "threads": 1, "cache_dir": ""}},
            {"copying": "always"},
            {"record": "piece", "record_runs": 5},
        ):
            with nnv12.Session(mnist(), **options) as session:
                session.prepare(60)
                found = self.classes(session)
            expected = expected or found
            self.assertEqual(found, expected, options)

    def test_closed(self):
        session = nnv12.Session(mnist())
        self.assertNotIn("closed", repr(session))
        session.close()
        session.close()
        feeds = {"Input3": noise(784)}
        self.refuses("found a closed one", session.run, feeds)
        self.refuses("found a closed one", session.prepare)
        self.refuses("found a closed one", session.__enter__)
        self.refuses("found a closed one", lambda: session.info)
        self.assertIn("closed", repr(session))

    def test_deadlines(self):
        with nnv12.Session(mnist()) as session:
            feeds = {"Input3": noise(784)}
            self.refuses("", session.run, feeds, timeout=0, status=8)
            session.run(feeds, timeout=60)
            session.run(feeds, timeout=float("inf"))
            for wrong in (-1, "1", float("nan")):
                self.refuses(
                    "timeout: found", session.run, feeds, timeout=wrong
                )


class Files(Case):
    def test_missing(self):
        line = self.refuses("", nnv12.Session, "/no/where.nnv", status=2)
        self.assertIn("/no/where.nnv", line)

    def test_damaged(self):
        with open(mnist(), "rb") as file:
            good = bytearray(file.read())
        tried = 0
        for place in [*range(0, 512, 8), *range(512, len(good), 997)]:
            bad = bytearray(good)
            bad[place] ^= 0x55
            try:
                nnv12.Session(bad, verify_weights=True).close()
            except nnv12.Error as error:
                self.assertNotIn("\n", str(error))
                self.assertIn(error.status, (3, 4, 5))
                tried += 1
        self.assertGreater(tried, 50)
        for size in (0, 1, 63, 64, 500, len(good) - 1):
            with self.assertRaises(nnv12.Error):
                nnv12.Session(bytes(good[:size]))

    def test_a_text(self):
        self.refuses("", nnv12.Session, b"not a bundle" * 100, status=3)


if __name__ == "__main__":
    unittest.main()
