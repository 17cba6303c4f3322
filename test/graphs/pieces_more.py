"""Pieces that are rarer in models: sub-graphs of shapes and of constants,
quantised values, scattering and sampling.
"""
import math

import numpy as np

from graph import TYPES
from pieces_elementwise import (
    activation,
    broadcast,
    combine,
    operand_shapes,
    unary,
)
from pieces_reduce import reduce
from pieces_shape import transpose


def folded(graph, x):
    """A branch of constants alone, which compilers compute themselves; it may
    be an output."""
    draw = graph.draw
    y = graph.constant(graph.noise(draw.pick(operand_shapes(graph, x)), 0.5))
    for _ in range(draw.between(1, 2)):
        y = (
            draw.pick(
                [activation, unary, reduce, transpose]
                if y.rank
                else [activation, unary]
            )(graph, y)
            or y
        )
    if broadcast(x.shape, y.shape) is None:
        return y
    return combine(graph, x, y)


def shaped(graph, x):
    """A shape that the graph computes, as exporters of dynamic models leave
    it."""
    draw = graph.draw
    shape = graph.node(
        "Shape", [x], (x.rank,), type="i64", exact=True, keep=False
    )
    if draw.chance(0.5):
        kept = draw.between(1, x.rank)
        if draw.chance(0.5):
            head = graph.node(
                "Slice",
                [shape, graph.ints([0]), graph.ints([kept])],
                (kept,),
                type="i64",
                exact=True,
                keep=False,
            )
        else:
            head = graph.node(
                "Gather",
                [shape, graph.ints(list(range(kept)))],
                (kept,),
                type="i64",
                exact=True,
                keep=False,
                axis=0,
            )
        target = graph.node(
            "Concat",
            [head, graph.ints([-1])],
            (kept + 1,),
            type="i64",
            exact=True,
            keep=False,
            axis=0,
        )
        return graph.node(
            "Reshape",
            [x, target],
            (*x.shape[:kept], math.prod(x.shape[kept:])),
            exact=x.exact,
        )
    if draw.chance(0.5):
        row = graph.constant(graph.noise(draw.pick([(1,), x.shape[-1:]])))
        wide = graph.node("Expand", [row, shape], x.shape, exact=True)
    else:
        wide = graph.node(
            "ConstantOfShape", [shape], x.shape, spread=1.0, exact=True
        )
    return combine(graph, x, wide)


def scale(graph, number):
    return graph.constant(np.float32(number))


def quantised(graph, x):
    """To 8 bits and back. Only of exact values and by powers of two: all
    engines round alike."""
    if not x.exact or not x.elements:
        return None
    draw = graph.draw
    kind = draw.pick(["u8", "i8"])
    step, zero = scale(graph, 2.0**-5), graph.constant(
        np.array(128 if kind == "u8" else 3, TYPES[kind][1])
    )
    y = graph.node(
        "QuantizeLinear", [x, step, zero], type=kind, exact=True, keep=False
    )
    if x.rank >= 2 and draw.chance(0.5):
        width = draw.pick([1, 5, 16, 17, 32])
        shape = (*x.shape[:-1], width)
        if (
            not graph.fits(shape)
            or math.prod(shape) * x.shape[-1] > graph.MAX_WORK
        ):
            return None
        weights = graph.constant(graph.whole((x.shape[-1], width), -9, 9, "i8"))
        y = graph.node(
            "MatMulInteger",
            [y, weights, zero],
            shape,
            type="i32",
            exact=True,
            keep=False,
        )
        y = graph.node(
            "Cast",
            [y],
            spread=32 * 5 * math.sqrt(x.shape[-1]),
            exact=True,
            keep=False,
            to=1,
        )
        return graph.node(
            "Mul",
            [y, scale(graph, 2.0 ** -int(math.log2(y.spread + 1)))],
            shape,
            spread=1.0,
        )
    return graph.node(
        "DequantizeLinear",
        [y, step, zero],
        x.shape,
        spread=x.spread,
        exact=True,
    )


def vector_product(graph, x):
    """Products with a vector or with a constant on the left."""
    draw = graph.draw
    depth = x.shape[-1]
    if draw.chance(0.5) or x.rank < 2:
        return graph.node(
            "MatMul",
            [x, graph.weights((depth,), depth, x.spread)],
            x.shape[:-1],
            spread=1.0,
        )
    rows, width = x.shape[-2], draw.pick([1, 3, 16, 17, 24])
    shape = (*x.shape[:-2], width, depth)
    if not graph.fits(shape) or math.prod(shape) * rows > graph.MAX_WORK:
        return None
    return graph.node(
        "MatMul",
        [graph.weights((width, rows), rows, x.spread), x],
        shape,
        spread=1.0,
    )


