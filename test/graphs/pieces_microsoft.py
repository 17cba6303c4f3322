"""Layers as ONNX Runtime's optimiser and quantiser write them: operators of
domain com.microsoft."""
import math

import numpy as np

from pieces_sequence import linear

DOMAIN = "com.microsoft"


def fused(graph, op, inputs, shape=None, **attributes):
    return graph.node(op, inputs, shape, domain=DOMAIN, **attributes)


# -- elements ------------------------------------------------------------------


def gelu(graph, x):
    draw = graph.draw
    op = draw.pick(["Gelu", "FastGelu", "BiasGelu", "QuickGelu"])
    bias = [graph.constant(graph.noise(x.shape[-1:], 0.3), "b")]
    if op == "QuickGelu":
        attributes = {"alpha": draw.uniform(0.5, 2)} if draw.chance(0.5) else {}
        return fused(graph, op, [x], **attributes)
    if op == "Gelu" or (op == "FastGelu" and draw.chance(0.5)):
        bias = []
    return fused(graph, op, [x, *bias])


# -- norms ---------------------------------------------------------------------


def norm(graph, x):
    """With the sum before it, or without."""
    draw = graph.draw
    width = x.shape[-1]
    simple = draw.chance(0.4)
    gamma = graph.constant(graph.noise((width,), 0.2, 1.0), "w")
    beta = graph.constant(graph.noise((width,), 0.2), "b")
    if x.rank != 3 or draw.chance(0.3):
        if not simple:
            return graph.node(
                "LayerNormalization", [x, gamma, beta], spread=1.0, epsilon=1e-3
            )
        return graph.node(
            "SimplifiedLayerNormalization", [x, gamma], spread=1.0, epsilon=1e-3
        )
    skip = graph.choose(
        lambda v: v.is_float and v is not x and v.shape == x.shape
    )
    if skip is None:
        skip = graph.constant(graph.noise(x.shape), "w")
    bias = draw.chance(0.4) and graph.constant(graph.noise((width,), 0.3), "b")
    inputs = [x, skip, gamma]
    if not simple:
        inputs.append(beta if draw.chance(0.8) else None)
    inputs.append(bias or None)
    results = graph.many(
        ("SkipSimplified" if simple else "Skip") + "LayerNormalization",
        inputs,
        [x.shape, None, None, x.shape if draw.chance(0.4) else None],
        spreads=(1.0, 1.0, 1.0, x.spread + skip.spread),
        domain=DOMAIN,
        epsilon=1e-3,
    )
    return results[0]


def embedding(graph, x):
    """Does not take x: rows of tables by whole numbers."""
    draw = graph.draw
    batch, length = draw.between(1, 3), draw.between(1, 9)
    width = draw.pick([4, 8, 12, 17])

    def table(rows):
        return graph.constant(graph.noise((rows, width)), "w")

    def ids(most):
        return graph.constant(graph.whole((batch, length), 0, most, "i32"))

    segments = draw.chance(0.6)
    inputs = [
        ids(19),
        ids(1) if segments else None,
        table(20),
        table(length + draw.between(0, 3)),
        table(2) if segments else None,
        graph.constant(graph.noise((width,), 0.2, 1.0), "w"),
        graph.constant(graph.noise((width,), 0.2), "b"),
        ids(1) if draw.chance(0.5) else None,
    ]
    return graph.many(
        "EmbedLayerNormalization",
        inputs,
        [(batch, length, width), (batch,)],
        ("f32", "i32"),
        exact=False,
        domain=DOMAIN,
        epsilon=1e-3,
    )[0]


# -- products ------------------------------------------------------------------


def matmul(graph, x):
    draw = graph.draw
    if x.rank not in (2, 3, 4):
        return None
    attributes = {}
    rows, inner = x.shape[-2:]
    batch = x.shape[:-2]
    if draw.chance(0.3):
        attributes["transA"] = 1
        rows, inner = inner, rows
    if x.rank > 2 and draw.chance(0.2):
        # [M, batch, K] is read as [batch, M, K].
        attributes["transBatchA"] = 1
        rows, inner = x.shape[0], x.shape[-1]
        batch = x.shape[1:-1]
        if attributes.get("transA"):
            rows, inner = inner, rows
    columns = draw.between(1, 24)
    if math.prod(x.shape) * columns > graph.MAX_WORK:
        return None
    shape = (inner, columns)
    if draw.chance(0.4):
        attributes["transB"] = 1
        shape = shape[::-1]
    if attributes.get("transBatchA"):  # asks for equal ranks
        shape = (1,) * (x.rank - 2) + shape
    if draw.chance(0.5):
        attributes["alpha"] = draw.uniform(0.25, 2)
    y = (*batch, rows, columns)
    if not graph.fits(y):
        return None
    return fused(
        graph,
        "FusedMatMul",
        [x, graph.weights(shape, inner, x.spread)],
        y,
        spread=1.0,
        **attributes,
    )


ACTIVATIONS = [
    ("Relu", []),
    ("Tanh", []),
    ("Sigmoid", []),
    ("LeakyRelu", [0.1]),
    ("Clip", [-0.5, 0.75]),
    ("HardSigmoid", [0.25, 0.5]),
]


