"""Pieces that move data: concatenations and splits, slices, transposes, other
shapes, gathering.
"""
import math

import numpy as np

from pieces_elementwise import activation


def concat(graph, parts, axis):
    total = sum(p.shape[axis] for p in parts)
    shape = tuple(
        total if i == axis else d for i, d in enumerate(parts[0].shape)
    )
    given = axis - len(shape) if graph.draw.chance(0.2) else axis
    return graph.node(
        "Concat",
        parts,
        shape,
        type=parts[0].type,
        spread=max(p.spread for p in parts),
        exact=all(p.exact for p in parts),
        axis=given,
    )


def join(graph, x):
    """A concatenation with fitting values: itself, other values, constants,
    inputs."""
    draw = graph.draw
    axis = draw.weighted(
        [
            (5, min(1, x.rank - 1)),
            (2, x.rank - 1),
            (1, 0),
            (2, draw.below(x.rank)),
        ]
    )
    parts = [x]
    for _ in range(draw.weighted([(6, 1), (3, 2), (1, 3)])):
        kind = draw.weighted(
            [
                (4, "other"),
                (3, "self"),
                (2, "constant"),
                (1, "input"),
                (2, "activation"),
            ]
        )
        part = x
        if kind == "other":
            part = (
                graph.choose(
                    lambda v: v.type == x.type
                    and v.rank == x.rank
                    and all(
                        a == b
                        for i, (a, b) in enumerate(zip(v.shape, x.shape))
                        if i != axis
                    )
                )
                or x
            )
        elif kind in ("constant", "input") and x.is_float:
            extent = draw.pick([1, 2, 3, 5, 8, 16, 17])
            shape = tuple(
                extent if i == axis else d for i, d in enumerate(x.shape)
            )
            if graph.fits(shape) and kind == "constant":
                part = graph.constant(graph.noise(shape))
            elif graph.fits(shape) and len(graph.inputs) < 5:
                part = graph.input(shape)
        elif kind == "activation" and x.is_float:
            part = activation(graph, x)
        parts.append(part)
    if sum(p.elements for p in parts) > graph.MAX_ELEMENTS:
        return None
    return concat(graph, draw.shuffled(parts), axis)


