"""Pieces of vision models: they take [N, C, spatial...] values of rank 3 to 5.

Each piece is a function of a graph and a value that adds nodes and returns a
value, or None where the value does not suit it.
"""
import math

import numpy as np

from pieces_elementwise import activation, bias_shape
from pieces_reduce import normalised
from pieces_shape import concat
from resize import resize

CHANNELS = [
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    10,
    12,
    15,
    16,
    16,
    17,
    20,
    24,
    28,
    31,
    32,
    33,
    40,
    47,
    48,
    56,
    64,
    72,
    80,
    96,
    120,
    144,
    160,
    200,
    256,
    320,
]


def spatial(value):
    return value.shape[2:]


def channels_for(graph, batch, extents, limit=320):
    """A number of channels that leaves a value small enough."""
    room = graph.MAX_ELEMENTS // max(1, batch * math.prod(extents))
    return graph.draw.pick(
        [c for c in CHANNELS if c <= min(room, limit)] or [1]
    )


def window(graph, value, sizes, strides=(1, 1, 1, 2, 2, 3), dilate=True):
    """Kernel, strides, dilations and pads of a sliding window that fits."""
    draw, nd = graph.draw, value.rank - 2
    kernel = [draw.pick(sizes)] * nd
    if draw.chance(0.2):
        kernel = [draw.pick(sizes) for _ in range(nd)]
    stride = [draw.pick(strides)] * nd
    if draw.chance(0.1):
        stride = [draw.pick(strides) for _ in range(nd)]
    dilation = [1] * nd
    if dilate and draw.chance(0.12):
        dilation = [draw.pick([2, 2, 3])] * nd
        # Taps that meet the map at one place alone, or not at all.
        if draw.chance(0.4):
            dilation = [
                max(1, n // draw.pick([1, 1, 2, 3]) + draw.between(-1, 1))
                for n in spatial(value)
            ]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    style = draw.weighted(
        [(6, "same"), (2, "none"), (2, "uneven"), (1, "wide")]
    )
    if style == "same":
        before, after = [(r - 1) // 2 for r in reach], [r // 2 for r in reach]
    elif style == "none":
        before, after = [0] * nd, [0] * nd
    elif style == "uneven":
        before = [draw.below(r) for r in reach]
        after = [draw.below(r) for r in reach]
    else:
        before = after = [r - 1 for r in reach]
    return kernel, stride, dilation, before, after


def slid(extents, kernel, stride, dilation, before, after, up=False):
    """Extents of a window's results, or None; `up`: with ceil_mode, but none
    where a window would begin in the padding behind: whether that one counts
    changed between operator sets.
    """
    result = []
    for n, k, s, d, b, a in zip(
        extents, kernel, stride, dilation, before, after
    ):
        room = n + b + a - (k - 1) * d - 1
        if room < 0:
            return None
        count = (-(-room // s) if up else room // s) + 1
        if up and (count - 1) * s >= n + b:
            return None
        result.append(count)
    return result


def conv(
    graph,
    x,
    channels=None,
    sizes=(1, 1, 1, 3, 3, 3, 5, 2, 7),
    strides=(1, 1, 1, 2, 2, 3),
    groups=None,
    exact_shape=False,
):
    """A convolution of any kind; exact_shape: one that keeps the extents."""
    draw, nd = graph.draw, x.rank - 2
    batch, depth = x.shape[:2]
    kernel, stride, dilation, before, after = window(graph, x, sizes, strides)
    if exact_shape:
        kernel = [draw.pick([s for s in sizes if s % 2])] * nd
        stride, dilation = [1] * nd, [1] * nd
        before = after = [k // 2 for k in kernel]
    extents = slid(spatial(x), kernel, stride, dilation, before, after)
    if not extents:
        return None
    if groups is None:
        kind = draw.weighted([(6, "full"), (3, "depthwise"), (2, "groups")])
        divisors = [g for g in range(2, depth) if depth % g == 0]
        groups = {"full": 1, "depthwise": depth}.get(kind) or (
            draw.pick(divisors) if divisors else 1
        )
    if channels is None:
        if groups == 1:
            channels = channels_for(graph, batch, extents)
        elif groups == depth:
            channels = depth * draw.pick([1, 1, 1, 1, 2, 3])
        else:
            channels = groups * draw.pick([1, 2, 3, 4, 5, 8])
    fan = depth // groups * math.prod(kernel)
    shape = (batch, channels, *extents)
    if not graph.fits(shape) or math.prod(shape) * fan > graph.MAX_WORK:
        return None
    weights = graph.weights((channels, depth // groups, *kernel), fan, x.spread)
    bias = (
        graph.constant(graph.noise((channels,), 0.3), "b")
        if draw.chance(0.6)
        else None
    )
    attributes = {
        "pads": before + after,
        "strides": stride,
        "dilations": dilation,
        "group": groups,
        "kernel_shape": kernel,
    }
    same = all(s == 1 for s in stride) and all(
        b == (k - 1) * d // 2 and b + a == (k - 1) * d
        for k, d, b, a in zip(kernel, dilation, before, after)
    )
    if (
        same and max(dilation) == 1 and draw.chance(0.15)
    ):  # ONNX Runtime takes no dilations with it
        del attributes["pads"]
        attributes["auto_pad"] = (
            draw.pick(["SAME_UPPER", "SAME_LOWER"])
            if all(b == a for b, a in zip(before, after))
            else "SAME_UPPER"
        )
    elif not any(before + after) and draw.chance(0.3):
        del attributes["pads"]
    for key in ("strides", "dilations"):
        if all(n == 1 for n in attributes[key]) and draw.chance(0.3):
            del attributes[key]
    return graph.node(
        "Conv", [x, weights, bias], shape, spread=1.0, **attributes
    )


def conv_block(graph, x, **options):
    """A convolution with its usual followers, which the compiler makes part of
    it."""
    draw = graph.draw
    y = conv(graph, x, **options)
    if y is None:
        return None
    if draw.chance(0.35):
        y = batch_norm(graph, y)
    if draw.chance(0.6):
        y = activation(graph, y)
    if y.shape == x.shape and x.is_float and draw.chance(0.4):
        y = graph.node(
            "Add",
            draw.shuffled([x, y]),
            y.shape,
            spread=math.hypot(x.spread, y.spread),
        )
        if draw.chance(0.4):
            y = activation(graph, y)
    return y


def conv_transpose(graph, x):
    draw, nd = graph.draw, x.rank - 2
    batch, depth = x.shape[:2]
    kernel = [draw.pick([1, 2, 2, 3, 3, 4, 5])] * nd
    stride = [draw.pick([1, 2, 2, 3])] * nd
    dilation = [draw.pick([1, 1, 1, 1, 2])] * nd
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    before = [draw.below(min(r, 3)) for r in reach]
    after = (
        list(before)
        if draw.chance(0.7)
        else [draw.below(min(r, 3)) for r in reach]
    )
    more = [draw.below(s) for s in stride] if draw.chance(0.3) else [0] * nd
    extents = [
        (n - 1) * s + r - b - a + m
        for n, s, r, b, a, m in zip(
            spatial(x), stride, reach, before, after, more
        )
    ]
    divisors = [g for g in range(1, depth + 1) if depth % g == 0]
    groups = draw.pick(divisors) if draw.chance(0.3) else 1
    if not all(e > 0 for e in extents):
        return None
    each = max(1, channels_for(graph, batch, extents, 64) // groups)
    fan = max(1, depth // groups * math.prod(kernel) // math.prod(stride))
    shape = (batch, each * groups, *extents)
    if (
        not graph.fits(shape)
        or x.elements * each * math.prod(kernel) > graph.MAX_WORK
    ):
        return None
    weights = graph.weights((depth, each, *kernel), fan, x.spread)
    bias = (
        graph.constant(graph.noise((each * groups,), 0.3), "b")
        if draw.chance(0.5)
        else None
    )
    attributes = {
        "kernel_shape": kernel,
        "strides": stride,
        "pads": before + after,
        "dilations": dilation,
    }
    if groups > 1:
        attributes["group"] = groups
    if any(more):
        attributes["output_padding"] = more
    y = graph.node(
        "ConvTranspose", [x, weights, bias], shape, spread=1.0, **attributes
    )
    return activation(graph, y) if draw.chance(0.4) else y


def batch_norm(graph, x):
    channels = x.shape[1]
    operands = [
        graph.constant(graph.noise((channels,), *spread), "w")
        for spread in ((0.2, 1.0), (0.3,), (0.3,))
    ]
    variance = graph.constant(
        abs(graph.noise((channels,), 0.2, 1.0)) + np.float32(0.1), "w"
    )
    return graph.node(
        "BatchNormalization",
        [x, *operands, variance],
        spread=x.spread * 1.2,
        epsilon=graph.draw.pick([1e-5, 1e-3]),
    )


def group_norm(graph, x):
    """Group normalisation, as one operator or spelled out as exporters do."""
    draw = graph.draw
    batch, depth = x.shape[:2]
    divisors = [
        g
        for g in range(1, depth + 1)
        if depth % g == 0 and x.elements // (batch * g) >= 4
    ]
    if not divisors:
        return None
    groups = draw.pick(divisors)
    if graph.opset >= 21 and draw.chance(0.6):
        scale = graph.constant(graph.noise((depth,), 0.2, 1.0), "w")
        bias = graph.constant(graph.noise((depth,), 0.3), "b")
        return graph.node(
            "GroupNormalization",
            [x, scale, bias],
            spread=1.0,
            num_groups=groups,
        )
    y = graph.node(
        "Reshape",
        [x, graph.ints([batch, groups, -1])],
        (batch, groups, x.elements // (batch * groups)),
    )
    one, none = graph.constant(np.ones(groups, np.float32)), graph.constant(
        np.zeros(groups, np.float32)
    )
    y = graph.node("InstanceNormalization", [y, one, none], spread=1.0)
    y = graph.node("Reshape", [y, graph.ints(x.shape)], x.shape)
    ones = bias_shape(x)
    y = graph.node(
        "Mul", [y, graph.constant(graph.noise(ones, 0.2, 1.0), "w")], x.shape
    )
    return graph.node(
        "Add", [y, graph.constant(graph.noise(ones, 0.3), "b")], x.shape
    )


def norm(graph, x):
    draw = graph.draw
    kind = draw.weighted(
        [
            (3, "batch"),
            (3, "instance"),
            (3, "group"),
            (1, "lrn"),
            (1, "lp"),
            (1, "channels"),
        ]
    )
    if kind == "batch":
        return batch_norm(graph, x)
    if kind == "group":
        return group_norm(graph, x)
    if kind == "instance" and math.prod(spatial(x)) >= 4:
        scale = graph.constant(graph.noise((x.shape[1],), 0.2, 1.0), "w")
        bias = graph.constant(graph.noise((x.shape[1],), 0.3), "b")
        return graph.node("InstanceNormalization", [x, scale, bias], spread=1.0)
    if kind == "lrn" and x.rank == 4:
        return graph.node(
            "LRN", [x], alpha=0.01, beta=0.75, bias=1.0, size=draw.pick([3, 5])
        )
    if kind == "lp" and x.shape[1] >= 2:
        shifted = graph.node("Add", [x, graph.scalar(0.5)], x.shape)
        return graph.node(
            "LpNormalization",
            [shifted],
            spread=x.shape[1] ** -0.5,
            axis=1,
            p=draw.pick([1, 2]),
        )
    if kind == "channels" and x.shape[1] >= 4:
        return normalised(graph, x, [1])
    return None


def pool(graph, x):
    draw = graph.draw
    kernel, stride, dilation, before, after = window(
        graph, x, (2, 2, 3, 3, 1, 4, 5), (1, 2, 2, 2, 3)
    )
    op = draw.weighted([(4, "MaxPool"), (4, "AveragePool"), (1, "LpPool")])
    if op != "MaxPool" and not (op == "AveragePool" and graph.opset >= 19):
        dilation = [1] * len(kernel)
    # No window may lie in the padding alone: its average and its maximum are
    # nothing.
    wide = [
        n >= (k - 1) * d + 1 for n, k, d in zip(spatial(x), kernel, dilation)
    ]
    before = [
        min(b, k - 1) if w else 0 for b, k, w in zip(before, kernel, wide)
    ]
    after = [min(a, k - 1) if w else 0 for a, k, w in zip(after, kernel, wide)]
    up = draw.chance(0.35)
    if op == "LpPool":  # padding counts or not, by version
        before, after, up = [0] * len(kernel), [0] * len(kernel), False
    extents = slid(spatial(x), kernel, stride, dilation, before, after, up)
    if not extents or not graph.fits((*x.shape[:2], *extents)):
        return None
    attributes = {
        "kernel_shape": kernel,
        "strides": stride,
        "pads": before + after,
    }
    if max(dilation) > 1:
        attributes["dilations"] = dilation
    if up:
        attributes["ceil_mode"] = 1
    if op == "AveragePool":
        attributes["count_include_pad"] = draw.below(2)
    if op == "LpPool":
        attributes["p"] = draw.pick([1, 2])
    spread = x.spread * (math.prod(kernel) if op == "LpPool" else 1)
    return graph.node(
        op,
        [x],
        (*x.shape[:2], *extents),
        spread=spread,
        exact=x.exact and op == "MaxPool",
        **attributes
    )


def global_pool(graph, x):
    draw = graph.draw
    op = draw.weighted(
        [(4, "GlobalAveragePool"), (2, "GlobalMaxPool"), (3, "ReduceMean")]
    )
    shape = (*x.shape[:2], *[1] * (x.rank - 2))
    if op == "ReduceMean":
        return reduce_spatial(graph, x)
    return graph.node(op, [x], shape, spread=x.spread)


def reduce_spatial(graph, x):
    axes = list(range(2, x.rank))
    shape = (*x.shape[:2], *[1] * len(axes))
    if graph.opset >= 18:
        return graph.node(
            "ReduceMean", [x, graph.ints(axes)], shape, keepdims=1
        )
    return graph.node("ReduceMean", [x], shape, axes=axes, keepdims=1)


def squeeze_excite(graph, x):
    draw = graph.draw
    channels = x.shape[1]
    middle = max(1, channels // draw.pick([2, 4, 8]))
    y = global_pool(graph, x)
    y = conv(
        graph,
        y,
        channels=middle,
        sizes=(1,),
        strides=(1,),
        groups=1,
        exact_shape=True,
    )
    if y is None:
        return None
    y = graph.node(draw.pick(["Relu", "Relu", "Sigmoid"]), [y])
    y = conv(
        graph,
        y,
        channels=channels,
        sizes=(1,),
        strides=(1,),
        groups=1,
        exact_shape=True,
    )
    if y is None:
        return None
    y = graph.node(draw.pick(["Sigmoid", "HardSigmoid"]), [y], spread=0.5)
    return graph.node(
        "Mul", draw.shuffled([x, y]), x.shape, spread=x.spread * 0.5
    )


def ghost(graph, x):
    """GhostNet: half of the channels by a cheap depthwise convolution, both
    concatenated, perhaps cut to a wanted number of channels."""
    draw = graph.draw
    depth = draw.pick(
        [
            c
            for c in CHANNELS
            if c * math.prod(spatial(x)) * x.shape[0] * 2 <= graph.MAX_ELEMENTS
        ]
        or [1]
    )
    first = conv(
        graph,
        x,
        channels=depth,
        sizes=(1, 1, 3),
        strides=(1,),
        groups=1,
        exact_shape=True,
    )
    if first is None:
        return None
    if draw.chance(0.5):
        first = batch_norm(graph, first)
    if draw.chance(0.6):
        first = graph.node("Relu", [first])
    cheap = conv(
        graph,
        first,
        channels=depth,
        sizes=(3, 5),
        strides=(1,),
        groups=depth,
        exact_shape=True,
    )
    if cheap is None:
        return None
    if draw.chance(0.6):
        cheap = activation(graph, cheap)
    y = concat(graph, [first, cheap], 1)
    if draw.chance(0.4):
        wanted = draw.between(1, y.shape[1])
        y = graph.node(
            "Slice",
            [y, graph.ints([0]), graph.ints([wanted]), graph.ints([1])],
            (y.shape[0], wanted, *spatial(y)),
        )
    if draw.chance(0.5):
        y = squeeze_excite(graph, y) or y
    if y.shape == x.shape and draw.chance(0.5):
        y = graph.node("Add", [y, x], y.shape)
    return y


def channel_shuffle(graph, x):
    draw = graph.draw
    batch, depth = x.shape[:2]
    divisors = [g for g in range(2, depth) if depth % g == 0]
    if not divisors:
        return None
    groups = draw.pick(divisors)
    y = graph.node(
        "Reshape",
        [x, graph.ints([batch, groups, depth // groups, *spatial(x)])],
        (batch, groups, depth // groups, *spatial(x)),
        exact=x.exact,
    )
    y = graph.node(
        "Transpose",
        [y],
        (batch, depth // groups, groups, *spatial(x)),
        exact=x.exact,
        perm=[0, 2, 1, *range(3, x.rank + 1)],
    )
    return graph.node(
        "Reshape", [y, graph.ints(x.shape)], x.shape, exact=x.exact
    )


def shuffle_unit(graph, x):
    """ShuffleNet: one half of the channels passes, the other is convolved; both
    are shuffled."""
    draw = graph.draw
    depth = x.shape[1]
    if depth < 2:
        return None
    half = depth // 2 if draw.chance(0.7) else draw.between(1, depth - 1)
    left, right = split_channels(graph, x, [half, depth - half])
    y = conv(
        graph,
        right,
        channels=right.shape[1],
        sizes=(1,),
        strides=(1,),
        groups=1,
        exact_shape=True,
    )
    if y is None:
        return None
    y = activation(graph, y)
    y = conv(
        graph,
        y,
        channels=y.shape[1],
        sizes=(3,),
        strides=(1,),
        groups=y.shape[1],
        exact_shape=True,
    )
    if draw.chance(0.5):
        y = (
            conv_block(
                graph,
                y,
                channels=y.shape[1],
                sizes=(1,),
                strides=(1,),
                groups=1,
                exact_shape=True,
            )
            or y
        )
    y = concat(graph, draw.shuffled([left, y]), 1)
    return channel_shuffle(graph, y) or y


def split_channels(graph, x, sizes):
    return graph.many(
        "Split",
        [x, graph.ints(sizes)],
        [(x.shape[0], s, *spatial(x)) for s in sizes],
        spreads=(x.spread,),
        exact=x.exact,
        axis=1,
    )


def branches(graph, x):
    """Inception, SPP, dense blocks: several layers of one value,
    concatenated."""
    draw = graph.draw
    parts = [x] if draw.chance(0.5) else []
    for _ in range(draw.between(1, 3)):
        source = parts[-1] if parts and draw.chance(0.3) else x
        part = conv_block(
            graph,
            source,
            channels=draw.pick(CHANNELS[:20]),
            sizes=(1, 3),
            strides=(1,),
            groups=1,
            exact_shape=True,
        )
        if part is not None:
            parts.append(part)
    if draw.chance(0.3) and min(spatial(x)) >= 2:
        nd = x.rank - 2
        parts.append(
            graph.node(
                draw.pick(["MaxPool", "AveragePool"]),
                [x],
                x.shape,
                kernel_shape=[3] * nd,
                pads=[1] * 2 * nd,
                strides=[1] * nd,
            )
        )
    if len(parts) < 2 or sum(p.elements for p in parts) > graph.MAX_ELEMENTS:
        return None
    return concat(graph, draw.shuffled(parts), 1)


def inverted_residual(graph, x):
    """MobileNet: wider, depthwise, perhaps squeeze-and-excitation, narrower,
    added."""
    draw = graph.draw
    wide = x.shape[1] * draw.pick([2, 3])
    if not graph.fits((x.shape[0], wide, *spatial(x))):
        return None
    y = conv(
        graph,
        x,
        channels=wide,
        sizes=(1,),
        strides=(1,),
        groups=1,
        exact_shape=True,
    )
    if y is None:
        return None
    y = activation(graph, y)
    z = conv(
        graph, y, channels=wide, sizes=(3, 5), strides=(1, 1, 2), groups=wide
    )
    y = activation(graph, z) if z is not None else y
    if draw.chance(0.4):
        y = squeeze_excite(graph, y) or y
    y = (
        conv(
            graph,
            y,
            channels=x.shape[1],
            sizes=(1,),
            strides=(1,),
            groups=1,
            exact_shape=True,
        )
        or y
    )
    if y.shape == x.shape:
        y = graph.node("Add", draw.shuffled([x, y]), y.shape)
    return y


def depth_space(graph, x):
    draw = graph.draw
    if x.rank != 4:
        return None
    block = draw.pick([2, 2, 3])
    n, c, h, w = x.shape
    if c % (block * block) == 0 and draw.chance(0.7):
        attributes = (
            {"mode": draw.pick(["DCR", "CRD"])} if draw.chance(0.8) else {}
        )
        return graph.node(
            "DepthToSpace",
            [x],
            (n, c // block**2, h * block, w * block),
            exact=x.exact,
            blocksize=block,
            **attributes
        )
    if h % block == 0 and w % block == 0:
        return graph.node(
            "SpaceToDepth",
            [x],
            (n, c * block**2, h // block, w // block),
            exact=x.exact,
            blocksize=block,
        )
    return None


def to_rows(graph, x):
    """[N, C, H, W] to [N, H*W, C], as vision transformers have it."""
    batch, depth = x.shape[:2]
    count = math.prod(spatial(x))
    y = graph.node(
        "Reshape",
        [x, graph.ints([batch, depth, -1])],
        (batch, depth, count),
        exact=x.exact,
    )
    return graph.node(
        "Transpose", [y], (batch, count, depth), exact=x.exact, perm=[0, 2, 1]
    )


def classifier(graph, x):
    draw = graph.draw
    y = global_pool(graph, x) if draw.chance(0.7) else x
    y = (
        graph.node(
            "Flatten", [y], (y.shape[0], y.elements // y.shape[0]), axis=1
        )
        if draw.chance(0.6)
        else graph.node(
            "Reshape",
            [y, graph.ints([y.shape[0], -1])],
            (y.shape[0], y.elements // y.shape[0]),
        )
    )
    classes = draw.pick([1, 2, 7, 10, 17, 32])
    if y.shape[1] * classes > graph.MAX_ELEMENTS * 2:
        return None
    weights = graph.weights((classes, y.shape[1]), y.shape[1], y.spread)
    return graph.node(
        "Gemm",
        [y, weights, graph.constant(graph.noise((classes,), 0.3), "b")],
        (y.shape[0], classes),
        spread=1.0,
        transB=1,
    )


PIECES = [
    (14, conv_block),
    (4, conv),
    (3, conv_transpose),
    (4, norm),
    (8, pool),
    (2, global_pool),
    (5, squeeze_excite),
    (4, ghost),
    (2, channel_shuffle),
    (3, shuffle_unit),
    (5, branches),
    (3, inverted_residual),
    (3, depth_space),
    (2, to_rows),
    (2, classifier),
    (7, resize),
]
