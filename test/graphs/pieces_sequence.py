"""Pieces of language and audio models: they take [..., rows, columns]
values."""
import math

import numpy as np

from pieces_elementwise import activation, broadcast, gelu, swish
from pieces_reduce import normalised, reduction
from pieces_shape import concat, factored


def linear(graph, x, width, bias=True):
    """x * W + b over the last dimension."""
    depth = x.shape[-1]
    y = graph.node(
        "MatMul",
        [x, graph.weights((depth, width), depth, x.spread)],
        (*x.shape[:-1], width),
        spread=1.0,
    )
    if bias and graph.draw.chance(0.7):
        operands = [y, graph.constant(graph.noise((width,), 0.3), "b")]
        y = graph.node(
            "Add", graph.draw.shuffled(operands), y.shape, spread=1.0
        )
    return y


def width_for(graph, x, least=1):
    rows = x.elements // x.shape[-1]
    fitting = [
        w
        for w in (1, 2, 3, 5, 8, 12, 16, 17, 20, 24, 32, 33, 48, 64, 100)
        if least <= w
        and rows * w <= graph.MAX_ELEMENTS
        and x.elements * w <= graph.MAX_WORK
    ]
    return graph.draw.pick(fitting) if fitting else None


def dense(graph, x):
    width = width_for(graph, x)
    if not width:
        return None
    y = linear(graph, x, width)
    return activation(graph, y) if graph.draw.chance(0.5) else y


def gemm(graph, x):
    draw = graph.draw
    if x.rank != 2:
        return None
    turned = draw.chance(0.3)
    rows, depth = reversed(x.shape) if turned else x.shape
    width = width_for(graph, x)
    if (
        not width
        or not graph.fits((rows, width))
        or rows * depth * width > graph.MAX_WORK
    ):
        return None
    other = draw.chance(0.5)
    weights = graph.weights(
        (width, depth) if other else (depth, width), depth, x.spread
    )
    bias = draw.pick(
        [None, (width,), (1, width), (rows, 1), (rows, width), (1,)]
    )
    attributes = {
        k: draw.uniform(0.5, 1.5)
        for k in ("alpha", "beta")
        if draw.chance(0.25)
    }
    attributes |= {"transA": 1} if turned else {}
    attributes |= {"transB": 1} if other else {}
    return graph.node(
        "Gemm",
        [x, weights, bias and graph.constant(graph.noise(bias, 0.3), "b")],
        (rows, width),
        spread=1.0,
        **attributes
    )


def product(graph, x):
    """A product of two computed values, batches broadcast."""
    draw = graph.draw
    if x.rank < 2 or x.spread > 8:
        return None
    other = graph.choose(
        lambda v: v.is_float
        and v.rank >= 2
        and v.shape[-2] == x.shape[-1]
        and v.spread < 8
        and broadcast(v.shape[:-2], x.shape[:-2]) is not None
    )
    if other is None or draw.chance(0.4):
        perm = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
        other = graph.node(
            "Transpose",
            [x],
            (*x.shape[:-2], x.shape[-1], x.shape[-2]),
            perm=perm,
        )
    shape = (
        *broadcast(x.shape[:-2], other.shape[:-2]),
        x.shape[-2],
        other.shape[-1],
    )
    if not graph.fits(shape) or math.prod(shape) * x.shape[-1] > graph.MAX_WORK:
        return None
    spread = x.spread * other.spread * math.sqrt(x.shape[-1])
    y = graph.node("MatMul", [x, other], shape, spread=spread)
    if spread > 4:
        y = graph.node(
            "Mul", [y, graph.scalar(round(1 / spread, 6))], shape, spread=1.0
        )
    return y


