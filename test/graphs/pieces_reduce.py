"""Reductions, layers made of reductions, and values that meet something smaller
of their own.
"""
import math

import numpy as np

from pieces_elementwise import combine
from pieces_shape import cut


def reduction(graph, x, op, axes, keep, spread=None):
    axes = sorted(axes)
    shape = tuple(
        1 if i in axes else d
        for i, d in enumerate(x.shape)
        if keep or i not in axes
    )
    exact = x.exact and op in ("ReduceMax", "ReduceMin")
    given = [a - x.rank if graph.draw.chance(0.25) else a for a in axes]
    attributes = (
        {} if keep and graph.draw.chance(0.5) else {"keepdims": int(keep)}
    )
    if graph.opset >= 18 or op == "ReduceSum":
        return graph.node(
            op,
            [x, graph.ints(given)],
            shape,
            spread=spread,
            exact=exact,
            **attributes
        )
    return graph.node(
        op, [x], shape, spread=spread, exact=exact, axes=given, **attributes
    )


def reduce(graph, x):
    draw = graph.draw
    axes = draw.sample(
        range(x.rank), draw.weighted([(4, 1), (3, min(2, x.rank)), (1, x.rank)])
    )
    if draw.chance(0.4):  # the usual ones
        axes = draw.pick(
            [
                [x.rank - 1],
                list(range(2, x.rank)) or [0],
                [0],
                list(range(x.rank)),
            ]
        )
    count = math.prod(x.shape[a] for a in axes)
    op = draw.weighted(
        [
            (5, "ReduceMean"),
            (4, "ReduceSum"),
            (4, "ReduceMax"),
            (3, "ReduceMin"),
            (1, "ReduceL1"),
            (1, "ReduceL2"),
            (1, "ReduceSumSquare"),
            (1, "ReduceLogSumExp"),
            (1, "ReduceProd"),
            (1, "ReduceLogSum"),
        ]
    )
    if op in ("ReduceProd",) and (count > 8 or x.spread > 2):
        return None
    # Such a sum cancels: only rounding would be left for later nodes.
    if op == "ReduceSum" and count > 1000:
        op = "ReduceMean"
    if op in ("ReduceLogSumExp", "ReduceSumSquare") and x.spread > 10:
        return None
    if op == "ReduceLogSum":
        x = graph.node("Abs", [x])
        x = graph.node(
            "Add", [x, graph.scalar(0.5)], x.shape, spread=x.spread + 0.5
        )
    spread = {
        "ReduceMean": x.spread,
        "ReduceMax": x.spread * 2,
        "ReduceMin": x.spread * 2,
        "ReduceSum": x.spread * math.sqrt(count),
        "ReduceL1": x.spread * count,
        "ReduceL2": x.spread * math.sqrt(count),
        "ReduceSumSquare": x.spread**2 * count,
        "ReduceProd": max(1.0, x.spread) ** min(count, 8),
        "ReduceLogSum": math.log(count + 2),
        "ReduceLogSumExp": x.spread + math.log(count + 1),
    }[op]
    return reduction(graph, x, op, axes, draw.chance(0.6), spread)


def normalised(graph, x, axes):
    """(x - mean) / sqrt(variance + eps), spelled out, with a scale and a
    shift."""
    draw = graph.draw
    mean = reduction(graph, x, "ReduceMean", axes, True)
    centred = graph.node("Sub", [x, mean], x.shape)
    square = (
        graph.node("Mul", [centred, centred], x.shape, spread=x.spread**2)
        if draw.chance(0.5)
        else graph.node(
            "Pow",
            [centred, graph.constant(np.float32(2))],
            x.shape,
            spread=x.spread**2,
        )
    )
    variance = reduction(graph, square, "ReduceMean", axes, True)
    shifted = graph.node(
        "Add", [variance, graph.constant(np.float32(1e-3))], variance.shape
    )
    deviation = graph.node("Sqrt", [shifted], spread=x.spread)
    y = graph.node("Div", [centred, deviation], x.shape, spread=1.0)
    shape = tuple(d if i in axes else 1 for i, d in enumerate(x.shape))
    if draw.chance(0.8):
        y = graph.node(
            "Mul",
            [y, graph.constant(graph.noise(shape, 0.2, 1.0), "w")],
            x.shape,
        )
        y = graph.node(
            "Add", [y, graph.constant(graph.noise(shape, 0.3), "b")], x.shape
        )
    return y


def softmax(graph, x):
    draw = graph.draw
    axis = draw.pick(
        [x.rank - 1, -1, draw.below(x.rank), 1 if x.rank > 1 else 0]
    )
    if x.spread > 10:
        return None
    log = draw.chance(0.15)
    return graph.node(
        "LogSoftmax" if log else "Softmax",
        [x],
        axis=axis,
        spread=math.log(x.shape[axis] + 2) if log else 2 / x.shape[axis],
    )


def cumulate(graph, x):
    axis = graph.draw.below(x.rank)
    if x.shape[axis] > 64:
        return None
    return graph.node(
        "CumSum",
        [x, graph.constant(np.int64(axis))],
        x.shape,
        spread=x.spread * math.sqrt(x.shape[axis]),
        exclusive=graph.draw.below(2),
        reverse=graph.draw.below(2),
    )


def with_part(graph, x):
    """A value with something smaller of its own: a reduction or a slice of
    extent one."""
    draw = graph.draw
    axes = draw.sample(range(x.rank), draw.between(1, x.rank))
    if draw.chance(0.6):
        part = reduction(
            graph,
            x,
            "ReduceMean" if draw.chance(0.5) else "ReduceMax",
            axes,
            True,
        )
    else:
        part = cut(graph, x, axes[:1], [draw.below(x.shape[axes[0]])], [1])
    return combine(graph, x, part)


def outer(graph, x):
    """Two values that both grow: [.., a, 1] and [.., 1, b]."""
    if x.rank < 2:
        return None
    rows = reduction(graph, x, "ReduceMean", [x.rank - 1], True)
    columns = reduction(graph, x, "ReduceMax", [x.rank - 2], True)
    return combine(graph, rows, columns)
