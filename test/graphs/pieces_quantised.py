"""Layers of 8-bit integers, and of weights of few bits, as ONNX Runtime's
quantiser writes them.

A number that lies right between two integers may be rounded either way. So
bytes come from inputs and constants, results are computed here as well, and
their scale is chosen so that no number lies close to a half."""
import math

import numpy as np

from pieces_microsoft import DOMAIN, fused, head_count, padding

# How close to a half a number may lie: f32 has 1e-5 of a number of 255.
CLOSE = 5e-5
MAX_BYTES = 3000


class Bytes:
    """A quantised value, its scale and its zero point, and the numbers that
    they stand for."""

    def __init__(self, graph, shape, type=None, fresh=True):
        draw = graph.draw
        self.type = type or draw.pick(["u8", "u8", "i8"])
        least, most = (0, 255) if self.type == "u8" else (-128, 127)
        data = graph.whole(shape, least, most, self.type)
        self.value = (
            graph.input(shape, self.type, data)
            if fresh and len(graph.inputs) < 6
            else graph.constant(data, "q")
        )
        self.step = np.float32(draw.uniform(0.01, 0.05))
        self.centre = draw.between(least, most) // 2
        self.scale, self.zero = parameters(
            graph, self.step, self.centre, self.type
        )
        self.numbers = (data.astype(np.float64) - self.centre) * self.step

    @property
    def inputs(self):
        return [self.value, self.scale, self.zero]


def parameters(graph, step, centre, type):
    return (
        graph.constant(np.array(step, np.float32), "s"),
        graph.constant(np.array(centre, np.uint8 if type == "u8" else np.int8)),
    )


def is_settled(numbers):
    return np.abs(np.abs(numbers) % 1 - 0.5).min(initial=1) > CLOSE


def settled(graph, numbers, type):
    """Scale and zero point of a result by which no number lies close to a half;
    None where none is found."""
    draw = graph.draw
    most = max(float(np.abs(numbers).max(initial=0)), 1e-3)
    centre = draw.between(100, 150) if type == "u8" else draw.between(-9, 9)
    for _ in range(40):
        # Some saturate.
        step = np.float32(most / draw.uniform(90, 140))
        if is_settled(numbers / np.float64(step)):
            return step, centre
    return None


def result(graph, op, inputs, numbers, type, at=None, **attributes):
    """A node of domain com.microsoft that gives bytes for `numbers`, as floats.
    Its scale and zero point are the last inputs, or those at index `at`."""
    found = settled(graph, numbers, type)
    if found is None or not graph.fits(numbers.shape):
        return None
    made = parameters(graph, *found, type)
    at = len(inputs) if at is None else at
    y = fused(
        graph,
        op,
        [*inputs[:at], *made, *inputs[at:]],
        numbers.shape,
        type=type,
        exact=True,
        keep=False,
        **attributes,
    )
    return graph.node(
        "DequantizeLinear",
        [y, *made],
        numbers.shape,
        spread=max(float(np.abs(numbers).mean()), 0.1),
        exact=True,
    )


def small_shape(graph, x, least=1):
    """The shape of x, or None where it has many elements."""
    if x.rank < least or x.elements > MAX_BYTES or not x.elements:
        return None
    return x.shape


# -- elements ------------------------------------------------------------------


def function(graph, x):
    draw = graph.draw
    shape = small_shape(graph, x)
    if shape is None:
        return None
    q = Bytes(graph, shape)
    if draw.chance(0.5):
        return result(
            graph,
            "QLinearSigmoid",
            q.inputs,
            1 / (1 + np.exp(-q.numbers)),
            q.type,
        )
    alpha = np.float32(draw.uniform(0.05, 0.4))
    return result(
        graph,
        "QLinearLeakyRelu",
        q.inputs,
        np.where(q.numbers < 0, q.numbers * alpha, q.numbers),
        q.type,
        alpha=float(alpha),
    )


