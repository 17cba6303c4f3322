"""A graph under construction: random draws, values with known shapes, nodes.

Nothing here depends on the machine. Decisions come from
`random.Random.random()`, the one method whose stream Python promises to keep;
data come from the raw stream of NumPy's Philox, which NumPy promises to keep.
"""
import math
import random
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto, helper, numpy_helper

TYPES = {
    "f32": (TensorProto.FLOAT, np.float32),
    "f64": (TensorProto.DOUBLE, np.float64),
    "i64": (TensorProto.INT64, np.int64),
    "i32": (TensorProto.INT32, np.int32),
    "u8": (TensorProto.UINT8, np.uint8),
    "i8": (TensorProto.INT8, np.int8),
    "bool": (TensorProto.BOOL, np.bool_),
}


class Draw:
    """Decisions that are the same on every machine."""

    def __init__(self, seed):
        self.random = random.Random(seed).random

    def below(self, count):
        return int(self.random() * count)

    def between(self, least, most):
        return least + self.below(most - least + 1)

    def chance(self, probability):
        return self.random() < probability

    def pick(self, items):
        return items[self.below(len(items))]

    def weighted(self, rows):
        """The last part of one row of (weight, ..., choice)."""
        at = self.random() * sum(row[0] for row in rows)
        for row in rows:
            at -= row[0]
            if at < 0:
                return row[-1]
        return rows[-1][-1]

    def shuffled(self, items):
        keyed = [(self.random(), i) for i in range(len(items))]
        return [items[i] for _, i in sorted(keyed)]

    def sample(self, items, count):
        """`count` of them in their order."""
        return [
            items[i] for i in sorted(self.shuffled(range(len(items)))[:count])
        ]

    def uniform(self, least, most):
        """A float with few digits, which reads well in a listing."""
        return round(least + self.random() * (most - least), 3)

    def parts(self, total, count):
        """Sizes, none of them zero, that add up to `total`."""
        cuts = self.sample(range(1, total), count - 1)
        return [b - a for a, b in zip([0, *cuts], [*cuts, total])]


def rounded(number):
    """Some digits less than libraries of mathematics may differ in."""
    return float(f"{number:.3g}")


@dataclass(eq=False)
class Value:
    name: str
    shape: tuple
    type: str = "f32"
    # About how large the elements are, so that weights can bring them back to
    # ordinary size.
    spread: float = 1.0
    # Whether every engine must compute the very same bits: elements that are
    # moved from inputs, or whole numbers. Only such values may be compared,
    # rounded or sorted.
    exact: bool = False

    @property
    def rank(self):
        return len(self.shape)

    @property
    def elements(self):
        return math.prod(self.shape)

    @property
    def is_float(self):
        return self.type == "f32"


