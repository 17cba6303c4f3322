"""Pieces for values of any rank: element-wise layers with broadcasting, data
movement, reductions, and side paths of whole numbers and truth values.
"""
import math

import numpy as np


# -- element-wise ----------------------------------------------------------------------------


def activation(graph, x):
    """One operator or the few that exporters write for it."""
    return graph.draw.weighted(ACTIVATIONS)(graph, x) or graph.node("Relu", [x])


def simple(op, opset=1, most=None, **ranges):
    """An activation that is one operator, with attributes drawn from ranges."""

    def emit(graph, x):
        if graph.opset < opset:
            return None
        attributes = {
            k: graph.draw.uniform(*r)
            for k, r in ranges.items()
            if graph.draw.chance(0.8)
        }
        return graph.node(
            op, [x], spread=min(x.spread, most or x.spread), **attributes
        )

    return emit


def relu(graph, x):
    return graph.node("Relu", [x], exact=x.exact)


def clip(graph, x):
    least, most = graph.draw.pick(
        [(0, 6), (-1, 1), (0, 1), (None, 0.5), (-0.25, None)]
    )
    bounds = [
        graph.constant(np.float32(b)) if b is not None else None
        for b in (least, most)
    ]
    return graph.node(
        "Clip", [x, *bounds], spread=min(x.spread, 6.0), exact=x.exact
    )


def prelu(graph, x):
    shape = (
        graph.draw.pick([bias_shape(x), (1,), x.shape[-1:]]) if x.rank else ()
    )
    return graph.node(
        "PRelu", [x, graph.constant(graph.noise(shape, 0.2, 0.2), "w")]
    )


def swish(graph, x):
    gate = graph.node(
        graph.draw.pick(["Sigmoid", "Sigmoid", "HardSigmoid"]), [x], spread=0.5
    )
    return graph.node("Mul", graph.draw.shuffled([x, gate]))


def gelu(graph, x):
    if graph.opset >= 20 and graph.draw.chance(0.5):
        return graph.node(
            "Gelu", [x], approximate=graph.draw.pick(["none", "tanh"])
        )
    y = graph.node("Div", [x, graph.scalar(math.sqrt(2))], x.shape)
    y = graph.node("Erf", [y], spread=1.0)
    y = graph.node("Add", [y, graph.scalar(1)], x.shape)
    y = graph.node("Mul", [x, y], x.shape)
    return graph.node("Mul", [y, graph.scalar(0.5)], x.shape)


def hard_swish(graph, x):
    if graph.opset >= 14 and graph.draw.chance(0.6):
        return graph.node("HardSwish", [x])
    y = graph.node("Add", [x, graph.scalar(3)], x.shape)
    y = graph.node(
        "Clip",
        [y, graph.constant(np.float32(0)), graph.constant(np.float32(6))],
        x.shape,
    )
    y = graph.node("Mul", [x, y], x.shape)
    return graph.node("Div", [y, graph.scalar(6)], x.shape)


ACTIVATIONS = [
    (6, relu),
    (2, clip),
    (2, prelu),
    (3, swish),
    (2, gelu),
    (2, hard_swish),
    (2, simple("LeakyRelu", alpha=(0.01, 0.4))),
    (2, simple("Elu", alpha=(0.3, 1.2))),
    (1, simple("Selu")),
    (1, simple("Celu", 12, alpha=(0.5, 1.5))),
    (3, simple("Sigmoid", most=0.7)),
    (2, simple("HardSigmoid", most=0.7, alpha=(0.1, 0.3), beta=(0.3, 0.6))),
    (2, simple("Tanh", most=0.7)),
    (1, simple("Softplus")),
    (1, simple("Softsign", most=0.7)),
    (1, simple("Mish", 18)),
]