def softmax(graph, x):
    draw = graph.draw
    shape = small_shape(graph, x, 2)
    if shape is None:
        return None
    q = Bytes(graph, shape)
    axis = draw.below(x.rank)
    opset = draw.pick([12, 13, 17])
    axes = (axis,) if opset >= 13 else tuple(range(axis, x.rank))
    powers = np.exp(q.numbers - q.numbers.max(axis=axes, keepdims=True))
    parts = powers / powers.sum(axis=axes, keepdims=True)
    # ONNX Runtime knows no other scale, and takes 1 for -128.
    if parts.max() > 0.99 or not is_settled(parts * 256):
        return None
    attributes = {"axis": axis - draw.pick([0, x.rank])}
    if axis == x.rank - 1 and draw.chance(0.5):
        attributes = {}  # that axis is the default
    least = 0 if q.type == "u8" else -128
    made = parameters(graph, 2.0**-8, least, q.type)
    y = fused(
        graph,
        "QLinearSoftmax",
        [*q.inputs, *made],
        type=q.type,
        exact=True,
        keep=False,
        opset=opset,
        **attributes,
    )
    return graph.node("DequantizeLinear", [y, *made], spread=0.3, exact=True)


def combination(graph, x):
    """A sum or product, whose second factor may be broadcast."""
    draw = graph.draw
    shape = small_shape(graph, x)
    if shape is None:
        return None
    other = shape[draw.below(x.rank) :] if draw.chance(0.3) else shape
    other = tuple(1 if draw.chance(0.15) else d for d in other)
    a = Bytes(graph, shape)
    b = Bytes(graph, other, a.type, draw.chance(0.5))
    op, f = draw.pick([("QLinearAdd", np.add), ("QLinearMul", np.multiply)])
    return result(
        graph, op, [*a.inputs, *b.inputs], f(a.numbers, b.numbers), a.type
    )


def choice(graph, x):
    draw = graph.draw
    shape = small_shape(graph, x)
    if shape is None:
        return None
    mask = graph.whole(shape, 0, 1, "bool")
    a = Bytes(graph, shape)
    b = Bytes(graph, shape, a.type)
    return result(
        graph,
        "QLinearWhere",
        [graph.constant(mask), *a.inputs, *b.inputs],
        np.where(mask, a.numbers, b.numbers),
        a.type,
    )


def concat(graph, x):
    draw = graph.draw
    shape = small_shape(graph, x)
    if shape is None:
        return None
    axis = draw.below(x.rank)
    parts = [Bytes(graph, shape)]
    for _ in range(draw.between(1, 2)):
        size = draw.between(1, 5)
        sizes = tuple(size if i == axis else d for i, d in enumerate(shape))
        parts.append(Bytes(graph, sizes, parts[0].type))
    return result(
        graph,
        "QLinearConcat",
        [v for part in parts for v in part.inputs],
        np.concatenate([part.numbers for part in parts], axis),
        parts[0].type,
        at=0,
        axis=axis,
    )


# -- images --------------------------------------------------------------------


def image(graph):
    """A small one, and whether its channels are last: shapes with them
    first."""
    draw = graph.draw
    shape = (
        draw.pick([1, 1, 2]),
        draw.pick([1, 3, 8, 16, 17]),
        draw.between(3, 8),
        draw.between(3, 8),
    )
    return shape, draw.chance(0.5)


def moved(shape, last):
    return (shape[0], *shape[2:], shape[1]) if last else shape


def first(numbers, last):
    return np.moveaxis(numbers, -1, 1) if last else numbers


def ordered(numbers, last):
    return np.moveaxis(numbers, 1, -1) if last else numbers


def windows(numbers, kernel, stride, pads):
    """Views [..., height, width, kernel, kernel] of padded images, NaN in the
    padding."""
    wide = np.pad(
        numbers,
        [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])],
        constant_values=np.nan,
    )
    views = np.lib.stride_tricks.sliding_window_view(wide, kernel, (2, 3))
    return views[:, :, ::stride, ::stride]


def pool(graph, x):
    """Does not take x."""
    draw = graph.draw
    shape, last = image(graph)
    q = Bytes(graph, moved(shape, last))
    numbers = first(q.numbers, last)
    if draw.chance(0.4):
        return result(
            graph,
            "QLinearGlobalAveragePool",
            q.inputs,
            ordered(numbers.mean((2, 3), keepdims=True), last),
            q.type,
            channels_last=int(last),
        )
    kernel = (draw.between(1, 3), draw.between(1, 3))
    stride = draw.pick([1, 1, 2])
    pads = [draw.below(k) for k in (*kernel, *kernel)]
    counted = draw.chance(0.4)
    views = windows(numbers, kernel, stride, pads)
    total = np.nansum(views, (-2, -1))
    count = (
        np.full(total.shape, math.prod(kernel))
        if counted
        else np.isfinite(views).sum((-2, -1))
    )
    return result(
        graph,
        "QLinearAveragePool",
        q.inputs,
        ordered(total / count, last),
        q.type,
        kernel_shape=kernel,
        strides=[stride, stride],
        pads=pads,
        count_include_pad=int(counted),
        channels_last=int(last),
    )


