"""Side paths of whole numbers, truth values and wide floats."""
from pieces_elementwise import broadcast, combine, operand_shapes


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