def gemm(graph, x):
    draw = graph.draw
    if x.rank != 2:
        return None
    width = draw.between(1, 40)
    name, params = draw.pick(
        [a for a in ACTIVATIONS if a[0] not in ("Clip", "HardSigmoid")]
    )
    attributes = {"activation": name}
    if params:
        attributes["activation_alpha"] = params[0]
    transposed = draw.chance(0.5)
    shape = (width, x.shape[1]) if transposed else (x.shape[1], width)
    return fused(
        graph,
        "FusedGemm",
        [
            x,
            graph.weights(shape, x.shape[1], x.spread),
            graph.constant(graph.noise((width,), 0.3), "b"),
        ],
        (x.shape[0], width),
        spread=1.0,
        transB=int(transposed),
        **attributes,
    )


def conv(graph, x):
    draw = graph.draw
    if x.rank != 4:
        return None
    channels = draw.pick([1, 3, 4, 8, 12, 16, 17])
    kernel = draw.pick([1, 3])
    if min(x.shape[2:]) < kernel:
        return None
    y = (x.shape[0], channels, *(d - kernel + 1 for d in x.shape[2:]))
    fan = x.shape[1] * kernel * kernel
    if not graph.fits(y) or math.prod(y) * fan > graph.MAX_WORK:
        return None
    name, params = draw.pick(ACTIVATIONS)
    bias = graph.constant(graph.noise((channels,), 0.3), "b")
    inputs = [
        x,
        graph.weights((channels, x.shape[1], kernel, kernel), fan, x.spread),
        bias if draw.chance(0.7) else None,
    ]
    if draw.chance(0.4):
        inputs.append(graph.constant(graph.noise(y), "w"))
    attributes = {"activation": name}
    if params:
        attributes["activation_params"] = [float(p) for p in params]
    return fused(graph, "FusedConv", inputs, y, spread=1.0, **attributes)


def inverse(graph, x):
    draw = graph.draw
    size = draw.between(1, 9)
    shape = (draw.between(1, 3), size, size)
    # Far from singular: a permuted identity with something added.
    eye = np.eye(size, dtype=np.float32)[draw.shuffled(range(size))]
    data = (graph.noise(shape, 0.1 / math.sqrt(size)) + eye).astype(np.float32)
    if len(graph.inputs) < 6:
        square = graph.input(shape, data=data)
    else:
        square = graph.constant(data, "w")
    return fused(graph, "Inverse", [square], shape, spread=1.0)


# -- attention -----------------------------------------------------------------


