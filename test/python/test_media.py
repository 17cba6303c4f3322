"""Compares images and sound with nnv12-run, which makes the same bytes of the
same files and settings. Each fault is one line."""
import ctypes
import itertools
import locale
import os
import random
import shutil
import struct
import subprocess
import tempfile
import threading
import unittest
import zlib
from pathlib import Path

from made_models import nnv12
from nnv12 import _library, media
from nnv12._tensors import TensorInfo, np
from onnx_writer import write_model

ROOT = Path(__file__).resolve().parents[2]
ESPRESSO = ROOT / "tools/demo.d/espresso.jpg"
CORPUS = ROOT / "test/fuzz/corpus"
SIZES = {"f32": 4, "f64": 8, "f16": 2, "bf16": 2, "u8": 1}


def tensor(number, shape, size, name="x"):
    info = _library.CTensorInfo()
    info.name = name.encode()
    info.type = number
    info.rank = len(shape)
    info.shape = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    info.byte_size = size
    for extent in shape:
        info.byte_size *= extent
    return TensorInfo("input", info)


def image_tensor(element, shape):
    return tensor(
        media._IMAGE_ELEMENTS[element], shape, SIZES[element], element
    )


def make_bundle(folder, name, tensors, properties):
    """A bundle with these inputs x0, x1, ...: (element, shape)."""
    each = range(len(tensors))
    model, bundle = folder / f"{name}.onnx", folder / f"{name}.nnv"
    write_model(
        model,
        [("Identity", [f"x{i}"], [f"y{i}"]) for i in each],
        [(f"x{i}", *tensors[i]) for i in each],
        [(f"y{i}", *tensors[i]) for i in each],
    )
    options = []
    for key, value in properties.items():
        options += ["--property", f"{key}={value}"]
    subprocess.run(
        [_library.tool("nnv12c"), model, "-o", bundle, "--quiet", *options],
        check=True,
    )
    return bundle


def npy_bytes(path):
    data = path.read_bytes()
    return data[10 + int.from_bytes(data[8:10], "little") :]


class Runner:
    """nnv12-run with one bundle."""

    def __init__(self, folder, name, tensors, properties={}):
        self.folder = folder
        self.tensors = tensors
        self.bundle = make_bundle(folder, name, tensors, properties)

    def inputs(self, path, *options):
        """The bytes of all inputs, or the line of the fault."""
        out = self.folder / "inputs"
        command = [_library.tool("nnv12-run"), self.bundle]
        for i in range(len(self.tensors)):
            command += ["--input", f"x{i}={path}"]
        command += ["--save-inputs", out, "--output-dir", out, *options]
        done = subprocess.run(command, stderr=subprocess.PIPE)
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").splitlines()
            assert len(lines) == 1 and done.returncode == 1, (path, lines)
            return lines[0].partition(": ")[2].replace(".npy, .wav, ", "")
        return [
            npy_bytes(out / f"input_{i}.npy") for i in range(len(self.tensors))
        ]


def bytes_of(array):
    return array.tobytes()


def write_ppm(path, width, height, pixels):
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) + pixels)


def write_pgm(path, width, height, pixels):
    gray = pixels[: width * height]
    path.write_bytes(b"P5 %d %d 255\n" % (width, height) + gray)


def write_bmp(path, width, height, pixels):
    rows = b""
    for y in range(height - 1, -1, -1):
        row = pixels[3 * width * y : 3 * width * (y + 1)]
        swapped = bytearray(row)
        swapped[0::3], swapped[2::3] = row[2::3], row[0::3]
        rows += bytes(swapped) + bytes(-len(row) % 4)
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, *[0] * 6)
    size = struct.pack("<IHHI", 54 + len(rows), 0, 0, 54)
    path.write_bytes(b"BM" + size + head + rows)


def write_png(path, width, height, pixels):
    def chunk(tag, data):
        check = struct.pack(">I", zlib.crc32(tag + data))
        return struct.pack(">I", len(data)) + tag + data + check

    rows = b"".join(
        b"\0" + pixels[3 * width * y : 3 * width * (y + 1)]
        for y in range(height)
    )
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


WRITERS = {
    "ppm": write_ppm,
    "pgm": write_pgm,
    "bmp": write_bmp,
    "png": write_png,
}


def write_wav(path, data, coding=1, channels=1, rate=16000, bits=16):
    frame = channels * bits // 8
    head = struct.pack(
        "<4sIHHIIHH",
        b"fmt ",
        16,
        coding,
        channels,
        rate,
        rate * frame,
        frame,
        bits,
    )
    head += struct.pack("<4sI", b"data", len(data))
    path.write_bytes(
        struct.pack("<4sI4s", b"RIFF", 36 + len(data), b"WAVE") + head + data
    )


class MediaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        media._media()
        cls.random = random.Random(43)
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def refused(self, call, *arguments, **settings):
        """The one line of an Error."""
        with self.assertRaises(nnv12.Error) as caught:
            call(*arguments, **settings)
        line = str(caught.exception)
        self.assertEqual(len(line.splitlines()), 1, line)
        self.assertIsNotNone(caught.exception.status, line)
        return line

    def outcome(self, call, *arguments, **settings):
        """The bytes, or the one line of the Error."""
        try:
            return bytes_of(call(*arguments, **settings))
        except nnv12.Error as error:
            self.assertEqual(len(str(error).splitlines()), 1)
            return str(error)

    def picture(self, kind, width, height):
        path = self.folder / f"{width}x{height}.{kind}"
        pixels = bytes(
            self.random.randrange(256) for _ in range(3 * width * height)
        )
        WRITERS[kind](path, width, height, pixels)
        return path, pixels


class Images(MediaTest):
    COLORS = [
        ("f32", (1, 3, 17, 23)),
        ("f64", (3, 17, 23)),
        ("f16", (1, 17, 23, 3)),
        ("u8", (17, 23, 3)),
        ("bf16", (3, 8, 23)),
        ("f32", (1, 3, 3, 3)),
        ("f32", (1, 3, 40, 9)),
    ]
    GRAYS = [("f32", (1, 1, 17, 23)), ("f16", (17, 23, 1)), ("u8", (1, 9, 8))]

    def compare(self, runner, path, settings):
        options = []
        for key, value in settings.items():
            if isinstance(value, list):
                value = ",".join(repr(number) for number in value)
            options += ["--" + key, str(value)]
        expected = runner.inputs(path, *options)
        found = [
            self.outcome(
                media.image, path, image_tensor(element, shape), **settings
            )
            for element, shape in runner.tensors
        ]
        if isinstance(expected, str):
            # nnv12-run ends at the first input that is wrong.
            expected = expected.replace(" (or a .npy or .wav file)", "")
            found = next(each for each in found if isinstance(each, str))
        self.assertEqual(found, expected, (path, settings))

    def test_as_nnv12_run(self):
        """Random pictures and all settings."""
        colors = Runner(self.folder, "colors", self.COLORS)
        grays = Runner(self.folder, "grays", self.GRAYS)
        fits = [None, "stretch", "crop", "pad"]
        orders = [None, "rgb", "bgr"]
        numbers = [
            {},
            {"scale": 1.0},
            {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]},
            {"scale": 1 / 127.5, "mean": [1.0]},
            {"scale": -0.3, "mean": [1e3], "std": [1e-3, 7.0, -3.0]},
        ]
        kinds = itertools.cycle(WRITERS)
        for fit, color, some in itertools.product(fits, orders, numbers):
            path, _ = self.picture(
                next(kinds),
                self.random.randrange(1, 60),
                self.random.randrange(1, 60),
            )
            settings = dict(some)
            if fit:
                settings["fit"] = fit
            if color:
                settings["color"] = color
            self.compare(colors, path, settings)
            if all(len(settings.get(key, "1")) == 1 for key in ("mean", "std")):
                self.compare(grays, path, settings)
        for fit in fits[1:]:
            self.compare(colors, ESPRESSO, {"fit": fit})
            self.compare(grays, ESPRESSO, {"fit": fit})

    def test_layouts_as_nnv12_run(self):
        """Shapes that fit both layouts, and shapes that fit one."""
        both = Runner(self.folder, "both", [("f32", (1, 3, 5, 3))])
        path, _ = self.picture("png", 7, 4)
        results = set()
        for layout in ("nchw", "nhwc"):
            self.compare(both, path, {"layout": layout})
            info = image_tensor("f32", (1, 3, 5, 3))
            results.add(bytes_of(media.image(path, info, layout=layout)))
        self.assertEqual(len(results), 2)
        self.compare(both, path, {})
        first = Runner(self.folder, "first", [("f32", (1, 3, 5, 4))])
        self.compare(first, path, {"layout": "nhwc"})

    def test_damaged_as_nnv12_run(self):
        """The fuzzers' pictures, and some that are cut and changed."""
        runner = Runner(self.folder, "damaged", self.COLORS[:1])
        files = sorted((CORPUS / "picture").iterdir())
        whole = [ESPRESSO.read_bytes()]
        for kind in WRITERS:
            whole.append(self.picture(kind, 9, 7)[0].read_bytes())
        for i, data in enumerate(whole * 6):
            changed = bytearray(data[: self.random.randrange(len(data))])
            if i % 2:
                changed = bytearray(data)
                for _ in range(3):
                    place = self.random.randrange(len(data))
                    changed[place] = self.random.randrange(256)
            path = self.folder / f"damaged{i}"
            path.write_bytes(changed)
            files.append(path)
        for path in files:
            self.compare(runner, path, {})

    def test_properties_as_nnv12_run(self):
        properties = {
            "mean": "0.5,0.25,0.125",
            "std": "0.5",
            "color": "bgr",
            "fit": "crop",
        }
        shape = (1, 3, 6, 5)
        runner = Runner(self.folder, "said", [("f32", shape)], properties)
        path, _ = self.picture("png", 12, 9)
        info = image_tensor("f32", shape)
        said = media.image(path, info, properties=properties)
        self.assertEqual(bytes_of(said), runner.inputs(path)[0])

        class Session:
            pass

        session = Session()
        session.properties = properties
        of_session = media.image(path, info, properties=session)
        self.assertEqual(bytes_of(of_session), bytes_of(said))
        given = media.image(
            path, info, properties=properties, mean=0, fit="pad"
        )
        options = ["--mean", "0", "--fit", "pad"]
        self.assertEqual(bytes_of(given), runner.inputs(path, *options)[0])
        line = self.refused(
            media.image, path, info, properties={"fit": "squeeze"}
        )
        self.assertEqual(
            line,
            f"{path}: property fit: found 'squeeze', expected one of"
            " stretch|crop|pad",
        )
        # A property is not looked at where a setting stands for it.
        media.image(path, info, properties={"fit": "squeeze"}, fit="pad")

    def test_pixels(self):
        """Buffers give the same as files of their pixels."""
        for element, shape in self.COLORS + self.GRAYS:
            info = image_tensor(element, shape)
            width = self.random.randrange(1, 40)
            height = self.random.randrange(1, 40)
            path, pixels = self.picture("png", width, height)
            expected = bytes_of(media.image(path, info))
            buffer = memoryview(pixels).cast("B", (height, width, 3))
            self.assertEqual(bytes_of(media.image(buffer, info)), expected)
            writable = memoryview(bytearray(pixels)).cast("B", buffer.shape)
            self.assertEqual(bytes_of(media.image(writable, info)), expected)
            data = path.read_bytes()
            self.assertEqual(bytes_of(media.image(data, info)), expected)
            if not np:
                continue
            array = np.frombuffer(pixels, np.uint8).reshape(buffer.shape)
            strided = np.zeros((2 * height, 3, width), np.uint8)
            strided = strided[::-2].transpose(0, 2, 1)
            strided[...] = array
            for same in (array, strided):
                self.assertEqual(bytes_of(media.image(same, info)), expected)

    def test_numbers(self):
        """By hand: a red and a blue pixel."""
        path = self.folder / "two.ppm"
        write_ppm(path, 2, 1, b"\xff\0\0\0\0\xff")
        info = image_tensor("f32", (1, 3, 1, 2))
        result = media.image(path, info)
        self.assertEqual(result.shape, (1, 3, 1, 2))
        self.assertEqual(
            struct.unpack("<6f", bytes_of(result)), (1, 0, 0, 0, 0, 1)
        )
        result = media.image(
            str(path), info, scale=1, mean=(5, 0, 0), std=[2, 1, 1], color="bgr"
        )
        self.assertEqual(
            struct.unpack("<6f", bytes_of(result)), (-2.5, 125, 0, 0, 255, 0)
        )
        if np:
            self.assertEqual(result.dtype, np.float32)
            mean = np.array([5, 0, 0], np.float32)
            same = media.image(
                path, info, scale=1, mean=mean, std=[2, 1, 1], color="bgr"
            )
            self.assertEqual(bytes_of(same), bytes_of(result))

    def test_wrong_arguments(self):
        path, pixels = self.picture("png", 3, 2)
        info = image_tensor("f32", (1, 3, 4, 4))
        image = media.image
        none = self.folder / "none.png"
        self.assertEqual(
            self.refused(image, none, info),
            f"{none}: cannot open: No such file or directory",
        )
        self.assertEqual(
            self.refused(image, self.folder, info),
            f"{self.folder}: found a folder, expected a regular file",
        )
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.assertEqual(
            self.refused(image, pipe, info),
            f"{pipe}: found a special file, expected a regular file",
        )
        self.assertIn(
            "x\\x0ay.png: cannot", self.refused(image, "x\ny.png", info)
        )
        self.assertIn("x\\x00", self.refused(image, "x\0y.png", info))
        self.refused(image, "\ud800", info)
        self.refused(image, "\udc80", info)
        for wrong, found in (
            (b"", "image: format: found no image"),
            (b"text", "image: format: found a text"),
            (memoryview(pixels), "image: format: found no image"),
            (memoryview(pixels).cast("B", (6, 3)), "image: found shape (6, 3)"),
            (
                memoryview(pixels).cast("B", (3, 3, 2)),
                "image: found shape (3, 3, 2)",
            ),
            (memoryview(bytes(24)).cast("f"), "image: found elements 'f'"),
            (7, "image: found int"),
            (None, "image: found NoneType"),
            ([1, 2], "image: found list"),
        ):
            line = self.refused(image, wrong, info)
            self.assertTrue(line.startswith(found), line)
        if np:
            for shape in ((0, 4, 3), (4, 0, 3), (2, 4, 4), (2, 4)):
                self.refused(image, np.zeros(shape, np.uint8), info)
            self.refused(image, np.zeros((2, 2, 3), np.float32), info)
            self.refused(image, np.array(["a"]), info)
            self.refused(image, np.array([None]), info)
        for key, wrong in (
            ("scale", "x"),
            ("scale", None.__class__),
            ("mean", [1, 2]),
            ("mean", []),
            ("mean", ["a"]),
            ("mean", float("nan")),
            ("mean", 10**400),
            ("std", 0),
            ("std", [1, 0, 1]),
            ("std", object()),
            ("color", "hsv"),
            ("color", "rgb\0"),
            ("color", 1),
            ("layout", "nchw\n"),
            ("fit", "squeeze\x1b[2J"),
            ("properties", 7),
            ("properties", {"mean": "1,,2"}),
        ):
            self.refused(image, path, info, **{key: wrong})
        for wrong in (None, "x", (1, 3, 4, 4)):
            self.refused(image, path, wrong)
        self.refused(image, path, tensor(10, (1, 3, 4, 4), 8))
        self.refused(image, path, tensor(0, (1, 4, 4, 4), 4))
        self.refused(image, path, tensor(0, (), 4))
        self.refused(image, path, tensor(0, (1, 3, 0, 4), 4))
        if np:
            # The bytes are counted before any is written.
            short = image_tensor("f32", (1, 3, 4, 4))
            short.nbytes -= 4
            self.assertIn("188 bytes", self.refused(image, path, short))

    def test_many_threads(self):
        info = image_tensor("f32", (1, 3, 32, 32))
        expected = bytes_of(media.image(ESPRESSO, info))
        found = []

        def work():
            for _ in range(3):
                self.outcome(media.image, b"\x89PNG\r\n\x1a\n", info)
                found.append(bytes_of(media.image(ESPRESSO, info)))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(found), {expected})
        self.assertEqual(len(found), 24)

    def test_no_growth(self):
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        path, _ = self.picture("png", 64, 64)
        info = image_tensor("f32", (1, 3, 64, 64))
        sound = self.folder / "long.wav"
        write_wav(sound, bytes(32000))

        def work(count):
            for i in range(count):
                media.image(path, info)
                media.audio(sound, rate=16000)
                self.outcome(media.image, f"{path}{i}", info)
                self.outcome(media.image, b"\xff\xd8\xff", info)

        work(200)
        before = resident()
        work(2000)
        self.assertLess(resident() - before, 4 << 20)

    def test_locale(self):
        """Numbers keep their dots where others have commas."""
        path, _ = self.picture("png", 4, 4)
        info = image_tensor("f32", (1, 3, 4, 4))
        expected = bytes_of(media.image(path, info, mean=0.5, std=0.25))
        if not shutil.which("localedef"):
            self.skipTest("found no localedef")
        made = subprocess.run(
            ["localedef", "-i", "de_DE", "-f", "UTF-8", self.folder / "de_DE"],
            capture_output=True,
        )
        before = locale.setlocale(locale.LC_ALL)
        os.environ["LOCPATH"] = str(self.folder)
        try:
            locale.setlocale(locale.LC_ALL, "de_DE")
        except locale.Error:
            self.skipTest(f"localedef: {made.stderr}")
        finally:
            del os.environ["LOCPATH"]
        try:
            self.assertEqual(locale.localeconv()["decimal_point"], ",")
            found = bytes_of(media.image(path, info, mean=0.5, std=0.25))
        finally:
            locale.setlocale(locale.LC_ALL, before)
        self.assertEqual(found, expected)


