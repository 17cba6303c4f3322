"""Tails of detectors: rows whose number only a run tells, selected by
NonMaxSuppression, NonZero and TopK, and the layers that exporters write behind
them."""
from dataclasses import dataclass, replace

import numpy as np

from graph import Value


@dataclass
class Rows:
    """Elements of which a run tells the number, along dimension 0. `group`
    tells apart numbers that may differ; `most` is the largest."""

    value: Value
    group: int
    most: int
    # Indices lie below this.
    limit: int = 0

    @property
    def width(self):
        return self.value.shape[1:]


class Tail:
    """Layers on such elements."""

    def __init__(self, graph):
        self.graph = graph
        self.draw = graph.draw
        self.rows = []
        self.groups = 0

    # -- nodes -----------------------------------------------------------------

    def node(self, op, inputs, shape, type="f32", exact=True, **attributes):
        return self.graph.node(
            op, inputs, shape, type, 1.0, exact, keep=False, **attributes
        )

    def add(self, value, group, most, limit=0):
        self.rows.append(Rows(value, group, most, limit))
        return self.rows[-1]

    def group(self):
        self.groups += 1
        return self.groups

    def reshaped(self, value, sizes, shape):
        return self.node(
            "Reshape",
            [value, self.graph.ints(sizes)],
            shape,
            value.type,
            value.exact,
        )

    def squeezed(self, value, axis):
        shape = tuple(d for i, d in enumerate(value.shape) if i != axis)
        return self.node(
            "Squeeze",
            [value, self.graph.ints([axis])],
            shape,
            value.type,
            value.exact,
        )

    def unsqueezed(self, value, axis):
        shape = list(value.shape)
        shape.insert(axis, 1)
        return self.node(
            "Unsqueeze",
            [value, self.graph.ints([axis])],
            tuple(shape),
            value.type,
            value.exact,
        )

    def gathered(self, data, indices, axis=0):
        shape = (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])
        return self.node(
            "Gather", [data, indices], shape, data.type, data.exact, axis=axis
        )

    def size_of(self, rows):
        """How many there are, as [1]."""
        shape = self.node(
            "Shape", [rows.value], (len(rows.value.shape),), "i64"
        )
        if self.draw.chance(0.5):
            return self.gathered(shape, self.graph.ints([0]))
        return self.node(
            "Slice",
            [shape, self.graph.ints([0]), self.graph.ints([1])],
            (1,),
            "i64",
        )

    # -- selections ------------------------------------------------------------

    def boxes(self):
        """Boxes of images, scores of classes, and those that are selected."""
        graph, draw = self.graph, self.draw
        images, classes = draw.pick([1, 1, 1, 2]), draw.pick([1, 1, 2, 3, 7])
        count = draw.between(1, 60)
        centered = draw.chance(0.4)
        low = graph.noise((images, count, 2), 0.6)
        size = np.abs(graph.noise((images, count, 2), 0.5)) + 0.1
        data = np.concatenate([low, size if centered else low + size], 2)
        boxes = graph.input((images, count, 4), data=data.astype(np.float32))
        few = draw.chance(0.3)  # different scores, or some that are equal
        scores = graph.input(
            (images, classes, count),
            data=(
                graph.whole((images, classes, count), 0, 12) / 16
                if few
                else graph.noise((images, classes, count), 0.5)
            ).astype(np.float32),
        )
        most = draw.pick([1, 3, 20, 1000])
        filters = draw.chance(0.7)
        rows = self.node(
            "NonMaxSuppression",
            [
                boxes,
                scores,
                graph.ints([most]),
                graph.scalar(draw.pick([0.0, 0.3, 0.5, 0.9]), 1),
                graph.scalar(draw.pick([-0.2, 0.1, 0.4, 2.0]), 1)
                if filters
                else None,
            ],
            (0, 3),
            "i64",
            center_point_box=int(centered),
        )
        most = min(most, count) * images * classes
        group = self.group()
        self.add(rows, group, most)
        if draw.chance(0.5):
            # [image, box], to look the boxes up.
            pairs = self.gathered(rows, graph.ints([0, 2]), 1)
            taken = self.node("GatherND", [boxes, pairs], (0, 4))
        else:
            column = self.gathered(rows, graph.ints([2]), 1)
            column = self.squeezed(column, 1)
            taken = self.gathered(self.squeezed_image(boxes), column)
        self.add(taken, group, most)
        found = self.node("GatherND", [scores, rows], (0,))
        self.add(found, group, most)
        label = self.gathered(rows, graph.ints([1]), 1)
        self.add(self.node("Cast", [label], (0, 1), "f32", to=1), group, most)

    def squeezed_image(self, boxes):
        """The boxes of the first image."""
        return self.gathered(
            boxes, self.graph.constant(np.array(0, np.int64), "i")
        )

    def above(self):
        """Rows of a value whose number is above a limit."""
        graph, draw = self.graph, self.draw
        count, width = draw.between(1, 40), draw.between(1, 6)
        table = graph.input((count, width))
        keys = graph.input((count,))
        mask = self.node(
            "Greater",
            [keys, graph.scalar(draw.pick([-3.0, -0.5, 0.2, 1.0, 3.0]))],
            (count,),
            "bool",
        )
        group = self.group()
        kind = draw.below(3)
        if kind == 0 and graph.opset >= 11:
            for x in (table, keys):
                self.add(
                    self.node("Compress", [x, mask], (0, *x.shape[1:]), axis=0),
                    group,
                    count,
                )
            return
        places = self.node("NonZero", [mask], (1, 0), "i64")
        if kind == 1:
            places = self.node(
                "Transpose", [places], (0, 1), "i64", perm=[1, 0]
            )
            for x in (table, keys):
                self.add(
                    self.node("GatherND", [x, places], (0, *x.shape[1:])),
                    group,
                    count,
                )
            return
        places = self.reshaped(places, [-1], (0,))
        self.add(places, group, count, count)
        for x in (table, keys):
            self.add(self.gathered(x, places), group, count)

    # -- layers ----------------------------------------------------------------

    def choose(self, wanted):
        fitting = [r for r in self.rows if wanted(r)]
        return self.draw.pick(fitting) if fitting else None

    def elementwise(self):
        rows = self.choose(lambda r: r.value.type == "f32")
        if not rows:
            return
        x = rows.value
        other = self.choose(
            lambda r: r.group == rows.group
            and r.value.type == "f32"
            and r.value.shape == x.shape
        )
        kind = self.draw.below(4)
        if kind == 0:
            y = self.node("Add", [x, other.value], x.shape, exact=False)
        elif kind == 1:
            y = self.node("Neg", [x], x.shape, exact=x.exact)
        elif kind == 2:
            y = self.node("Sigmoid", [x], x.shape, exact=False)
        else:
            y = self.node(
                "Mul",
                [x, self.graph.scalar(2.0, self.draw.below(2))],
                x.shape,
                exact=x.exact,
            )
        self.add(y, rows.group, rows.most)

    def beside(self):
        """Columns beside each other."""
        rows = self.choose(lambda r: r.value.type == "f32")
        if not rows:
            return
        others = [
            r
            for r in self.rows
            if r.group == rows.group
            and r.value.type == "f32"
            and len(r.value.shape) <= 2
        ]
        parts = []
        for r in self.draw.shuffled(others)[:3]:
            v = r.value
            parts.append(self.unsqueezed(v, 1) if len(v.shape) == 1 else v)
        if not parts:
            return
        width = sum(p.shape[1] for p in parts)
        y = self.node(
            "Concat",
            parts,
            (0, width),
            exact=all(p.exact for p in parts),
            axis=1,
        )
        self.add(y, rows.group, rows.most)

    def behind(self):
        """Rows behind each other, counted or not."""
        rows = self.choose(lambda r: True)
        other = self.choose(
            lambda r: r.value.type == rows.value.type and r.width == rows.width
        )
        parts, most = [rows.value, other.value], rows.most + other.most
        if self.draw.chance(0.4):
            extra = self.draw.between(1, 4)
            shape = (extra, *rows.width)
            data = (
                self.graph.noise(shape)
                if rows.value.type == "f32"
                else self.graph.whole(shape, 0, 0)
            )
            parts.append(self.graph.constant(data))
            parts = self.draw.shuffled(parts)
            most += extra
        if most > 400:
            return
        y = self.node(
            "Concat",
            parts,
            rows.value.shape,
            rows.value.type,
            all(p.exact for p in parts),
            axis=0,
        )
        self.add(y, self.group(), most)

    def best(self):
        """The best of them, no more than there are."""
        rows = self.choose(
            lambda r: r.value.exact
            and r.value.type == "f32"
            and len(r.value.shape) == 1
        )
        if not rows:
            return
        most = self.draw.between(1, 30)
        limit = self.graph.ints([most])
        k = self.node("Min", [limit, self.size_of(rows)], (1,), "i64")
        if self.draw.chance(0.3):
            both = self.node(
                "Concat", [limit, self.size_of(rows)], (2,), "i64", axis=0
            )
            attributes = {} if self.graph.opset >= 18 else {"axes": [0]}
            inputs = [both] + (
                [self.graph.ints([0])] if self.graph.opset >= 18 else []
            )
            k = self.node(
                "ReduceMin", inputs, (1,), "i64", keepdims=1, **attributes
            )
        values, places = self.graph.many(
            "TopK",
            [rows.value, k],
            [(0,), (0,)],
            ("f32", "i64"),
            exact=True,
            keep=False,
            axis=0,
            largest=int(self.draw.chance(0.7)),
        )
        group, most = self.group(), min(most, rows.most)
        self.add(values, group, most)
        for r in [r for r in self.rows if r.group == rows.group][:3]:
            self.add(self.gathered(r.value, places), group, most, r.limit)

    def scattered(self):
        """Rows put where they were in a table."""
        rows = self.choose(
            lambda r: r.value.type == "f32" and len(r.value.shape) == 1
        )
        places = rows and self.choose(
            lambda r: r.limit and r.group == rows.group
        )
        if not places:
            return
        table = self.graph.constant(self.graph.noise((places.limit,)))
        if self.draw.chance(0.5):
            y = self.node(
                "ScatterND",
                [table, self.unsqueezed(places.value, 1), rows.value],
                table.shape,
                exact=rows.value.exact,
            )
        else:
            y = self.node(
                "ScatterElements",
                [table, places.value, rows.value],
                table.shape,
                exact=rows.value.exact,
                axis=0,
            )
        self.graph.values.append(y)

    def widened(self):
        """Columns beside each other that are equal."""
        rows = self.choose(
            lambda r: r.value.type == "f32" and len(r.value.shape) == 1
        )
        if not rows:
            return
        x = self.unsqueezed(rows.value, 1)
        size = self.node(
            "Concat",
            [self.size_of(rows), self.graph.ints([3])],
            (2,),
            "i64",
            axis=0,
        )
        y = self.node("Expand", [x, size], (0, 3), exact=x.exact)
        self.add(y, rows.group, rows.most)

    def first(self):
        rows = self.choose(lambda r: True)
        most, start = self.draw.between(1, 20), self.draw.pick([0, 0, 0, 1])
        x = rows.value
        y = self.node(
            "Slice",
            [x, *(self.graph.ints([i]) for i in (start, start + most, 0))],
            x.shape,
            x.type,
            x.exact,
        )
        left = max(min(rows.most - start, most), 0)
        self.add(y, self.group(), left, rows.limit)

    def along(self):
        """Sums and maxima of rows."""
        rows = self.choose(
            lambda r: r.value.type == "f32" and len(r.value.shape) == 2
        )
        if not rows:
            return
        op = self.draw.pick(["ReduceMax", "ReduceMin"])
        inputs, attributes = [rows.value], {"axes": [1]}
        if self.graph.opset >= 18:
            inputs, attributes = [rows.value, self.graph.ints([1])], {}
        keeps = self.draw.chance(0.5)
        y = self.node(
            op,
            inputs,
            (0, 1) if keeps else (0,),
            exact=rows.value.exact,
            keepdims=int(keeps),
            **attributes,
        )
        self.add(y, rows.group, rows.most)

    def flat(self):
        rows = self.choose(lambda r: len(r.value.shape) == 2)
        if not rows:
            return
        width = rows.width[0]
        y = self.reshaped(rows.value, [-1], (0,))
        self.add(y, -rows.group * 10 - width, rows.most * width)

    def numbered(self):
        """0, 1… and zeros, as many as there are rows."""
        rows = self.choose(lambda r: True)
        size = self.size_of(rows)
        if self.draw.chance(0.5):
            y = self.node("ConstantOfShape", [size], (0,))
        else:
            zero = self.graph.constant(np.array(0, np.int64), "i")
            one = self.graph.constant(np.array(1, np.int64), "i")
            y = self.node(
                "Range", [zero, self.squeezed(size, 0), one], (0,), "i64"
            )
        self.add(y, rows.group, rows.most)

    def padded(self):
        """As many rows as can be, with padding; the number is known then."""
        rows = self.choose(lambda r: r.value.type == "f32")
        if not rows:
            return
        total = rows.most + self.draw.pick([0, 0, 3])
        x = rows.value
        more = self.node(
            "Sub", [self.graph.ints([total]), self.size_of(rows)], (1,), "i64"
        )
        rank = len(x.shape)
        pads = self.node(
            "Concat",
            [
                self.graph.ints([0] * rank),
                more,
                *([self.graph.ints([0] * (rank - 1))] if rank > 1 else []),
            ],
            (2 * rank,),
            "i64",
            axis=0,
        )
        value = [self.graph.scalar(-1.0)] if self.draw.chance(0.5) else []
        shape = (total, *x.shape[1:])
        y = self.node("Pad", [x, pads, *value], shape, exact=x.exact)
        if self.graph.fits(shape):
            self.graph.values.append(y)


def detector(graph, x):
    draw = graph.draw
    if len(graph.inputs) > 4 or graph.counted:
        return
    tail = Tail(graph)
    (tail.boxes if draw.chance(0.6) else tail.above)()
    layers = [
        tail.elementwise,
        tail.elementwise,
        tail.beside,
        tail.behind,
        tail.best,
        tail.first,
        tail.along,
        tail.flat,
        tail.numbered,
        tail.padded,
        tail.scattered,
        tail.widened,
    ]
    for _ in range(draw.between(0, 8)):
        draw.pick(layers)()
    for rows in draw.shuffled(tail.rows)[:3]:
        if rows.most:
            shape = ("N", *rows.value.shape[1:])
            graph.counted.append(replace(rows.value, shape=shape))


PIECES = [(0.6, detector)]