def divide(graph, x):
    """A split into parts of odd sizes, or equal ones."""
    draw = graph.draw
    axes = [i for i, d in enumerate(x.shape) if d >= 2]
    if not axes:
        return None
    axis = 1 if 1 in axes and draw.chance(0.6) else draw.pick(axes)
    extent = x.shape[axis]
    count = draw.between(2, min(4, extent))
    sizes = draw.parts(extent, count)
    operands, attributes = [x], {"axis": axis}
    if extent % count == 0 and draw.chance(0.3):
        sizes = [extent // count] * count
        if graph.opset >= 18:
            attributes["num_outputs"] = count
    else:
        operands.append(graph.ints(sizes))
    shapes = [
        tuple(s if i == axis else d for i, d in enumerate(x.shape))
        for s in sizes
    ]
    if axis == 0 and draw.chance(0.5):
        del attributes["axis"]
    return graph.draw.pick(
        graph.many(
            "Split",
            operands,
            shapes,
            types=(x.type,),
            spreads=(x.spread,),
            exact=x.exact,
            **attributes
        )
    )


def cut(graph, x, axes, starts, counts, steps=None):
    """A slice; negative steps go down from the start."""
    steps = steps or [1] * len(axes)
    shape = list(x.shape)
    ends = []
    for axis, start, count, step in zip(axes, starts, counts, steps):
        shape[axis] = count
        end = start + (count - 1) * step + (1 if step > 0 else -1)
        ends.append(end if end >= 0 else -(2**31))
    operands = [x, graph.ints(starts), graph.ints(ends), graph.ints(axes)]
    if any(s != 1 for s in steps) or graph.draw.chance(0.3):
        operands.append(graph.ints(steps))
    return graph.node(
        "Slice", operands, tuple(shape), type=x.type, exact=x.exact
    )


def slice_(graph, x):
    draw = graph.draw
    axes = [i for i, d in enumerate(x.shape) if d >= 2]
    if not axes:
        return None
    chosen = (
        [1]
        if 1 in axes and draw.chance(0.5)
        else draw.sample(axes, draw.between(1, min(2, len(axes))))
    )
    starts, counts, steps = [], [], []
    for axis in chosen:
        extent = x.shape[axis]
        step = draw.weighted([(6, 1), (2, 2), (1, 3), (2, -1), (1, -2)])
        most = -(-extent // abs(step))
        count = draw.between(max(1, most // 2), most)
        room = extent - 1 - (count - 1) * abs(step)
        start = draw.between(0, room) if draw.chance(0.7) else 0
        starts.append(start if step > 0 else extent - 1 - start)
        counts.append(count)
        steps.append(step)
    return cut(graph, x, chosen, starts, counts, steps)


def transpose(graph, x):
    draw = graph.draw
    if x.rank < 2:
        return None
    perm = draw.shuffled(range(x.rank))
    if draw.chance(0.5):
        perm = draw.pick(
            [
                [0, *range(2, x.rank), 1],
                [0, x.rank - 1, *range(1, x.rank - 1)],
                [*range(x.rank - 2), x.rank - 1, x.rank - 2],
            ]
        )
    return graph.node(
        "Transpose",
        [x],
        tuple(x.shape[p] for p in perm),
        type=x.type,
        exact=x.exact,
        perm=perm,
    )


def factored(draw, count, rank):
    """A shape of so many elements."""
    shape = []
    for _ in range(rank - 1):
        divisors = [d for d in range(1, min(count, 64) + 1) if count % d == 0]
        shape.append(draw.pick(divisors))
        count //= shape[-1]
    return draw.shuffled(shape + [count])


def reshape(graph, x):
    draw = graph.draw
    kind = draw.weighted(
        [
            (3, "free"),
            (3, "keep"),
            (2, "flatten"),
            (2, "unsqueeze"),
            (3, "squeeze"),
        ]
    )
    if kind == "flatten":
        axis = draw.between(0, x.rank)
        return graph.node(
            "Flatten",
            [x],
            (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])),
            type=x.type,
            exact=x.exact,
            axis=axis,
        )
    if kind == "unsqueeze":
        if x.rank > 4:
            return None
        axis = draw.between(0, x.rank)
        return graph.node(
            "Unsqueeze",
            [x, graph.ints([axis])],
            (*x.shape[:axis], 1, *x.shape[axis:]),
            type=x.type,
            exact=x.exact,
        )
    ones = [i for i, d in enumerate(x.shape) if d == 1]
    if kind == "squeeze" and ones and x.rank > 1:
        axes = draw.sample(ones, draw.between(1, min(len(ones), x.rank - 1)))
        return graph.node(
            "Squeeze",
            [x, graph.ints(axes)],
            tuple(d for i, d in enumerate(x.shape) if i not in axes),
            type=x.type,
            exact=x.exact,
        )
    if kind == "free":
        shape = factored(draw, x.elements, draw.pick([1, 2, 3, 3, 4, 4, 5]))
    else:  # leading dimensions stay
        kept = draw.between(1, x.rank)
        shape = [
            *x.shape[:kept],
            *factored(draw, math.prod(x.shape[kept:]), draw.pick([1, 2, 3])),
        ]
    if len(shape) > 6:
        return None
    given = list(shape)
    if draw.chance(0.4):
        given[draw.below(len(given))] = -1
    for i in range(min(len(given), x.rank)):
        if given[i] == x.shape[i] and draw.chance(0.15):
            given[i] = 0
    return graph.node(
        "Reshape",
        [x, graph.ints(given)],
        tuple(shape),
        type=x.type,
        exact=x.exact,
    )


def expand(graph, x):
    draw = graph.draw
    if draw.chance(0.5):
        repeats = [draw.pick([1, 1, 2, 3]) for _ in x.shape]
        shape = tuple(d * r for d, r in zip(x.shape, repeats))
        if not graph.fits(shape):
            return None
        return graph.node(
            "Tile", [x, graph.ints(repeats)], shape, type=x.type, exact=x.exact
        )
    shape = tuple(
        draw.pick([2, 3, 5]) if d == 1 and draw.chance(0.7) else d
        for d in x.shape
    )
    if draw.chance(0.2) and x.rank < 5:
        shape = (2, *shape)
    if not graph.fits(shape):
        return None
    more = len(shape) - x.rank
    # An extent that stays may be given as one.
    given = [
        1 if s == d and draw.chance(0.2) else s
        for s, d in zip(shape[more:], x.shape)
    ]
    return graph.node(
        "Expand",
        [x, graph.ints([*shape[:more], *given])],
        shape,
        type=x.type,
        exact=x.exact,
    )


def pad(graph, x):
    draw = graph.draw
    mode = draw.weighted(
        [
            (4, "constant"),
            (3, "reflect"),
            (2, "edge"),
            (1, "wrap" if graph.opset >= 19 else "edge"),
        ]
    )
    before, after = [0] * x.rank, [0] * x.rank
    axes = (
        list(range(2, x.rank))
        if x.rank > 2 and draw.chance(0.6)
        else draw.sample(range(x.rank), draw.between(1, x.rank))
    )
    for axis in axes:
        most = x.shape[axis] - 1 if mode in ("reflect", "wrap") else 3
        before[axis] = draw.between(0, min(3, most))
        after[axis] = draw.between(0, min(3, most))
        if mode == "constant" and draw.chance(0.1) and x.shape[axis] > 2:
            before[axis] = -1
    shape = tuple(d + b + a for d, b, a in zip(x.shape, before, after))
    if not graph.fits(shape) or not any(before + after):
        return None
    operands = [x, None, None, None]
    if mode == "constant" and draw.chance(0.5):
        operands[2] = graph.constant(np.float32(draw.uniform(-1, 1)))
    if graph.opset >= 18 and draw.chance(0.4):
        operands[1] = graph.ints(
            [before[a] for a in axes] + [after[a] for a in axes]
        )
        operands[3] = graph.ints(axes)
    else:
        operands[1] = graph.ints(before + after)
    attributes = (
        {} if mode == "constant" and draw.chance(0.5) else {"mode": mode}
    )
    return graph.node("Pad", operands, shape, exact=x.exact, **attributes)


def gather(graph, x):
    draw = graph.draw
    axis = draw.below(x.rank)
    extent = x.shape[axis]
    picked = draw.pick([(), (1,), (draw.between(1, 7),), (2, 3)])
    shape = (*x.shape[:axis], *picked, *x.shape[axis + 1 :])
    if not graph.fits(shape) or len(shape) > 6:
        return None
    if draw.chance(0.3) and len(graph.inputs) < 5:
        index = graph.input(picked, "i64", graph.whole(picked, 0, extent - 1))
    else:
        index = graph.constant(graph.whole(picked, -extent, extent - 1), "i")
    return graph.node(
        "Gather", [x, index], shape, type=x.type, exact=x.exact, axis=axis
    )


def gather_elements(graph, x):
    draw = graph.draw
    axis = draw.below(x.rank)
    shape = tuple(draw.between(1, d) for d in x.shape)
    index = graph.constant(
        graph.whole(shape, -x.shape[axis], x.shape[axis] - 1), "i"
    )
    return graph.node(
        "GatherElements",
        [x, index],
        shape,
        type=x.type,
        exact=x.exact,
        axis=axis,
    )


def trilu(graph, x):
    if graph.opset < 14 or x.rank < 2:
        return None
    k = (
        graph.constant(np.int64(graph.draw.between(-2, 2)))
        if graph.draw.chance(0.6)
        else None
    )
    return graph.node(
        "Trilu", [x, k], x.shape, exact=x.exact, upper=graph.draw.below(2)
    )