def padding(graph, batch, steps, keys):
    """A mask of each form, or None."""
    draw = graph.draw
    kind = draw.pick([None, "ends", "both", "keys", "steps"])
    if kind == "ends":
        return graph.constant(graph.whole((batch,), 1, keys, "i32"))
    if kind == "both":
        ends = graph.whole((batch,), (keys + 1) // 2, keys, "i32")
        starts = graph.whole((batch,), 0, (keys - 1) // 2, "i32")
        return graph.constant(np.concatenate([ends, starts]))
    if kind is None:
        return None
    shape = (batch, keys) if kind == "keys" else (batch, steps, keys)
    mask = graph.whole(shape, 0, 1, "i32")
    mask[..., 0] = 1  # no query is blind
    return graph.constant(mask)


def head_count(graph, width):
    return graph.draw.pick([h for h in (1, 2, 3, 4, 8) if width % h == 0])


def attention(graph, x):
    draw = graph.draw
    if x.rank != 3:
        return None
    batch, length, width = x.shape
    hidden = draw.pick([8, 12, 16, 24])
    heads = head_count(graph, hidden)
    before = draw.pick([0, 0, 1, 3])
    keys = before + length
    weights = graph.weights((width, 3 * hidden), width, x.spread)
    bias = graph.constant(graph.noise((3 * hidden,), 0.3), "b")
    causal = draw.chance(0.3)
    # How a causal mask and padding meet differs between versions.
    mask = None if causal else padding(graph, batch, length, keys)
    past = before and graph.constant(
        graph.noise((2, batch, heads, before, hidden // heads))
    )
    # ONNX Runtime takes one of them.
    extra = (
        not before
        and draw.chance(0.3)
        and graph.constant(
            graph.noise(
                (draw.pick([1, batch]), draw.pick([1, heads]), length, keys)
            )
        )
    )
    attributes = {"num_heads": heads}
    if causal:
        attributes["unidirectional"] = 1
    if draw.chance(0.3):
        attributes["scale"] = draw.uniform(0.1, 0.6)
    inputs = [x, weights, bias, mask, past or None, extra or None]
    present = (2, batch, heads, keys, hidden // heads) if before else None
    return graph.many(
        "Attention",
        inputs,
        [(batch, length, hidden)] + ([present] if present else []),
        domain=DOMAIN,
        **attributes,
    )[0]


def multi_head(graph, x):
    draw = graph.draw
    if x.rank != 3:
        return None
    batch, length, _ = x.shape
    hidden = draw.pick([8, 12, 16, 24])
    heads = head_count(graph, hidden)
    size = hidden // heads
    before = draw.pick([0, 0, 2])
    q, k, v = (linear(graph, x, hidden) for _ in range(3))
    bias = draw.chance(0.4) and graph.constant(
        graph.noise((3 * hidden,), 0.3), "b"
    )
    keys = before + length
    mask = padding(graph, batch, length, keys)
    if mask is not None and mask.shape == (2 * batch,):
        mask = None
    extra = draw.chance(0.3) and graph.constant(
        graph.noise(
            (draw.pick([1, batch]), draw.pick([1, heads]), length, keys)
        )
    )
    inputs = [q, k, v, bias or None, mask, extra or None]
    shapes = [(batch, length, hidden)]
    if before:
        inputs += [
            graph.constant(graph.noise((batch, heads, before, size)))
            for _ in range(2)
        ]
        shapes += [(batch, heads, keys, size)] * 2
    return graph.many(
        "MultiHeadAttention", inputs, shapes, domain=DOMAIN, num_heads=heads
    )[0]


def angles(graph, rows, half):
    turn = graph.noise((rows, half), 1.5)
    return [
        graph.constant(f(turn).astype(np.float32), "w")
        for f in (np.cos, np.sin)
    ]


def group_query(graph, x):
    draw = graph.draw
    if x.rank != 3:
        return None
    batch, length, _ = x.shape
    size = 16  # ONNX Runtime takes multiples
    groups = draw.pick([1, 2])
    heads = groups * draw.pick([1, 2, 3])
    # All is new, or one step behind a past of each batch's own length.
    first = draw.chance(0.5)
    if not first and length != 1:
        return None
    before = 0 if first else draw.between(2, 7)
    used = (
        np.full(batch, length, np.int32)
        if first
        else graph.whole((batch,), 2, before, "i32")
    )
    total = int(used.max())
    packed = draw.chance(0.4)
    if packed:
        q = linear(graph, x, (heads + 2 * groups) * size)
        k = v = None
    else:
        q = linear(graph, x, heads * size)
        k, v = (linear(graph, x, groups * size) for _ in range(2))
    lengths = graph.input((batch,), "i32", used - 1)
    inputs = [q, k, v]
    inputs += [
        graph.constant(graph.noise((batch, groups, before, size)))
        if before
        else None
        for _ in range(2)
    ]
    inputs += [lengths, graph.constant(np.array(total, np.int32), "i")]
    attributes = {"num_heads": heads, "kv_num_heads": groups}
    if draw.chance(0.6):
        attributes["do_rotary"] = 1
        attributes["rotary_interleaved"] = int(draw.chance(0.3))
        inputs += angles(graph, max(before, length) + 1, size // 2)
    if draw.chance(0.3):
        attributes["local_window_size"] = draw.between(1, 4)
    if draw.chance(0.3):
        attributes["softcap"] = draw.uniform(1, 4)
    if draw.chance(0.2):
        attributes["smooth_softmax"] = 1
    cache = (batch, groups, max(before, total), size)
    return graph.many(
        "GroupQueryAttention",
        inputs,
        [(batch, length, heads * size), cache, cache],
        domain=DOMAIN,
        **attributes,
    )[0]


def rotary(graph, x):
    draw = graph.draw
    if x.rank != 3:
        return None
    batch, length, width = x.shape
    sizes = [s for s in (2, 4, 8, 16) if width % s == 0]
    if not sizes:
        return None
    size = draw.pick(sizes)
    attributes = {"interleaved": int(draw.chance(0.4))}
    turned = size
    if size >= 8 and draw.chance(0.3):
        turned = size // 2
        attributes |= {
            "rotary_embedding_dim": turned,
            "num_heads": width // size,
        }
    positions = (
        graph.constant(graph.whole((1,), 0, 3))
        if draw.chance(0.4)
        else graph.constant(graph.whole((batch, length), 0, length + 2))
    )
    tables = angles(graph, length + 5, turned // 2)
    return fused(
        graph, "RotaryEmbedding", [x, positions, *tables], **attributes
    )


# -- images --------------------------------------------------------------------


def crop_and_resize(graph, x):
    draw = graph.draw
    if x.rank != 4:
        return None
    regions = draw.between(1, 4)
    crop = (draw.between(1, 6), draw.between(1, 6))
    y = (regions, x.shape[1], *crop)
    if not graph.fits(y):
        return None
    corners = graph.noise((regions, 4), 0.35, 0.5)
    batch = graph.whole((regions,), 0, x.shape[0] - 1, "i32")
    attributes = {}
    if draw.chance(0.5):
        attributes["extrapolation_value"] = draw.uniform(-2, 2)
    return fused(
        graph,
        "CropAndResize",
        [
            x,
            graph.constant(corners),
            graph.constant(batch),
            graph.constant(np.array(crop, np.int32)),
        ],
        y,
        **attributes,
    )


PIECES = [
    (2, gelu),
    (3, norm),
    (0.3, embedding),
    (2, matmul),
    (1, gemm),
    (2, conv),
    (0.4, inverse),
    (2, attention),
    (2, multi_head),
    (2, group_query),
    (1, rotary),
    (1, crop_and_resize),
]