def conv(graph, x):
    """Does not take x."""
    draw = graph.draw
    shape, last = image(graph)
    groups = shape[1] if draw.chance(0.3) else 1
    outputs = shape[1] if groups > 1 else draw.pick([1, 5, 16, 24])
    kernel = draw.pick([(1, 1), (3, 3), (1, 3)])
    pads = [k // 2 for k in (*kernel, *kernel)]
    q = Bytes(graph, moved(shape, last))
    weights = graph.whole((outputs, shape[1] // groups, *kernel), -50, 50, "i8")
    steps = graph.noise((outputs,), 0.003, 0.02)
    if draw.chance(0.5):
        steps = steps[:1].reshape(())
    bias = graph.whole((outputs,), -3000, 3000, "i32")
    views = np.nan_to_num(windows(first(q.numbers, last), kernel, 1, pads))
    factors = np.broadcast_to(steps, outputs).astype(np.float64)
    if groups > 1:
        sums = np.einsum("nchwij,cij->nchw", views, weights[:, 0])
    else:
        sums = np.einsum("nchwij,ocij->nohw", views, weights)
    sums = sums + bias.reshape(-1, 1, 1) * np.float64(q.step)
    inputs = [
        *q.inputs,
        graph.constant(weights, "w"),
        graph.constant(steps, "s"),
        graph.constant(np.zeros(steps.shape, np.int8)),
        graph.constant(bias, "b"),
    ]
    return result(
        graph,
        "QLinearConv",
        inputs,
        ordered(sums * factors.reshape(-1, 1, 1), last),
        q.type,
        at=6,
        group=groups,
        pads=pads,
        kernel_shape=kernel,
        channels_last=int(last),
    )


# -- products ------------------------------------------------------------------


def matrix(graph, rows, columns, other="u8"):
    """Weights of bytes with a scale and zero point, or one for each column:
    three constants, and their numbers less the zero point, and the scale.
    ONNX Runtime multiplies i8 with i8 alone."""
    draw = graph.draw
    type = draw.pick(["i8", "u8"]) if other == "u8" else "i8"
    low = 0 if type == "u8" else -64
    data = graph.whole((rows, columns), low, low + 127, type)
    each = draw.chance(0.5)
    steps = graph.noise((columns if each else 1,), 0.002, 0.01)
    zeros = graph.whole(steps.shape, 60, 67, type)
    if type == "i8":
        zeros = np.zeros_like(zeros)
    if not each:
        steps, zeros = steps.reshape(()), zeros.reshape(())
    return (
        graph.constant(data, "w"),
        graph.constant(steps, "s"),
        graph.constant(zeros),
        data.astype(np.float64) - zeros,
        steps.astype(np.float64),
    )


def sizes(graph, x):
    """Rows, inner size and columns of a product, of which x decides two."""
    shape = small_shape(graph, x, 2)
    return shape and (
        x.elements // shape[-1],
        shape[-1],
        graph.draw.pick([1, 5, 16, 17, 32]),
    )


def gemm(graph, x):
    draw = graph.draw
    found = sizes(graph, x)
    if not found:
        return None
    rows, inner, columns = found
    transposes = [draw.chance(0.3), draw.chance(0.5)]
    a = Bytes(graph, (inner, rows) if transposes[0] else (rows, inner))
    w, steps, zeros, numbers, factors = matrix(graph, inner, columns, a.type)
    if transposes[1]:
        w = graph.node(
            "Transpose",
            [w],
            (columns, inner),
            type=w.type,
            exact=True,
            keep=False,
        )
    alpha = np.float32(draw.pick([1.0, draw.uniform(0.5, 2)]))
    product = (a.numbers.T if transposes[0] else a.numbers) @ numbers * factors
    inputs = [*a.inputs, w, steps, zeros]
    if draw.chance(0.6):
        bias = graph.whole((columns,), -3000, 3000, "i32")
        product = product + bias * np.float64(a.step) * factors
        inputs.append(graph.constant(bias, "b"))
    else:
        inputs.append(None)
    product *= alpha
    attributes = {
        "transA": int(transposes[0]),
        "transB": int(transposes[1]),
        "alpha": float(alpha),
    }
    if draw.chance(0.3):
        return fused(
            graph,
            "QGemm",
            inputs,
            product.shape,
            spread=max(float(np.abs(product).mean()), 0.1),
            **attributes,
        )
    return result(graph, "QGemm", inputs, product, a.type, **attributes)


def scaled_product(graph, x):
    draw = graph.draw
    found = sizes(graph, x)
    if not found:
        return None
    rows, inner, columns = found
    shape = (*x.shape[:-1], columns)
    if not graph.fits(shape):
        return None
    a = Bytes(graph, x.shape) if draw.chance(0.5) else None
    w, steps, zeros, numbers, factors = matrix(
        graph, inner, columns, a.type if a else "u8"
    )
    bias = draw.chance(0.5) and graph.constant(
        graph.noise((columns,), 0.3), "b"
    )
    if a:
        return fused(
            graph,
            "MatMulIntegerToFloat",
            [
                a.value,
                w,
                a.scale,
                steps,
                a.zero if draw.chance(0.8) else None,
                zeros,
                bias or None,
            ],
            shape,
            spread=max(
                float(np.abs(a.numbers @ numbers * factors).mean()), 0.1
            ),
        )
    floats = grid(graph, x.shape)
    return fused(
        graph,
        "DynamicQuantizeMatMul",
        [floats, w, steps, zeros, bias or None],
        shape,
        spread=math.sqrt(inner) * 0.3,
    )


def grid(graph, shape):
    """Floats whose range is quantised without rounding: 255 steps."""
    numbers = graph.whole(shape, -100, 155, "i32")
    flat = numbers.reshape(-1)
    flat[0], flat[-1] = (155, -100) if flat.size > 1 else (155, 155)
    data = numbers.astype(np.float32) * np.float32(2**-6)
    if len(graph.inputs) < 6:
        return graph.input(shape, data=data)
    return graph.constant(data, "c")


def few_bits(graph, x):
    """A product with weights of 2, 4 or 8 bits."""
    draw = graph.draw
    if not x.rank or x.shape[-1] > 256:
        return None
    inner, columns = x.shape[-1], draw.pick([1, 5, 16, 24])
    bits = draw.pick([4, 4, 8])
    block = draw.pick([16, 32, 64])
    blocks = -(-inner // block)
    y = (*x.shape[:-1], columns)
    if not graph.fits(y) or math.prod(y) * inner > graph.MAX_WORK:
        return None
    size = block * bits // 8
    data = graph.whole((columns, blocks, size), 0, 255, "u8")
    zeros = None
    if draw.chance(0.5):
        row = -(-blocks * bits // 8)
        shape = (columns * row,) if draw.chance(0.5) else (columns, row)
        zeros = graph.constant(graph.whole(shape, 0, 255, "u8"))
    elif bits == 4 and draw.chance(0.3):
        zeros = graph.constant(
            graph.noise((columns, blocks), 0.5, 2.0 ** (bits - 1)), "z"
        )
    groups = None
    if bits == 4 and zeros is None and draw.chance(0.4):
        # ONNX Runtime reads the first eight of each block, and no zero points.
        eight = graph.whole((blocks, 1, 8), 0, blocks - 1, "i32")
        every = np.tile(eight, (1, block // 8, 1)).reshape(-1)
        groups = graph.constant(every[:inner])
    step = 2.0 ** (2 - bits) / (math.sqrt(inner) * max(x.spread, 1e-2))
    bias = draw.chance(0.3) and graph.constant(
        graph.noise((columns,), 0.3), "b"
    )
    inputs = [
        x,
        graph.constant(data, "w"),
        graph.constant(graph.noise((columns * blocks,), step / 4, step), "s"),
        zeros,
        groups,
        bias or None,
    ]
    return fused(
        graph,
        "MatMulNBits",
        inputs,
        y,
        spread=1.0,
        K=inner,
        N=columns,
        bits=bits,
        block_size=block,
    )


# -- sequences -----------------------------------------------------------------


def attention(graph, x):
    """Does not take x."""
    draw = graph.draw
    batch, length = draw.pick([1, 2]), draw.between(1, 9)
    width, hidden = draw.pick([8, 12, 17]), draw.pick([8, 12, 16, 24])
    heads = head_count(graph, hidden)
    before = draw.pick([0, 0, 1, 3])
    a = Bytes(graph, (batch, length, width), "u8")
    w, steps, zeros, _, _ = matrix(graph, width, 3 * hidden)
    causal = draw.chance(0.3)
    mask = None if causal else padding(graph, batch, length, before + length)
    past = before and graph.constant(
        graph.noise((2, batch, heads, before, hidden // heads))
    )
    shapes = [(batch, length, hidden)]
    if before:
        shapes.append((2, batch, heads, before + length, hidden // heads))
    return graph.many(
        "QAttention",
        [
            a.value,
            w,
            graph.constant(graph.noise((3 * hidden,), 0.3), "b"),
            a.scale,
            steps,
            mask,
            a.zero,
            zeros,
            past or None,
        ],
        shapes,
        domain=DOMAIN,
        num_heads=heads,
        unidirectional=int(causal),
    )[0]


def lstm(graph, x):
    """One step: ONNX Runtime quantises the state, nnv12 does not. So the state
    before it is one that is quantised without rounding. Does not take x."""
    draw = graph.draw
    batch, inputs = draw.pick([1, 2]), draw.pick([3, 8, 17])
    hidden = draw.pick([4, 9, 16])
    directions = draw.pick([1, 1, 2])

    def weights(rows):
        data = graph.whole((directions, rows, 4 * hidden), -60, 60, "i8")
        shape = (directions, 4 * hidden) if draw.chance(0.5) else (directions,)
        return (
            graph.constant(data, "w"),
            graph.constant(graph.noise(shape, 0.001, 0.008), "s"),
            graph.constant(np.zeros(shape, np.int8)),
        )

    w, r = weights(inputs), weights(hidden)
    states = [None, None]
    if draw.chance(0.6) and directions == 1:
        states = [
            grid(graph, (1, batch, hidden)),
            graph.constant(graph.noise((1, batch, hidden), 0.5)),
        ]
    return graph.many(
        "DynamicQuantizeLSTM",
        [
            grid(graph, (1, batch, inputs)),
            w[0],
            r[0],
            graph.constant(graph.noise((directions, 8 * hidden), 0.3), "b"),
            None,
            *states,
            None,
            *w[1:],
            *r[1:],
        ],
        [(1, directions, batch, hidden), *[(directions, batch, hidden)] * 2],
        spreads=(0.5,),
        domain=DOMAIN,
        hidden_size=hidden,
        direction="bidirectional"
        if directions == 2
        else draw.pick(["forward", "reverse"]),
    )[0]


def embedding(graph, x):
    """Does not take x: rows of tables by whole numbers."""
    draw = graph.draw
    batch, length = draw.between(1, 3), draw.between(1, 9)
    width = draw.pick([4, 8, 12, 17])

    def ids(most):
        return graph.constant(graph.whole((batch, length), 0, most, "i32"))

    tables = [
        Bytes(graph, shape, "u8", False)
        for shape in ((20, width), (length + 2, width), (2, width))
    ]
    tables += [Bytes(graph, (width,), "u8", False) for _ in range(2)]
    return graph.many(
        "QEmbedLayerNormalization",
        [
            ids(19),
            ids(1),
            *[t.value for t in tables],
            ids(1) if draw.chance(0.5) else None,
            *[t.scale for t in tables],
            *[t.zero for t in tables],
        ],
        [(batch, length, width), (batch,)],
        ("f32", "i32"),
        exact=False,
        domain=DOMAIN,
        epsilon=1e-3,
    )[0]


PIECES = [
    (1, function),
    (1, softmax),
    (2, combination),
    (1, choice),
    (1, concat),
    (2, pool),
    (2, conv),
    (2, gemm),
    (2, scaled_product),
    (2, few_bits),
    (1, attention),
    (1, lstm),
    (0.4, embedding),
]