class Graph:
    """Collects nodes. `left` counts down how many nodes are still wanted."""

    # More elements in a value, or multiplications in a layer, only cost time.
    MAX_ELEMENTS = 40_000
    MAX_WORK = 8_000_000

    def __init__(self, seed):
        self.seed = seed
        self.draw = Draw(seed)
        self.opset = self.draw.weighted(
            [
                (2, 13),
                (1, 15),
                (4, 17),
                (2, 18),
                (1, 20),
                (2, 21),
                (1, 22),
                (1, 23),
            ]
        )
        self.nodes, self.initializers, self.inputs = [], [], []
        self.values = []  # that later nodes may take, oldest first
        # Outputs of which only a run tells how many elements they have; the
        # dimension is "N".
        self.counted = []
        self.used = set()  # names that some node takes
        self.count = 0
        self.left = 0
        self.arrays = 0

    # -- data ------------------------------------------------------------------

    def bits(self, count):
        """`count` whole numbers of 32 bits."""
        self.arrays += 1
        raw = np.random.Philox(
            key=[self.seed % 2**63, self.arrays]
        ).random_raw(max(count, 1))
        return (np.atleast_1d(raw)[:count] >> np.uint64(32)).astype(np.int64)

    def noise(self, shape, size=1.0, mean=0.0):
        """Evenly spread floats of a standard deviation; multiples of 2^-12
        times a size."""
        steps = (self.bits(math.prod(shape)) >> 19).astype(
            np.float64
        ) / 4096 - 1  # [-1, 1)
        return (
            (steps * (math.sqrt(3) * size) + mean)
            .astype(np.float32)
            .reshape(shape)
        )

    def whole(self, shape, least, most, type="i64"):
        numbers = self.bits(math.prod(shape)) % (most - least + 1) + least
        return numbers.astype(TYPES[type][1]).reshape(shape)

    # -- values ----------------------------------------------------------------

    def name(self, word):
        self.count += 1
        return f"{word}{self.count}"

    def input(self, shape, type="f32", data=None):
        if data is None:
            data = (
                self.noise(shape)
                if type == "f32"
                else self.whole(shape, 0, 1 if type == "bool" else 9, type)
            )
        value = Value(
            self.name("x"),
            tuple(shape),
            type,
            exact=True,
            spread=1.0
            if type == "f32"
            else float(np.abs(data.astype(np.float64)).max(initial=1)),
        )
        self.inputs.append((value, data))
        self.values.append(value)
        return value

    def constant(self, array, word="c", spread=1.0):
        """A constant, as an initializer or, now and then, as a node."""
        array = np.asarray(array)
        type = next(t for t, (_, n) in TYPES.items() if n == array.dtype.type)
        value = Value(self.name(word), array.shape, type, spread, exact=True)
        tensor = numpy_helper.from_array(
            np.ascontiguousarray(array).reshape(array.shape), value.name
        )
        if self.draw.chance(0.06):
            self.nodes.append(
                helper.make_node("Constant", [], [value.name], value=tensor)
            )
        else:
            self.initializers.append(tensor)
        return value

    def weights(self, shape, fan, source=1.0, size=1.0):
        """Weights that make a sum over `fan` elements of size `source` one of
        size `size`."""
        return self.constant(
            self.noise(shape, size / (math.sqrt(fan) * max(source, 1e-2))), "w"
        )

    def ints(self, numbers):
        return self.constant(np.array(numbers, np.int64), "i")

    def scalar(self, number, rank=0):
        return self.constant(np.full((1,) * rank, number, np.float32), "s")

    # -- nodes -----------------------------------------------------------------

    def many(
        self,
        op,
        inputs,
        shapes,
        types=("f32",),
        spreads=(1.0,),
        exact=False,
        keep=True,
        **attributes,
    ):
        """A node; its results. Inputs may be None where ONNX has an optional
        one. The last type and spread hold for all results that have none."""
        outputs = []
        for i, shape in enumerate(shapes):
            outputs.append(
                Value(
                    self.name(op.lower()[:4]),
                    tuple(int(d) for d in shape),
                    types[min(i, len(types) - 1)],
                    rounded(spreads[min(i, len(spreads) - 1)]),
                    exact,
                )
                if shape is not None
                else Value("", ())
            )
        names = [v.name if v is not None else "" for v in inputs]
        while names and not names[-1]:
            names.pop()
        self.used.update(names)
        self.nodes.append(
            helper.make_node(
                op,
                names,
                [o.name for o in outputs],
                name=f"n{len(self.nodes)}",
                **attributes,
            )
        )
        self.left -= 1
        if keep:
            self.values += [o for o in outputs if o.name]
        return outputs

    def node(
        self,
        op,
        inputs,
        shape=None,
        type="f32",
        spread=None,
        exact=False,
        keep=True,
        **attributes,
    ):
        """A node with one result. Shape and spread are those of the first input
        unless given."""
        shape = inputs[0].shape if shape is None else shape
        spread = inputs[0].spread if spread is None else spread
        return self.many(
            op, inputs, [shape], (type,), (spread,), exact, keep, **attributes
        )[0]

    # -- choices ---------------------------------------------------------------

    def choose(self, wanted=lambda v: True):
        """A value that fits, rather a late or an unused one; None where there
        is none."""
        fitting = [v for v in self.values if wanted(v)]
        if not fitting:
            return None
        draw = self.draw.random()
        if draw < 0.5:
            return fitting[-1]
        unused = [v for v in fitting if v.name not in self.used]
        if draw < 0.75 and unused:
            return self.draw.pick(unused)
        return self.draw.pick(fitting)

    def fits(self, shape):
        return (
            all(d > 0 for d in shape) and math.prod(shape) <= self.MAX_ELEMENTS
        )
