"""quantised_products.py FOLDER: random products of 8-bit integers, many in one
model FOLDER/NAME/model.onnx, with inputs and the outputs that plain loops give:
integers exactly, QLinear* by ONNX's formula in float32."""
import itertools
import sys
from pathlib import Path

import numpy as np
from onnx import helper, numpy_helper

random = np.random.default_rng(38)
BYTES = {np.uint8: (0, 255), np.int8: (-128, 127)}


class Model:
    def __init__(self, name):
        self.folder = Path(sys.argv[1]) / name
        self.fed, self.constants, self.nodes, self.results = {}, {}, [], {}

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def node(self, kind, inputs, **attributes):
        output = f"t{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, inputs, [output], **attributes)
        )
        return output

    def add(self, kind, inputs, result, constant=(), domain="", **attributes):
        """One node; inputs that are not `constant` are fed at run time."""
        names = []
        for i, array in enumerate(inputs):
            name = "" if array is None else f"n{len(self.nodes)}i{i}"
            names.append(name)
            if array is not None:
                kept = self.constants if i in constant else self.fed
                kept[name] = np.asarray(array)
        output = f"n{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, names, [output], domain=domain, **attributes)
        )
        self.results[output] = result

    def write(self):
        def described(arrays):
            return [
                helper.make_tensor_value_info(
                    name, numpy_helper.from_array(a).data_type, a.shape
                )
                for name, a in arrays.items()
            ]

        graph = helper.make_graph(
            self.nodes,
            "g",
            described(self.fed),
            described(self.results),
            [numpy_helper.from_array(a, n) for n, a in self.constants.items()],
        )
        model = helper.make_model(
            graph,
            opset_imports=[
                helper.make_opsetid("", 17),
                helper.make_opsetid("com.microsoft", 1),
            ],
            ir_version=8,
        )
        self.folder.mkdir(parents=True)
        (self.folder / "model.onnx").write_bytes(model.SerializeToString())
        for i, a in enumerate(self.fed.values()):
            np.save(self.folder / f"input_{i}.npy", a)
        for i, a in enumerate(self.results.values()):
            np.save(self.folder / f"output_{i}.npy", a)


def draw(choices):
    return choices[random.integers(len(choices))]


def whole(shape, type):
    """With the least and the largest number, where there is room."""
    low, high = BYTES[type]
    array = random.integers(low, high + 1, shape).astype(type)
    flat = array.reshape(-1)
    if flat.size > 2 and random.integers(2):
        flat[:2] = low, high
    return array


def zero(shapes, type):
    """A zero point of one of the shapes; None is none."""
    shape = draw(shapes)
    if shape is None:
        return None
    return whole(shape, type) if random.integers(3) else np.zeros(shape, type)


def less(array, centre):
    centre = 0 if centre is None else centre.astype(np.int64)
    return array.astype(np.int64) - centre


def wrapped(sums):
    return sums.astype(np.int32)


def matmul_zeros(a, b):
    rows = [None, (), (1,)]
    columns = [None, (), (1,)]
    if a.ndim > 1:
        rows += [(a.shape[-2],), (a.shape[-2], 1)]
    if b.ndim > 1:
        columns += [(b.shape[-1],), (1, b.shape[-1])]
    if b.ndim > 2:
        columns += [(*b.shape[:-2], 1, b.shape[-1])]
    return rows, columns


def along_rows(centre, a):
    if centre is not None and centre.ndim == 1 and centre.size > 1:
        return centre[:, None]
    return centre


SHAPES = [
    ((5, 7), (7, 4)),
    ((1, 16), (16, 33)),
    ((7,), (7, 3)),
    ((2, 7), (7,)),
    ((2, 3, 5), (5, 4)),
    ((2, 3, 5), (2, 5, 4)),
    ((3, 5), (2, 5, 4)),
    ((2, 1, 2, 6), (3, 6, 2)),
    ((2, 0), (0, 3)),
]