def heads_of(graph, x, heads, perm=(0, 2, 1, 3)):
    """[N, S, heads*D] to [N, heads, S, D], or another order of these four."""
    batch, rows, width = x.shape
    shape = (batch, rows, heads, width // heads)
    y = graph.node(
        "Reshape",
        [
            x,
            graph.ints(
                [0, rows, heads, -1] if graph.draw.chance(0.4) else shape
            ),
        ],
        shape,
    )
    return graph.node(
        "Transpose", [y], tuple(shape[p] for p in perm), perm=list(perm)
    )


def attention(graph, x):
    """Heads of scaled dot products, perhaps with keys and values of the past
    before those of today, which are then results as well, and with a mask."""
    draw = graph.draw
    if x.rank != 3 or x.shape[1] > 80:
        return None
    batch, rows, _ = x.shape
    heads, depth = draw.pick([1, 2, 3, 4]), draw.pick([4, 5, 8, 12, 16, 20])
    width = heads * depth
    past = draw.pick([1, 3, 7, 8, 16]) if draw.chance(0.5) else 0
    total = past + rows
    if not all(
        map(
            graph.fits,
            [
                (batch, heads, rows, total),
                (batch, total, width),
                (batch, rows, 3 * width),
            ],
        )
    ):
        return None
    if draw.chance(0.4):  # one product for all three
        all_ = linear(graph, x, 3 * width)
        q, k, v = graph.many(
            "Split",
            [all_, graph.ints([width] * 3)],
            [(batch, rows, width)] * 3,
            axis=2,
        )
    else:
        q, k, v = (linear(graph, x, width) for _ in range(3))
    q, v = heads_of(graph, q, heads), heads_of(graph, v, heads)
    early = not past and draw.chance(
        0.5
    )  # keys transposed together with their heads
    k = heads_of(graph, k, heads, (0, 2, 3, 1) if early else (0, 2, 1, 3))
    if past:
        shape = (batch, heads, past, depth)
        k = concat(graph, [graph.input(shape), k], 2)
        v = concat(graph, [graph.input(shape), v], 2)
    if not early:
        k = graph.node(
            "Transpose", [k], (batch, heads, depth, total), perm=[0, 1, 3, 2]
        )
    scores = graph.node(
        "MatMul", [q, k], (batch, heads, rows, total), spread=math.sqrt(depth)
    )
    factor = 1 / math.sqrt(depth)
    scores = (
        graph.node("Mul", [scores, graph.scalar(factor)], spread=1.0)
        if draw.chance(0.5)
        else graph.node("Div", [scores, graph.scalar(1 / factor)], spread=1.0)
    )
    if draw.chance(0.5):
        # Not for others: beside so large numbers no error would show.
        lowest = draw.pick([-1e4, -1e9, np.finfo(np.float32).min])
        if draw.chance(0.5):
            mask = np.triu(np.full((rows, total), lowest, np.float32), past + 1)
            scores = graph.node(
                "Add", [scores, graph.constant(mask)], keep=False
            )
        else:
            shape = draw.pick(
                [(rows, total), (1, 1, rows, total), (batch, 1, 1, total)]
            )
            hidden = graph.whole(shape, 0, 3) == 0
            hidden[..., 0] = False
            mask = graph.input(shape, "bool", hidden)
            scores = graph.node(
                "Where",
                [mask, graph.scalar(lowest), scores],
                scores.shape,
                keep=False,
            )
    weights = graph.node(
        "Softmax", [scores], spread=2 / total, axis=draw.pick([-1, 3])
    )
    y = graph.node(
        "MatMul", [weights, v], (batch, heads, rows, depth), spread=1.0
    )
    y = graph.node(
        "Transpose", [y], (batch, rows, heads, depth), perm=[0, 2, 1, 3]
    )
    y = graph.node(
        "Reshape", [y, graph.ints([batch, rows, width])], (batch, rows, width)
    )
    y = linear(graph, y, x.shape[2])
    return graph.node(
        "Add", draw.shuffled([x, y]), x.shape, spread=math.hypot(x.spread, 1)
    )


def attention_operator(graph, x):
    """ONNX's own operator, of rank 4 or 3."""
    draw = graph.draw
    if graph.opset < 23 or x.rank != 3 or x.shape[1] > 80:
        return None
    batch, rows, _ = x.shape
    shared = draw.pick([1, 2])
    heads, depth = shared * draw.pick([1, 2]), draw.pick([4, 8, 12])
    q, k, v = (linear(graph, x, n * depth) for n in (heads, shared, shared))
    attributes = {"is_causal": 1} if draw.chance(0.4) else {}
    if draw.chance(0.3):
        y = graph.node(
            "Attention",
            [q, k, v],
            (batch, rows, heads * depth),
            spread=1.0,
            q_num_heads=heads,
            kv_num_heads=shared,
            **attributes
        )
        return linear(graph, y, draw.pick([8, 16, 20]))
    q, k, v = (
        heads_of(graph, q, heads),
        heads_of(graph, k, shared),
        heads_of(graph, v, shared),
    )
    past = draw.pick([1, 3, 8]) if draw.chance(0.6) else 0
    shapes, operands = [(batch, heads, rows, depth)], [q, k, v]
    if draw.chance(0.3):
        operands.append(graph.constant(graph.noise((rows, past + rows))))
    if past:
        operands += [None] * (4 - len(operands)) + [
            graph.input((batch, shared, past, depth)) for _ in range(2)
        ]
        shapes += [(batch, shared, past + rows, depth)] * 2
    y = graph.many("Attention", operands, shapes, **attributes)[0]
    y = graph.node(
        "Transpose", [y], (batch, rows, heads, depth), perm=[0, 2, 1, 3]
    )
    y = graph.node(
        "Reshape",
        [y, graph.ints([batch, rows, -1])],
        (batch, rows, heads * depth),
    )
    return linear(graph, y, draw.pick([8, 16, 20]))


def layer_norm(graph, x):
    draw = graph.draw
    axis = (
        x.rank - 1
        if draw.chance(0.8)
        else draw.between(max(0, x.rank - 2), x.rank - 1)
    )
    shape = x.shape[axis:]
    if math.prod(shape) < 4:
        return None
    if graph.opset >= 17 and draw.chance(0.6):
        scale = graph.constant(graph.noise(shape, 0.2, 1.0), "w")
        bias = (
            graph.constant(graph.noise(shape, 0.3), "b")
            if draw.chance(0.7)
            else None
        )
        given = axis - x.rank if draw.chance(0.5) else axis
        return graph.node(
            "LayerNormalization",
            [x, scale, bias],
            spread=1.0,
            axis=given,
            epsilon=1e-5,
        )
    if graph.opset >= 23 and draw.chance(0.5):
        scale = graph.constant(graph.noise(shape, 0.2, 1.0), "w")
        return graph.node("RMSNormalization", [x, scale], spread=1.0, axis=axis)
    return normalised(graph, x, list(range(axis, x.rank)))


def rms_norm(graph, x):
    square = graph.node("Mul", [x, x], spread=x.spread**2)
    mean = reduction(graph, square, "ReduceMean", [x.rank - 1], True)
    mean = graph.node(
        "Add", [mean, graph.constant(np.float32(1e-3))], mean.shape
    )
    root = graph.node("Sqrt", [mean], spread=x.spread)
    if graph.draw.chance(0.5):
        y = graph.node("Div", [x, root], x.shape, spread=1.0)
    else:
        y = graph.node("Reciprocal", [root], spread=1.0)
        y = graph.node("Mul", graph.draw.shuffled([x, y]), x.shape, spread=1.0)
    return graph.node(
        "Mul",
        [y, graph.constant(graph.noise(x.shape[-1:], 0.2, 1.0), "w")],
        x.shape,
        spread=1.0,
    )


def feed_forward(graph, x):
    draw = graph.draw
    width = width_for(graph, x)
    if not width:
        return None
    y = layer_norm(graph, x) if draw.chance(0.5) else None
    y = y or x
    if draw.chance(0.3):  # SwiGLU
        a, b = linear(graph, y, width, False), linear(graph, y, width, False)
        y = graph.node("Mul", [swish(graph, a), b], spread=0.7)
    else:
        y = linear(graph, y, width)
        y = gelu(graph, y) if draw.chance(0.5) else activation(graph, y)
    y = linear(graph, y, x.shape[-1])
    return graph.node(
        "Add", draw.shuffled([x, y]), x.shape, spread=math.hypot(x.spread, 1)
    )


def rotary(graph, x):
    """Rotary positions as exporters spell them out: halves swapped, one of them
    negated."""
    depth = x.shape[-1]
    if depth < 2 or depth % 2 or x.rank < 2:
        return None
    half, last = depth // 2, x.rank - 1
    angle = (
        np.arange(x.shape[-2])[:, None]
        * np.repeat(1.0 / 10 ** (np.arange(half) / half), 1)[None]
    )
    # Multiples of 2^-12: sines of different libraries are the same then.
    cos, sin = (
        (np.round(f(np.concatenate([angle, angle], 1)) * 4096) / 4096).astype(
            np.float32
        )
        for f in (np.cos, np.sin)
    )
    parts = graph.many(
        "Split",
        [x, graph.ints([half, half])],
        [(*x.shape[:-1], half)] * 2,
        spreads=(x.spread,),
        axis=last,
    )
    turned = concat(graph, [graph.node("Neg", [parts[1]]), parts[0]], last)
    a = graph.node("Mul", [x, graph.constant(cos)], x.shape)
    b = graph.node("Mul", [turned, graph.constant(sin)], x.shape)
    return graph.node("Add", [a, b], x.shape)


def recurrent(graph, x):
    """LSTM, GRU or RNN over [S, N, D], with transposes around where a batch
    comes first."""
    draw = graph.draw
    if x.rank != 3:
        return None
    turned = draw.chance(0.5)
    if turned:
        x = graph.node(
            "Transpose",
            [x],
            (x.shape[1], x.shape[0], x.shape[2]),
            exact=x.exact,
            perm=[1, 0, 2],
        )
    steps, batch, depth = x.shape
    if steps > 40 or batch > 16 or depth > 256:
        return None
    op = draw.pick(["LSTM", "LSTM", "GRU", "GRU", "RNN"])
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    hidden = draw.pick([1, 3, 5, 8, 16, 17, 20, 32])
    direction = draw.pick(["forward", "forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    operands = [
        x,
        graph.weights((ways, gates * hidden, depth), depth, x.spread, 0.8),
        graph.weights((ways, gates * hidden, hidden), hidden, 1.0, 0.5),
        graph.constant(graph.noise((ways, 2 * gates * hidden), 0.2), "b")
        if draw.chance(0.7)
        else None,
        None,
    ]
    if draw.chance(0.3):
        shape = (ways, batch, hidden)
        states = [
            graph.input(shape)
            if draw.chance(0.5) and len(graph.inputs) < 4
            else graph.constant(graph.noise(shape, 0.5))
            for _ in range(2 if op == "LSTM" else 1)
        ]
        operands += states
    state = (ways, batch, hidden)
    results = [(steps, ways, batch, hidden), state] + (
        [state] if op == "LSTM" else []
    )
    if not graph.fits(results[0]):
        return None
    if not draw.chance(0.5):
        results = results[:1]
    attributes = {"hidden_size": hidden}
    if direction != "forward":
        attributes["direction"] = direction
    if op == "GRU":
        attributes["linear_before_reset"] = draw.below(2)
    y = graph.many(op, operands, results, spreads=(0.5,), **attributes)[0]
    if ways == 1 and draw.chance(0.7):
        y = graph.node("Squeeze", [y, graph.ints([1])], (steps, batch, hidden))
    else:
        y = graph.node(
            "Transpose", [y], (steps, batch, ways, hidden), perm=[0, 2, 1, 3]
        )
        y = graph.node(
            "Reshape",
            [y, graph.ints([0, 0, -1])],
            (steps, batch, ways * hidden),
        )
    if turned:
        y = graph.node(
            "Transpose",
            [y],
            (y.shape[1], y.shape[0], y.shape[2]),
            perm=[1, 0, 2],
        )
    return y


def position(graph, x):
    """Embeddings of positions or of tokens, added."""
    if graph.draw.chance(0.5):
        return graph.node(
            "Add",
            [
                x,
                graph.constant(
                    graph.noise(x.shape[-2:] if x.rank > 1 else x.shape)
                ),
            ],
            x.shape,
        )
    if x.rank != 3 or len(graph.inputs) > 4:
        return None
    table = graph.constant(graph.noise((11, x.shape[2])), "w")
    index = graph.input(x.shape[:2], "i64", graph.whole(x.shape[:2], 0, 10))
    y = graph.node("Gather", [table, index], x.shape, spread=1.0, exact=True)
    return graph.node("Add", graph.draw.shuffled([x, y]), x.shape)


def to_image(graph, x):
    """[N, S, D] to [N, D, H, W]."""
    if x.rank != 3:
        return None
    batch, rows, depth = x.shape
    y = graph.node(
        "Transpose", [x], (batch, depth, rows), exact=x.exact, perm=[0, 2, 1]
    )
    if graph.draw.chance(0.3):
        return y
    height, width = factored(graph.draw, rows, 2)
    return graph.node(
        "Reshape",
        [y, graph.ints([batch, depth, height, width])],
        (batch, depth, height, width),
        exact=x.exact,
    )


def einsum(graph, x):
    if x.rank != 3:
        return None
    width = width_for(graph, x)
    if not width:
        return None
    weights = graph.weights((x.shape[2], width), x.shape[2], x.spread)
    return graph.node(
        "Einsum",
        [x, weights],
        (*x.shape[:2], width),
        spread=1.0,
        equation="bsd,de->bse",
    )


PIECES = [
    (6, dense),
    (4, gemm),
    (4, product),
    (8, attention),
    (2, attention_operator),
    (6, layer_norm),
    (2, rms_norm),
    (5, feed_forward),
    (2, rotary),
    (8, recurrent),
    (2, position),
    (3, to_image),
    (1, einsum),
]