class Sounds(MediaTest):
    LENGTHS = [("f32", (1, 50)), ("f32", (1, 1, 128)), ("f32", (77,))]

    def sound(self, coding, bits, channels, count):
        path = self.folder / f"{coding}-{bits}-{channels}.wav"
        values = range(channels * count)
        if coding == 3:
            numbers = [self.random.uniform(-2, 2) for _ in values]
            data = struct.pack(f"<{len(numbers)}f", *numbers)
        else:
            data = bytes(
                self.random.randrange(256)
                for _ in range(len(values) * bits // 8)
            )
        write_wav(path, data, coding, channels, 16000, bits)
        return path, data

    @staticmethod
    def samples(result):
        return list(struct.unpack(f"<{len(result)}f", bytes_of(result)))

    def compare(self, runner, path, channel=None):
        options = ["--sample-rate", "16000"]
        if channel is not None:
            options += ["--channel", str(channel)]
        expected = runner.inputs(path, *options)
        found = [
            self.outcome(
                media.audio,
                path,
                rate=16000,
                samples=max(shape),
                channel=channel,
            )
            for _, shape in runner.tensors
        ]
        if isinstance(expected, str):
            found = next(each for each in found if isinstance(each, str))
        self.assertEqual(found, expected, (path, channel))

    def test_as_nnv12_run(self):
        """All codings, by a plain loop as well."""
        runner = Runner(self.folder, "sound", self.LENGTHS)
        for coding, bits in ((1, 8), (1, 16), (1, 24), (1, 32), (3, 32)):
            for channels in (1, 2, 5):
                path, data = self.sound(coding, bits, channels, 80)
                for channel in (None, 0, channels - 1, channels):
                    self.compare(runner, path, channel)
                if coding == 3:
                    values = struct.unpack(f"<{len(data) // 4}f", data)
                else:
                    size = bits // 8
                    codes = [
                        int.from_bytes(
                            data[i : i + size], "little", signed=bits > 8
                        )
                        for i in range(0, len(data), size)
                    ]
                    if bits == 8:
                        codes = [code - 128 for code in codes]
                    values = [code / 2.0 ** (bits - 1) for code in codes]
                means = [
                    struct.unpack("<f", struct.pack("<f", mean))[0]
                    for mean in (
                        sum(values[i : i + channels]) / channels
                        for i in range(0, len(values), channels)
                    )
                ]
                found = media.audio(path, rate=16000)
                self.assertEqual(self.samples(found), means)
                data = path.read_bytes()
                found = media.audio(data, rate=16000, samples=81)
                self.assertEqual(self.samples(found), means + [0])

    def test_damaged_as_nnv12_run(self):
        """The fuzzers' sounds, and some that are cut and changed."""
        runner = Runner(self.folder, "damaged", self.LENGTHS[:1])
        files = []
        for path in sorted((CORPUS / "wav").iterdir()):
            files.append(self.folder / (path.name + ".wav"))
            files[-1].write_bytes(path.read_bytes())
        whole = [
            self.sound(coding, bits, 2, 6)[0].read_bytes()
            for coding, bits in ((1, 16), (3, 32))
        ]
        for i in range(60):
            data = whole[i % 2]
            changed = bytearray(data)
            if i % 3:
                changed[self.random.randrange(48)] = self.random.randrange(256)
            else:
                del changed[self.random.randrange(len(data)) :]
            files.append(self.folder / f"damaged{i}.wav")
            files[-1].write_bytes(changed)
        for path in files:
            self.compare(runner, path)

    def test_wrong_arguments(self):
        path, _ = self.sound(1, 16, 2, 4)
        audio = media.audio
        self.assertEqual(
            self.refused(audio, path, rate=8000),
            f"{path}: found 16000 samples a second, expected 8000 (as of"
            " ffmpeg -i IN -ar 8000 OUT.wav)",
        )
        for settings in (
            {"rate": 0},
            {"rate": 16000.5},
            {"rate": "16000"},
            {"rate": 1 << 40},
            {"rate": 16000, "channel": 2},
            {"rate": 16000, "channel": -1},
            {"rate": 16000, "channel": "left"},
            {"rate": 16000, "samples": 0},
            {"rate": 16000, "samples": 1 << 80},
            {"rate": 16000, "samples": 1.5},
        ):
            self.refused(audio, path, **settings)
        for wrong in (7, None, b"", b"RIFF", self.folder, "none.wav", ESPRESSO):
            self.refused(audio, wrong, rate=16000)
        self.refused(audio, memoryview(bytes(12)).cast("B", (3, 4)), rate=16000)


if __name__ == "__main__":
    unittest.main()