def matmuls():
    model = Model("matmul")
    for (left, right), ta, tb in itertools.product(SHAPES, BYTES, BYTES):
        a, b = whole(left, ta), whole(right, tb)
        rows, columns = matmul_zeros(a, b)
        za, zb = zero(rows, ta), zero(columns, tb)
        sums = less(a, along_rows(za, a)) @ less(b, zb)
        constant = draw([(1, 2, 3), (1, 3), (1,), (2, 3), ()])
        model.add("MatMulInteger", [a, b, za, zb], wrapped(sums), constant)
    model.write()


def convolved(x, w, strides, pads, dilations, groups):
    """x and w less their zero points, so that padding is zero."""
    rank = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:])])
    kernel = w.shape[2:]
    extents = [
        (x.shape[i + 2] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1
        for i in range(rank)
    ]
    y = np.zeros((x.shape[0], w.shape[0], *extents), np.int64)
    inner, outer = w.shape[1], w.shape[0] // groups
    for g in range(groups):
        part = x[:, g * inner : (g + 1) * inner]
        for tap in np.ndindex(*kernel):
            places = tuple(
                slice(
                    tap[i] * dilations[i],
                    tap[i] * dilations[i] + strides[i] * (extents[i] - 1) + 1,
                    strides[i],
                )
                for i in range(rank)
            )
            seen = part[(slice(None), slice(None), *places)]
            weights = w[(slice(g * outer, (g + 1) * outer), slice(None), *tap)]
            y[:, g * outer : (g + 1) * outer] += np.einsum(
                "nc...,oc->no...", seen, weights
            )
    return y


def conv_case(rank):
    groups = draw([1, 1, 2, 3])
    inner, outer = draw([1, 2, 5]), draw([1, 3])
    type_x, type_w = draw(list(BYTES)), draw(list(BYTES))
    kernel = [draw([1, 2, 3]) for _ in range(rank)]
    x = whole((draw([1, 2]), groups * inner, *[7] * rank), type_x)
    w = whole((groups * outer, inner, *kernel), type_w)
    attributes = dict(
        strides=[draw([1, 2]) for _ in range(rank)],
        pads=[draw([0, 1, 2]) for _ in range(2 * rank)],
        dilations=[draw([1, 2]) for _ in range(rank)],
    )
    zx = zero([None, ()], type_x)
    zw = zero([None, (), (groups * outer,)], type_w)
    centre = zw
    if zw is not None and zw.ndim:
        centre = zw.reshape(-1, *[1] * (w.ndim - 1))
    sums = convolved(less(x, zx), less(w, centre), groups=groups, **attributes)
    return x, zx, w, zw, sums, dict(attributes, group=groups)


def convs():
    model = Model("conv")
    for i in range(40):
        x, zx, w, zw, sums, attributes = conv_case(1 + i % 3)
        constant = draw([(1, 2, 3), (1, 3), (1, 3), ()])
        model.add(
            "ConvInteger", [x, w, zx, zw], wrapped(sums), constant, **attributes
        )
    model.write()


def requantised(sums, sx, sw, sy, zy, type):
    """One factor in float32, as ONNX Runtime has it."""
    factor = np.float32(np.float32(sw * sx) / sy)
    y = np.rint(wrapped(sums).astype(np.float32) * factor)
    y = y + np.float32(0 if zy is None else zy)
    return np.clip(y, *BYTES[type]).astype(type)


def scales(shape):
    return np.asarray(random.uniform(0.002, 0.02, shape), np.float32)


def qlinear_convs():
    model = Model("qlinear-conv")
    for i in range(40):
        x, zx, w, zw, sums, attributes = conv_case(1 + i % 3)
        zx = x.dtype.type(0) if zx is None else zx
        sx = scales(())
        shape = () if zw is None or not zw.ndim else zw.shape
        zw = w.dtype.type(0) if zw is None else zw
        sw, bias = scales(shape), None
        if random.integers(2):
            bias = random.integers(-9999, 9999, w.shape[0]).astype(np.int32)
            sums = sums + bias.reshape(-1, *[1] * (x.ndim - 2))
        type = draw(list(BYTES))
        sy = np.float32(np.abs(sums).max() * sx * sw.max() / 100 + 1e-6)
        zy = type(draw([0, 3, 100]))
        column = sw.reshape(-1, *[1] * (x.ndim - 2)) if shape else sw
        model.add(
            "QLinearConv",
            [x, sx, zx, w, sw, zw, sy, zy, bias],
            requantised(sums, sx, column, sy, zy, type),
            range(1, 9),
            **attributes,
        )
    model.write()


def qlinear_matmuls():
    model = Model("qlinear-matmul")
    for (left, right), ta, tb in itertools.product(SHAPES, BYTES, BYTES):
        a, b = whole(left, ta), whole(right, tb)
        columns = [()] + ([(right[-1],)] if len(right) == 2 else [])
        za, zb = zero([()], ta), zero(columns, tb)
        sums = less(a, za) @ less(b, zb)
        type = draw(list(BYTES))
        sa, sb = scales(()), scales(zb.shape)
        sy = np.float32(np.abs(sums).max() * sa * sb.max() / 100 + 1e-6)
        zy = type(draw([0, 3, 100]))
        constant = draw([range(1, 8), (1, 2, 4, 5, 6, 7), (1, 4, 6), ()])
        model.add(
            "QLinearMatMul",
            [a, sa, za, b, sb, zb, sy, zy],
            requantised(sums, sa, sb, sy, zy, type),
            constant,
        )
    model.write()


def clamp(model, y, sy):
    """A relu, a clip or nothing, and its bounds in steps of the result."""
    kind = draw(["Relu", "Clip", "Clip", None])
    if kind is None:
        return y, -np.inf, np.inf
    if kind == "Relu":
        return model.node("Relu", [y]), 0.0, np.inf
    low, high = draw([(0, 6), (-1, 1), (0.5, 100)])
    bounds = [model.constant(np.float32(v)) for v in (low, high)]
    steps = [np.float32(v / np.float64(sy)) for v in (low, high)]
    return model.node("Clip", [y, *bounds]), *steps


def dequantized(model, value, scale, zero, **attributes):
    inputs = [value, model.constant(scale)]
    if zero is not None:
        inputs.append(model.constant(zero))
    return model.node("DequantizeLinear", inputs, **attributes)


def qdq():
    """Layers of floats between QuantizeLinear and DequantizeLinear: the
    arithmetic of QLinearConv."""
    model = Model("qdq")
    for i in range(30):
        rank = 1 + i % 3
        x, zx, w, zw, sums, attributes = conv_case(rank)
        sx, sw = scales(()), scales(w.shape[0])
        if zw is not None and not zw.ndim:
            zw = np.full(w.shape[0], zw, w.dtype)
        name = f"x{i}"
        model.fed[name] = x
        inputs = [
            dequantized(model, name, sx, zx),
            dequantized(model, model.constant(w), sw, zw, axis=0),
        ]
        if random.integers(2):
            bias = random.integers(-9999, 9999, w.shape[0]).astype(np.int32)
            sums = sums + bias.reshape(-1, *[1] * rank)
            kept = model.constant(bias)
            inputs.append(dequantized(model, kept, sx * sw, None, axis=0))
        type = draw(list(BYTES))
        sy = np.float32(np.abs(sums).max() * sx * sw.max() / 100 + 1e-6)
        zy = type(draw([0, 3, 100]))
        y = model.node("Conv", inputs, **attributes)
        y, low, high = clamp(model, y, sy)
        column = sw.reshape(-1, *[1] * rank)
        factor = np.float32(np.float32(column * sx) / sy)
        steps = wrapped(sums).astype(np.float32) * factor
        steps = np.rint(np.clip(steps, low, high)) + np.float32(zy)
        y = model.node(
            "QuantizeLinear", [y, model.constant(sy), model.constant(zy)]
        )
        model.results[y] = np.clip(steps, *BYTES[type]).astype(type)
    model.write()


matmuls()
convs()
qdq()
qlinear_convs()
qlinear_matmuls()
