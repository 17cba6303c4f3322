"""Bundles for the tests of the Python package. Each process makes a folder of
its own for them, which goes when it ends."""
import array
import atexit
import functools
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "runtime" / "python"))

import nnv12  # noqa: E402
from onnx_writer import write_model  # noqa: E402

try:
    import numpy as np
except ImportError:
    np = None

needs_numpy = unittest.skipUnless(np, "this Python has no NumPy")
FOLDER = Path(tempfile.mkdtemp(prefix="nnv12-python-"))
_owner = os.getpid()


@atexit.register
def _remove():
    if os.getpid() == _owner:
        shutil.rmtree(FOLDER, ignore_errors=True)


@functools.lru_cache(maxsize=None)
def mnist():
    """A bundle of a model of 15 us: Input3, (1, 1, 28, 28), to
    Plus214_Output_0, (1, 10)."""
    model = ROOT / "test" / "models" / "data" / "mnist" / "model.onnx"
    return nnv12.compile(model, FOLDER / "mnist.nnv")


@functools.lru_cache(maxsize=None)
def stream():
    """A bundle of a step that hands on a state: y = x + state and
    next = x + y, all (1, 4)."""
    model = FOLDER / "stream.onnx"
    write_model(
        model,
        [("Add", ["x", "state"], ["y"]), ("Add", ["x", "y"], ["next"])],
        [(name, "f32", (1, 4)) for name in ("x", "state")],
        [(name, "f32", (1, 4)) for name in ("y", "next")],
    )
    return nnv12.compile(model, FOLDER / "stream.nnv")


@functools.lru_cache(maxsize=None)
def identity(element, shape):
    """A bundle that hands x on as y."""
    name = f"{element}-{'x'.join(map(str, shape)) or 'scalar'}"
    model = FOLDER / f"{name}.onnx"
    write_model(
        model,
        [("Identity", ["x"], ["y"])],
        [("x", element, shape)],
        [("y", element, shape)],
    )
    return nnv12.compile(model, FOLDER / f"{name}.nnv")


def floats(*values):
    return array.array("f", values)


def noise(count, seed=1):
    """So many floats from 0 to 1, the same on each Python."""
    values = array.array("f", bytes(4 * count))
    for i in range(count):
        seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
        values[i] = seed / 0x7FFFFFFF
    return values


class Case(unittest.TestCase):
    def refuses(self, expected, function, *arguments, status=1, **options):
        """The call raises an Error of one line that holds `expected`."""
        with self.assertRaises(nnv12.Error) as caught:
            function(*arguments, **options)
        line = str(caught.exception)
        self.assertIn(expected, line)
        self.assertNotIn("\n", line)
        self.assertEqual(caught.exception.status, status)
        return line
