"""Pieces that work element by element: activations, functions, and operators
of two operands with broadcasting.
"""
import math

import numpy as np


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