def unary(graph, x):
    """Functions, kept to where they are smooth: 1e-7 at their operand is little
    behind them."""
    draw, wide = graph.draw, x.shape
    kind = draw.pick(
        [
            "Abs",
            "Neg",
            "Sin",
            "Cos",
            "Atan",
            "Erf",
            "Exp",
            "Sqrt",
            "Log",
            "Reciprocal",
            "Square",
            "Pow",
            "Cube",
            "Asinh",
            "Sinh",
            "Identity",
            "Dropout",
        ]
    )
    if kind in ("Abs", "Neg", "Identity", "Dropout"):
        return graph.node(kind, [x], exact=x.exact)
    if kind in ("Sin", "Cos", "Atan", "Erf", "Asinh"):
        return (
            graph.node(kind, [x], spread=min(x.spread, 1.0))
            if x.spread < 20
            else None
        )
    if kind in ("Exp", "Sinh"):
        y = graph.node("Tanh", [x], spread=0.7) if x.spread > 0.75 else x
        return graph.node(kind, [y], spread=1.5)
    if kind == "Square":
        return (
            graph.node("Mul", [x, x], spread=x.spread**2)
            if x.spread < 3
            else None
        )
    if kind == "Cube":
        y = graph.node("Tanh", [x], spread=0.7)
        return graph.node(
            "Pow", [y, graph.constant(np.float32(3))], wide, spread=0.5
        )
    # The rest grow steep at zero.
    y = graph.node("Abs", [x])
    y = graph.node("Add", [y, graph.scalar(0.5)], wide, spread=x.spread + 0.5)
    if kind == "Pow":
        return graph.node(
            "Pow",
            [y, graph.constant(np.float32(draw.pick([0.5, -0.5, 1.5, 2])))],
            wide,
        )
    return graph.node(kind, [y], wide, spread=max(1.0, y.spread**0.5))


def bias_shape(x):
    """One element a channel, for values of rank 2 at least."""
    return (x.shape[1], *[1] * (x.rank - 2)) if x.rank >= 2 else x.shape


def operand_shapes(graph, x):
    """Shapes that broadcast with a value's, of every kind."""
    draw = graph.draw
    some = tuple(d if draw.chance(0.5) else 1 for d in x.shape)
    return [
        x.shape,
        (1,),
        (),
        (1,) * x.rank,
        x.shape[-1:],
        bias_shape(x),
        some,
        x.shape[draw.below(x.rank + 1) :],
        (1, *some)[-5:],
        some[draw.below(x.rank + 1) :],
    ]


def broadcast(a, b):
    """The common shape of two, or None."""
    long = max(len(a), len(b))
    a, b = (1,) * (long - len(a)) + tuple(a), (1,) * (long - len(b)) + tuple(b)
    if any(m != n and 1 not in (m, n) for m, n in zip(a, b)):
        return None
    return tuple(n if m == 1 else m for m, n in zip(a, b))


def combine(graph, a, b):
    """Two floats through an operator of two operands."""
    shape = broadcast(a.shape, b.shape)
    if shape is None or not graph.fits(shape):
        return None
    draw = graph.draw
    op = draw.weighted(
        [
            (6, "Add"),
            (5, "Mul"),
            (3, "Sub"),
            (2, "Div"),
            (1, "Max"),
            (1, "Min"),
            (1, "Sum"),
            (1, "Mean"),
            (1, "Pow"),
        ]
    )
    if op in ("Mul", "Pow") and a.spread * b.spread > 8:
        op = "Add"
    if op == "Pow":
        base = graph.node("Abs", [a])
        base = graph.node(
            "Add", [base, graph.scalar(0.5)], a.shape, spread=a.spread + 0.5
        )
        power = graph.node("Tanh", [b], spread=0.7)
        return graph.node("Pow", [base, power], shape, spread=base.spread)
    if op == "Div":
        b = graph.node("Abs", [b])
        b = graph.node(
            "Add", [b, graph.scalar(0.5)], b.shape, spread=b.spread + 0.5
        )
        return graph.node("Div", [a, b], shape, spread=a.spread * 1.5)
    spread = (
        a.spread * b.spread if op == "Mul" else math.hypot(a.spread, b.spread)
    )
    exact = op in ("Max", "Min") and a.exact and b.exact
    operands = (
        [a, b]
        if op in ("Sub", "Div") and draw.chance(0.5)
        else draw.shuffled([a, b])
    )
    if op in ("Max", "Min", "Sum", "Mean") and draw.chance(0.3):
        operands.append(draw.pick(operands))
    return graph.node(op, operands, shape, spread=spread, exact=exact)


