"""Layers of floats between DequantizeLinear and QuantizeLinear, which the
compiler makes layers of 8-bit integers. See pieces_quantised.py."""
import numpy as np

from pieces_quantised import (
    Bytes,
    image,
    parameters,
    settled,
    small_shape,
    windows,
)


def spelled(graph, q):
    """The floats that bytes stand for."""
    return graph.node(
        "DequantizeLinear", q.inputs, q.numbers.shape, exact=True, keep=False
    )


def spelled_weights(graph, weights, steps, axis):
    """Floats of weights of i8, and maybe a zero point of no effect."""
    inputs = [graph.constant(weights, "w"), graph.constant(steps, "s")]
    if graph.draw.chance(0.5):
        inputs.append(graph.constant(np.zeros(steps.shape, np.int8)))
    attributes = {"axis": axis} if steps.shape else {}
    return graph.node(
        "DequantizeLinear",
        inputs,
        weights.shape,
        exact=True,
        keep=False,
        **attributes,
    )


def rounded(graph, y, numbers, type):
    """The layer's result y as bytes and back, maybe after a clamp; None where
    no scale is found."""
    draw = graph.draw
    clamp = draw.pick([None, None, "Relu", "Clip"])
    most = float(np.abs(numbers).max(initial=0))
    if clamp == "Relu":
        numbers = np.maximum(numbers, 0)
        y = graph.node("Relu", [y], exact=True, keep=False)
    elif clamp == "Clip":
        high = np.float32(most * draw.uniform(0.3, 0.9))
        numbers = np.clip(numbers, 0, np.float64(high))
        bounds = [scalar(graph, 0), scalar(graph, high)]
        y = graph.node("Clip", [y, *bounds], exact=True, keep=False)
    found = settled(graph, numbers, type)
    if found is None:
        return None
    made = parameters(graph, *found, type)
    q = graph.node(
        "QuantizeLinear", [y, *made], type=type, exact=True, keep=False
    )
    return graph.node(
        "DequantizeLinear",
        [q, *made],
        numbers.shape,
        spread=max(float(np.abs(numbers).mean()), 0.1),
        exact=True,
    )


def scalar(graph, number):
    return graph.constant(np.float32(number))


def spelled_conv(graph, x):
    """Does not take x."""
    draw = graph.draw
    shape, _ = image(graph)
    groups = shape[1] if draw.chance(0.3) else 1
    outputs = shape[1] if groups > 1 else draw.pick([1, 5, 16, 24])
    kernel = draw.pick([(1, 1), (3, 3), (1, 3)])
    pads = [k // 2 for k in (*kernel, *kernel)]
    q = Bytes(graph, shape)
    weights = graph.whole((outputs, shape[1] // groups, *kernel), -50, 50, "i8")
    steps = graph.noise((outputs,), 0.003, 0.02)
    if draw.chance(0.5):
        steps = steps[:1].reshape(())
    views = np.nan_to_num(windows(q.numbers, kernel, 1, pads))
    factors = np.broadcast_to(steps, outputs).astype(np.float64)
    if groups > 1:
        sums = np.einsum("nchwij,cij->nchw", views, weights[:, 0])
    else:
        sums = np.einsum("nchwij,ocij->nohw", views, weights)
    numbers = sums * factors.reshape(-1, 1, 1)
    inputs = [spelled(graph, q), spelled_weights(graph, weights, steps, 0)]
    if draw.chance(0.6):
        bias = graph.whole((outputs,), -3000, 3000, "i32")
        own = np.broadcast_to(q.step * steps, outputs).astype(np.float32)
        inputs.append(
            graph.node(
                "DequantizeLinear",
                [graph.constant(bias, "b"), graph.constant(own, "s")],
                (outputs,),
                exact=True,
                keep=False,
                axis=0,
            )
        )
        numbers = numbers + (bias * own.astype(np.float64)).reshape(-1, 1, 1)
    if not graph.fits(numbers.shape):
        return None
    y = graph.node(
        "Conv",
        inputs,
        numbers.shape,
        exact=True,
        keep=False,
        group=groups,
        pads=pads,
        kernel_shape=kernel,
    )
    return rounded(graph, y, numbers, q.type)


def spelled_product(graph, x):
    """Does not take x."""
    draw = graph.draw
    rows, inner = draw.between(1, 9), draw.pick([1, 7, 16, 40, 67])
    columns = draw.pick([1, 5, 16, 24])
    shape = draw.pick([(rows, inner), (2, rows, inner)])
    q = Bytes(graph, shape)
    other = None
    if draw.chance(0.3):
        other = Bytes(graph, (*shape[:-2], inner, columns), q.type)
        right, numbers = spelled(graph, other), q.numbers @ other.numbers
    else:
        weights = graph.whole((inner, columns), -50, 50, "i8")
        steps = graph.noise((columns,), 0.003, 0.02)
        if draw.chance(0.5):
            steps = steps[:1].reshape(())
        right = spelled_weights(graph, weights, steps, 1)
        numbers = q.numbers @ (weights * steps.astype(np.float64))
    if not graph.fits(numbers.shape):
        return None
    y = graph.node(
        "MatMul",
        [spelled(graph, q), right],
        numbers.shape,
        exact=True,
        keep=False,
    )
    return rounded(graph, y, numbers, q.type)


def spelled_sum(graph, x):
    draw = graph.draw
    shape = small_shape(graph, x)
    if shape is None:
        return None
    a, b = Bytes(graph, shape), Bytes(graph, shape)
    y = graph.node(
        "Add", [spelled(graph, a), spelled(graph, b)], exact=True, keep=False
    )
    return rounded(graph, y, a.numbers + b.numbers, draw.pick(["u8", "i8"]))


PIECES = [(2, spelled_conv), (2, spelled_product), (1, spelled_sum)]