def scatter(graph, x):
    """Some rows of a value replaced, as caches of keys and values are
    filled."""
    draw = graph.draw
    axis = draw.below(x.rank) if draw.chance(0.5) else 0
    count = draw.between(1, x.shape[axis])
    rows = draw.sample(draw.shuffled(range(x.shape[axis])), count)
    shape = tuple(count if i == axis else d for i, d in enumerate(x.shape))
    updates = (
        graph.constant(graph.noise(shape))
        if draw.chance(0.5) or len(graph.inputs) > 4
        else graph.input(shape)
    )
    if axis == 0 and draw.chance(0.6):
        index = graph.constant(np.array(rows, np.int64).reshape(count, 1), "i")
        return graph.node("ScatterND", [x, index, updates], exact=x.exact)
    ones = tuple(count if i == axis else 1 for i in range(x.rank))
    index = np.broadcast_to(np.array(rows, np.int64).reshape(ones), shape)
    return graph.node(
        "ScatterElements",
        [x, graph.constant(index, "i"), updates],
        exact=x.exact,
        axis=axis,
    )


def moving_slice(graph, x):
    """A constant number of rows from a start that only a run tells."""
    draw = graph.draw
    if len(graph.inputs) > 4:
        return None
    axis = draw.below(x.rank)
    size, step = x.shape[axis], draw.pick([1, 1, 1, 2, 3])
    length = draw.between(1, size)
    count = (length - 1) // step + 1
    type = draw.pick(["i64", "i32"])
    start = graph.input((1,), type, graph.whole((1,), 0, size - length, type))
    end = graph.node(
        "Add",
        [start, graph.constant(graph.whole((1,), length, length, type))],
        type=type,
        exact=True,
    )

    def same(number):
        return graph.constant(graph.whole((1,), number, number, type), "i")

    return graph.node(
        "Slice",
        [x, start, end, same(axis), same(step) if step > 1 else None],
        tuple(count if i == axis else d for i, d in enumerate(x.shape)),
        exact=x.exact,
    )


def grid_sample(graph, x):
    draw = graph.draw
    if graph.opset < 16 or x.rank != 4 or len(graph.inputs) > 4:
        return None
    size = (draw.between(1, 12), draw.between(1, 20))
    shape = (*x.shape[:2], *size)
    if not graph.fits(shape):
        return None
    places = (x.shape[0], *size, 2)
    grid = graph.input(places, data=graph.noise(places, 0.6))
    return graph.node(
        "GridSample",
        [x, grid],
        shape,
        mode="linear" if graph.opset >= 20 else "bilinear",
        padding_mode=draw.pick(["zeros", "border", "reflection"]),
        align_corners=draw.below(2),
    )


def features(graph, x):
    """A layer of ai.onnx.ml, as converters put one before or behind a
    network."""
    draw = graph.draw
    domain = {"domain": "ai.onnx.ml"}
    size = x.shape[-1]
    op = draw.pick(
        ["ArrayFeatureExtractor", "Binarizer", "Normalizer", "Scaler"]
    )
    if op == "ArrayFeatureExtractor":
        count = draw.between(1, size + 2)
        index = graph.constant(graph.whole((count,), 0, size - 1))
        shape = (*(x.shape[:-1] or (1,)), count)
        return graph.fits(shape) and graph.node(
            op, [x, index], shape, exact=x.exact, **domain
        )
    if op == "Scaler":
        each = x.rank <= 2 and draw.chance(0.6)
        count = size if each else 1
        return graph.node(
            op,
            [x],
            spread=1.0,
            offset=[draw.uniform(-1, 1) for _ in range(count)],
            scale=[draw.uniform(0.3, 1) / x.spread for _ in range(count)],
            **domain,
        )
    if op == "Normalizer":
        if x.rank > 2:
            return None
        # The largest number of a row may be near zero.
        norm = draw.pick(["L1", "L2"])
        return graph.node(op, [x], spread=0.3, norm=norm, **domain)
    if not x.exact:
        return None
    return graph.node(
        op,
        [x],
        spread=0.5,
        exact=True,
        threshold=draw.uniform(-0.5, 0.5),
        **domain,
    )


PIECES = [
    (2, folded),
    (2, shaped),
    (1, quantised),
    (2, vector_product),
    (2, scatter),
    (1, moving_slice),
    (0.5, features),
]
IMAGE_PIECES = [(1, grid_sample)]