def with_constant(graph, x):
    shape = graph.draw.pick(operand_shapes(graph, x))
    return combine(graph, x, graph.constant(graph.noise(shape, 0.5, 0.5), "w"))


def with_input(graph, x):
    if len(graph.inputs) > 5:
        return None
    return combine(
        graph, x, graph.input(graph.draw.pick(operand_shapes(graph, x)))
    )


def with_other(graph, x):
    other = graph.choose(
        lambda v: v.is_float
        and v is not x
        and broadcast(v.shape, x.shape)
        and graph.fits(broadcast(v.shape, x.shape))
    )
    return combine(graph, x, other) if other is not None else None


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


# -- reductions ------------------------------------------------------------------------------


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
    if (
        op == "ReduceSum" and count > 1000
    ):  # cancels: what is left is rounding, for what comes after
        op = "ReduceMean"
    if (
        op == "ReduceLogSumExp"
        and x.spread > 10
        or op == "ReduceSumSquare"
        and x.spread > 10
    ):
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


# -- data movement ---------------------------------------------------------------------------


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
    """A concatenation with whatever fits: itself, other values, constants,
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
        before[axis], after[axis] = draw.between(0, min(3, most)), draw.between(
            0, min(3, most)
        )
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


# -- whole numbers and truth values ----------------------------------------------------------


def truth(graph, shape):
    """A condition of a shape that broadcasts to this one, on which all engines
    agree."""
    draw = graph.draw
    some = tuple(d if draw.chance(0.7) else 1 for d in shape)
    known = graph.choose(
        lambda v: v.type == "bool" and broadcast(v.shape, shape) == tuple(shape)
    )
    if known is not None and draw.chance(0.5):
        return known
    exact = graph.choose(
        lambda v: v.exact and v.is_float and v.shape == tuple(shape)
    )
    if exact is not None and draw.chance(0.6):
        op = draw.pick(["Greater", "Less", "GreaterOrEqual", "LessOrEqual"])
        return graph.node(
            op,
            [exact, graph.scalar(draw.uniform(-0.7, 0.7))],
            shape,
            type="bool",
            exact=True,
        )
    if draw.chance(0.5) and len(graph.inputs) < 5:
        return graph.input(some, "bool")
    return graph.constant(graph.whole(some, 0, 1, "bool"))


def where(graph, x):
    draw = graph.draw
    condition = truth(graph, x.shape)
    if draw.chance(0.3):
        flipped = truth(graph, x.shape)
        shape = broadcast(condition.shape, flipped.shape)
        condition = graph.node(
            draw.pick(["And", "Or", "Xor"]),
            [condition, flipped],
            shape,
            type="bool",
            exact=True,
        )
    if draw.chance(0.3):
        condition = graph.node("Not", [condition], type="bool", exact=True)
    other = graph.choose(
        lambda v: v.is_float and broadcast(v.shape, x.shape) == x.shape
    )
    if other is None or draw.chance(0.3):
        other = graph.scalar(draw.uniform(-1, 1))
    shape = broadcast(broadcast(condition.shape, x.shape), other.shape)
    if not graph.fits(shape):
        return None
    return graph.node(
        "Where",
        [condition, *draw.shuffled([x, other])],
        shape,
        spread=max(x.spread, other.spread),
        exact=x.exact and other.exact,
    )


def numbers(graph, x):
    """A path of whole numbers that meets a value again."""
    draw = graph.draw
    type = draw.pick(["i64", "i64", "i32"])
    shape = draw.pick([s for s in operand_shapes(graph, x)])
    known = graph.choose(
        lambda v: v.type in ("i64", "i32") and broadcast(v.shape, x.shape)
    )
    a = known if known is not None and draw.chance(0.5) else None
    if a is None:
        a = (
            graph.input(shape, type)
            if len(graph.inputs) < 5
            else graph.constant(graph.whole(shape, 0, 9, type))
        )
    for _ in range(draw.between(0, 3)):
        op = draw.pick(
            [
                "Add",
                "Mul",
                "Sub",
                "Max",
                "Min",
                "Mod",
                "Div",
                "Neg",
                "Abs",
                "ReduceSum",
                "Concat",
                "Where",
            ]
        )
        number = graph.constant(
            graph.whole(draw.pick([(), (1,), a.shape]), 1, 5, a.type)
        )
        wide = broadcast(a.shape, number.shape)
        if a.spread > 1e5:
            break
        if op == "Div":
            a = graph.node("Abs", [a], type=a.type, exact=True)
        if op in ("Neg", "Abs"):
            a = graph.node(op, [a], type=a.type, exact=True)
        elif op == "ReduceSum" and a.rank:
            a = graph.node(
                op,
                [a, graph.ints([a.rank - 1])],
                (*a.shape[:-1], 1),
                type=a.type,
                exact=True,
                spread=a.spread * a.shape[-1],
                keepdims=1,
            )
        elif op == "Where":
            condition = graph.node(
                draw.pick(["Greater", "Less", "Equal"]),
                [a, number],
                wide,
                type="bool",
                exact=True,
            )
            a = graph.node(
                "Where",
                [condition, a, number],
                wide,
                type=a.type,
                exact=True,
                spread=a.spread + 5,
            )
        elif op in ("Add", "Mul", "Sub", "Max", "Min", "Mod", "Div"):
            attributes = {"fmod": 0} if op == "Mod" else {}
            a = graph.node(
                op,
                [a, number],
                wide,
                type=a.type,
                exact=True,
                spread=a.spread * 5 + 5,
                **attributes
            )
    if draw.chance(0.3):
        return a
    if a.spread > 1e5 or broadcast(a.shape, x.shape) is None:
        return None
    y = graph.node("Cast", [a], spread=a.spread, exact=True, to=1)
    y = graph.node(
        "Mul",
        [y, graph.scalar(round(1 / max(1.0, a.spread), 6))],
        a.shape,
        spread=1.0,
    )
    return combine(graph, x, y)


def sort(graph, x):
    """Positions and order of exact values; of equal ones the first comes
    first."""
    draw = graph.draw
    axis = draw.below(x.rank)
    if not x.exact:
        return None
    if draw.chance(0.6):
        keep = draw.chance(0.5)
        shape = tuple(
            1 if i == axis else d
            for i, d in enumerate(x.shape)
            if keep or i != axis
        )
        return graph.node(
            draw.pick(["ArgMax", "ArgMin"]),
            [x],
            shape,
            type="i64",
            exact=True,
            axis=axis,
            keepdims=int(keep),
            spread=float(x.shape[axis]),
        )
    count = draw.between(1, x.shape[axis])
    shape = tuple(count if i == axis else d for i, d in enumerate(x.shape))
    return graph.many(
        "TopK",
        [x, graph.ints([count])],
        [shape, shape],
        types=("f32", "i64"),
        spreads=(x.spread, 1.0),
        exact=True,
        axis=axis,
        largest=draw.below(2),
    )[0]


def wide_float(graph, x):
    """Through f64 and back."""
    if x.spread > 20:
        return None
    y = graph.node("Cast", [x], type="f64", exact=x.exact, keep=False, to=11)
    if graph.draw.chance(0.5):
        y = graph.node(
            graph.draw.pick(["Neg", "Abs", "Tanh"]), [y], type="f64", keep=False
        )
    return graph.node("Cast", [y], exact=False, to=1)


PIECES = [
    (5, activation),
    (4, unary),
    (6, with_other),
    (6, with_constant),
    (3, with_input),
    (4, with_part),
    (1, outer),
    (5, reduce),
    (2, softmax),
    (1, cumulate),
    (10, join),
    (8, divide),
    (6, slice_),
    (5, transpose),
    (6, reshape),
    (3, expand),
    (4, pad),
    (2, gather),
    (1, gather_elements),
    (1, trilu),
    (3, where),
    (3, numbers),
    (1, sort),
    (1, wide_float),
]

# Those of them that take a value of rank 0.
SCALAR_PIECES = [
    (1, activation),
    (1, unary),
    (1, with_other),
    (1, with_constant),
    (1, with_input),
    (1, wide_float),
]

# What also moves whole numbers and truth values.
MOVES = [
    (3, join),
    (3, divide),
    (3, slice_),
    (2, transpose),
    (3, reshape),
    (2, expand),
    (1, gather),
]
