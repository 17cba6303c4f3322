"""A network of ONNX over several pictures at once, and which of its values may
have changed.

For experiments: NCHW networks of pictures with one input, whose nodes are those
of OPS. The dimension of the batch, 1 in the model, is that of the pictures.
"""
import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper

# Nodes that may stand between a convolution and the place where its result is
# compared: a compiler computes them with it.
FUSED = {
    "Relu",
    "Clip",
    "LeakyRelu",
    "HardSwish",
    "Sigmoid",
    "BatchNormalization",
}


class Plane:
    """Which pixels of a value may have changed: `mask` is [pictures, 1, rows,
    columns], of floats; [pictures, 1, 1, 1] is said of all of a value.
    `border` says it of the padding at the ends of rows and of columns, each
    [pictures, 1, 1, 1]: the border is new to values that are shifted. None: it
    has not changed."""

    def __init__(self, mask, border=None):
        self.mask, self.border = mask, border

    def like(self, mask):
        """Another plane of the same pictures."""
        return Plane(mask, self.border)

    def all(self):
        return self.like(self.mask.amax(dim=(2, 3), keepdim=True))

    def padded(self, pads):
        """The mask with padding: left, right, top, bottom."""
        if self.border is None:
            return F.pad(self.mask, pads)
        left, right, top, bottom = pads
        rows, columns = self.border
        wide = F.pad(self.mask - rows, (left, right, 0, 0)) + rows
        return F.pad(wide - columns, (0, 0, top, bottom)) + columns

    @property
    def size(self):
        return tuple(self.mask.shape[2:])

    @staticmethod
    def union(planes):
        sizes = {p.size for p in planes} - {(1, 1)}
        if len(sizes) > 1:
            planes = [p.all() for p in planes]
        mask = planes[0].mask
        for plane in planes[1:]:
            mask = torch.maximum(mask, plane.mask)
        return planes[0].like(mask)


def window(plane, kernel, strides, pads, dilations, ceil=False):
    """The mask of the pixels whose windows reach a pixel of the plane."""
    if plane.size == (1, 1):
        return plane.mask
    top, left, bottom, right = pads
    if ceil:
        bottom, right = bottom + strides[0] - 1, right + strides[1] - 1
    mask = plane.padded((left, right, top, bottom))
    return F.max_pool2d(mask, kernel, strides, 0, dilations)


class Node:
    def __init__(self, node, opset):
        self.opset = opset
        self.op = node.op_type
        self.inputs = list(node.input)
        self.outputs = list(node.output)
        self.name = node.name or self.outputs[0]
        self.attrs = {
            a.name: onnx.helper.get_attribute_value(a) for a in node.attribute
        }

    def get(self, name, default):
        return self.attrs.get(name, default)

    def pads(self, size, kernel, strides, dilations):
        auto = self.get("auto_pad", b"NOTSET").decode()
        if auto in ("NOTSET", ""):
            return self.get("pads", [0, 0, 0, 0])
        if auto == "VALID":
            return [0, 0, 0, 0]
        low, high = [], []
        for n, k, s, d in zip(size, kernel, strides, dilations):
            total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
            small, large = total // 2, total - total // 2
            low.append(small if auto == "SAME_UPPER" else large)
            high.append(large if auto == "SAME_UPPER" else small)
        return low + high


class Network:
    """`run` computes every value of a network for [pictures, …] inputs.

    `checked(name, value, plane, work)` is called for the result of each
    convolution and product of matrices, after the functions that follow it. It
    returns the value and the plane for the rest of the network. `work` counts
    the multiply-adds of a picture.
    """

    def __init__(self, path, device):
        model = onnx.load(path)
        graph = model.graph
        self.device = device
        self.constants = {}
        for tensor in graph.initializer:
            self.constants[tensor.name] = self.constant(
                numpy_helper.to_array(tensor)
            )
        self.input = next(
            i for i in graph.input if i.name not in self.constants
        )
        self.shape = [
            d.dim_value for d in self.input.type.tensor_type.shape.dim
        ]
        self.outputs = [o.name for o in graph.output]
        self.nodes = [
            Node(n, model.opset_import[0].version) for n in graph.node
        ]
        readers = {}
        for node in self.nodes:
            for name in node.inputs:
                readers.setdefault(name, []).append(node)
        self.numReaders = {name: len(nodes) for name, nodes in readers.items()}
        # A result of a convolution is compared behind the functions after it.
        self.compared = {}
        for node in self.nodes:
            if node.op not in ("Conv", "ConvTranspose", "Gemm", "MatMul"):
                continue
            name = node.outputs[0]
            while True:
                after = readers.get(name, [])
                if (
                    len(after) != 1
                    or after[0].op not in FUSED
                    or name in self.outputs
                ):
                    break
                name = after[0].outputs[0]
            self.compared[name] = node

    def constant(self, array):
        if array.dtype == np.float16:
            array = array.astype(np.float32)
        tensor = torch.from_numpy(array.copy())
        # Shapes and indices stay where the host reads them.
        return tensor.to(self.device) if tensor.is_floating_point() else tensor

    def run(self, picture, plane, checked):
        values = dict(self.constants)
        planes = {self.input.name: plane}
        values[self.input.name] = picture
        work = {}
        for node in self.nodes:
            args = [values[n] if n else None for n in node.inputs]
            marks = [planes.get(n) for n in node.inputs]
            results, mark, macs = OPS[node.op](node, args, marks)
            for name, result in zip(node.outputs, results):
                if mark is None:
                    values[name] = result
                    continue
                if macs:
                    work[node.outputs[0]] = macs
                here = mark
                if name in self.compared:
                    source = self.compared[name]
                    result, here = checked(
                        name, result, mark, work[source.outputs[0]]
                    )
                values[name], planes[name] = result, here
        return torch.cat(
            [values[n].float().flatten(1) for n in self.outputs], dim=1
        )


def known(marks):
    return [m for m in marks if m is not None]


def union(marks):
    marks = known(marks)
    return Plane.union(marks) if marks else None


def elementwise(function):
    def run(node, args, marks):
        # Numbers of shapes stay with the host.
        device = next(
            (a.device for a in args if a.dim() > 0 and a.is_cuda), None
        )
        if device is not None and known(marks):
            args = [a.to(device) for a in args]
        return [function(node, *args)], union(marks), 0

    return run


def fitted(node, plane, value):
    """The plane of a value that moves its operand's elements: as it was, where
    rows and columns are the last dimensions still, or the last one together."""
    if plane is None:
        return None
    rows, columns = plane.size
    isKept = (
        tuple(value.shape[-2:]) == plane.size
        or value.shape[-1] == rows * columns
    )
    return plane if isKept else plane.all()


def conv(node, args, marks):
    x, w = args[:2]
    kernel = list(w.shape[2:])
    strides = node.get("strides", [1] * len(kernel))
    dilations = node.get("dilations", [1] * len(kernel))
    group = node.get("group", 1)
    if len(kernel) == 1:  # of one dimension: a plane of one column
        result = F.conv1d(
            F.pad(x, node.get("pads", [0, 0])),
            w,
            args[2] if len(args) > 2 else None,
            strides,
            0,
            dilations,
            group,
        )
        return [result], marks[0].all(), int(result[0].numel() * w[0].numel())
    pads = node.pads(x.shape[2:], kernel, strides, dilations)
    top, left, bottom, right = pads
    bias = args[2] if len(args) > 2 else None
    result = F.conv2d(
        F.pad(x, (left, right, top, bottom)),
        w,
        bias,
        strides,
        0,
        dilations,
        group,
    )
    mask = window(marks[0], kernel, strides, pads, dilations)
    return [result], marks[0].like(mask), int(result[0].numel() * w[0].numel())


def conv_transpose(node, args, marks):
    x, w = args[:2]
    kernel = list(w.shape[2:])
    strides = node.get("strides", [1, 1])
    pads = node.get("pads", [0, 0, 0, 0])
    extra = node.get("output_padding", [0, 0])
    bias = args[2] if len(args) > 2 else None

    def apply(x, w, bias, group):
        full = F.conv_transpose2d(x, w, bias, strides, 0, extra, group)
        return full[
            :,
            :,
            pads[0] : full.shape[2] - pads[2],
            pads[1] : full.shape[3] - pads[3],
        ]

    result = apply(x, w, bias, node.get("group", 1))
    mask = marks[0].mask
    if tuple(mask.shape[2:]) == tuple(x.shape[2:]):
        mask = (
            apply(mask, torch.ones(1, 1, *kernel, device=mask.device), None, 1)
            > 0
        ).float()
    return [result], marks[0].like(mask), int(x[0].numel() * w[0].numel())


def pool(node, args, marks):
    x = args[0]
    kernel = node.attrs["kernel_shape"]
    strides = node.get("strides", [1, 1])
    pads = node.pads(x.shape[2:], kernel, strides, [1, 1])
    ceil = bool(node.get("ceil_mode", 0))
    top, left, bottom, right = pads
    if node.op == "MaxPool":
        result = F.max_pool2d(
            F.pad(x, (left, right, top, bottom), value=-np.inf),
            kernel,
            strides,
            0,
            1,
            ceil,
        )
    else:
        assert top == bottom and left == right, node.name
        result = F.avg_pool2d(
            x,
            kernel,
            strides,
            (top, left),
            ceil,
            bool(node.get("count_include_pad", 0)),
        )
    mask = window(marks[0], kernel, strides, pads, [1, 1], ceil)
    mask = mask[:, :, : result.shape[2], : result.shape[3]]
    return [result], marks[0].like(mask), 0


def product(node, args, marks):
    a, b = args[:2]
    if node.op == "Gemm":
        if node.get("transA", 0):
            a = a.T
        if node.get("transB", 0):
            b = b.T
        result = node.get("alpha", 1.0) * (a @ b)
        if len(args) > 2:
            result = result + node.get("beta", 1.0) * args[2]
    else:
        result = a @ b
    return [result], union(marks).all(), int(result[0].numel() * a.shape[-1])


def reduce_mean(node, args, marks):
    axes = node.get("axes", None)
    if axes is None:
        axes = args[1].tolist() if len(args) > 1 else list(range(args[0].dim()))
    result = args[0].mean(dim=list(axes), keepdim=bool(node.get("keepdims", 1)))
    axes = {a % args[0].dim() for a in axes}
    spatial = {args[0].dim() - 1, args[0].dim() - 2}
    plane = (
        marks[0]
        if not axes & spatial and result.dim() == args[0].dim()
        else marks[0].all()
    )
    return [result], plane, 0


def global_pool(node, args, marks):
    return [args[0].mean(dim=(2, 3), keepdim=True)], marks[0].all(), 0


def resize(node, args, marks):
    x = args[0]
    sizes = (
        args[3]
        if len(args) > 3 and args[3] is not None and args[3].numel()
        else None
    )
    scales = args[2] if len(args) > 2 else args[1]
    if sizes is not None:
        to = [int(n) for n in sizes[2:]]
    else:
        to = [
            int(np.floor(n * float(s))) for n, s in zip(x.shape[2:], scales[2:])
        ]
    mode = node.get("mode", b"nearest").decode()
    mask = marks[0].mask
    if mode == "nearest":
        result = F.interpolate(x, to, mode="nearest")
    else:
        aligned = (
            node.get("coordinate_transformation_mode", b"half_pixel")
            == b"align_corners"
        )
        result = F.interpolate(x, to, mode="bilinear", align_corners=aligned)
        if tuple(mask.shape[2:]) != (1, 1):
            mask = F.max_pool2d(mask, 3, 1, 1)
    if tuple(mask.shape[2:]) != (1, 1):
        mask = F.interpolate(mask, to, mode="nearest")
    return [result], marks[0].like(mask), 0


def reshape(node, args, marks):
    x = args[0]
    to = [int(n) for n in (args[1] if len(args) > 1 else node.attrs["shape"])]
    to = [x.shape[i] if n == 0 else n for i, n in enumerate(to)]
    # A model of one picture says the batch, 1, or leaves it out of a product:
    # of the first dimension, or where channels are shuffled of the second one.
    pictures = marks[0].mask.shape[0] if marks[0] is not None else 1
    if to and pictures > 1:
        if to[0] == 1:
            to[0] = pictures
        elif -1 not in to and np.prod(to) != x.numel():
            to[0 if x.shape[0] % pictures == 0 else 1] *= pictures
    result = x.reshape(to)
    return [result], fitted(node, marks[0], result), 0


def transpose(node, args, marks):
    perm = node.attrs["perm"]
    result = args[0].permute(perm)
    plane = marks[0]
    if plane is not None:
        rank = args[0].dim()
        isFlat = args[0].shape[-1] == plane.size[0] * plane.size[1]
        kept = perm[-1] == rank - 1 and (isFlat or perm[-2] == rank - 2)
        plane = plane if kept or list(perm) == [0, 3, 1, 2] else plane.all()
    return [result], plane, 0


def concat(node, args, marks):
    rank = args[0].dim()
    axis = node.attrs["axis"] % max(rank, 1)
    plane = union(marks)
    if plane is not None and rank == 4:  # constants are of one picture
        args = [
            a.to(plane.mask.device).expand(len(plane.mask), *a.shape[1:])
            for a in args
        ]
    result = torch.cat(args, dim=axis)
    if plane is not None and rank >= 2 and axis >= rank - 2:
        plane = plane.all()
    return [result], plane, 0


def slice_(node, args, marks):
    x = args[0]
    if len(args) > 1:
        starts, ends = args[1].tolist(), args[2].tolist()
        axes = args[3].tolist() if len(args) > 3 else range(len(starts))
        steps = args[4].tolist() if len(args) > 4 else [1] * len(starts)
    else:
        starts, ends = node.attrs["starts"], node.attrs["ends"]
        axes, steps = node.get("axes", range(len(starts))), [1] * len(starts)
    at = [slice(None)] * x.dim()
    for start, end, axis, step in zip(starts, ends, axes, steps):
        assert step > 0, node.name
        at[axis] = slice(start, end, step)
    result = x[tuple(at)]
    return [result], fitted(node, marks[0], result), 0


def split(node, args, marks):
    axis = node.get("axis", 0)
    sizes = args[1].tolist() if len(args) > 1 else node.get("split", None)
    if sizes is None:
        sizes = args[0].shape[axis] // len(node.outputs)
    results = torch.split(args[0], sizes, dim=axis)
    return list(results), fitted(node, marks[0], results[0]), 0


def gather(node, args, marks):
    x, index = args
    axis = node.get("axis", 0) % x.dim()
    flat = torch.index_select(
        x, axis, index.flatten().long().to(x.device) % x.shape[axis]
    )
    shape = list(x.shape[:axis]) + list(index.shape) + list(x.shape[axis + 1 :])
    result = flat.reshape(shape)
    return [result], fitted(node, marks[0], result), 0


def unsqueeze(node, args, marks):
    axes = node.attrs["axes"] if "axes" in node.attrs else args[1].tolist()
    result = args[0]
    for axis in sorted(axes):
        result = result.unsqueeze(axis)
    return [result], marks[0] and marks[0].all(), 0


def squeeze(node, args, marks):
    axes = node.attrs["axes"] if "axes" in node.attrs else args[1].tolist()
    result = args[0]
    for axis in sorted((a % args[0].dim() for a in axes), reverse=True):
        result = result.squeeze(axis)
    return [result], marks[0] and marks[0].all(), 0


def pad(node, args, marks):
    pads = node.attrs["pads"] if "pads" in node.attrs else args[1].tolist()
    rank = len(pads) // 2
    order = [
        p for d in reversed(range(rank)) for p in (pads[d], pads[rank + d])
    ]
    result = F.pad(args[0], order)
    plane = marks[0]
    if plane is not None and plane.size != (1, 1):
        plane = plane.like(plane.padded(order[:4]))
    return [result], plane, 0


def clip(node, x, low=None, high=None):
    low = node.get("min", None) if low is None else float(low)
    high = node.get("max", None) if high is None else float(high)
    return x.clamp(low, high)


def lrn(node, args, marks):
    x, size = args[0], node.attrs["size"]
    result = F.local_response_norm(
        x,
        size,
        node.get("alpha", 1e-4),
        node.get("beta", 0.75),
        node.get("bias", 1.0),
    )
    return [result], marks[0], 0


def softmax(node, args, marks):
    x = args[0]
    if node.opset < 13:
        result = torch.softmax(x.flatten(node.get("axis", 1)), dim=-1).reshape(
            x.shape
        )
    else:
        result = torch.softmax(x, dim=node.get("axis", -1))
    return [result], marks[0].all(), 0


def host(function):
    return lambda node, args, marks: ([function(node, *args)], None, 0)


def batch_norm(node, x, scale, bias, mean, var):
    return F.batch_norm(
        x, mean, var, scale, bias, False, 0.0, node.get("epsilon", 1e-5)
    )


def constant(node, args, marks):
    value = numpy_helper.to_array(node.attrs["value"])
    return [torch.from_numpy(value.copy())], None, 0


def constant_of_shape(node, args, marks):
    value = node.attrs.get("value")
    value = (
        float(numpy_helper.to_array(value).flat[0])
        if value is not None
        else 0.0
    )
    return [torch.full([int(n) for n in args[0]], value)], None, 0


OPS = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "MaxPool": pool,
    "AveragePool": pool,
    "GlobalAveragePool": global_pool,
    "ReduceMean": reduce_mean,
    "Gemm": product,
    "MatMul": product,
    "Resize": resize,
    "Reshape": reshape,
    "Flatten": lambda n, a, m: (
        [a[0].flatten(n.get("axis", 1))],
        m[0].all(),
        0,
    ),
    "Transpose": transpose,
    "Concat": concat,
    "Slice": slice_,
    "Split": split,
    "Gather": gather,
    "Unsqueeze": unsqueeze,
    "Squeeze": squeeze,
    "Pad": pad,
    "LRN": lrn,
    "Softmax": softmax,
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "Shape": host(lambda n, x: torch.tensor(x.shape)),
    "Dropout": elementwise(lambda n, x, *_: x),
    "Identity": elementwise(lambda n, x: x),
    "Relu": elementwise(lambda n, x: F.relu(x)),
    "LeakyRelu": elementwise(
        lambda n, x: F.leaky_relu(x, n.get("alpha", 0.01))
    ),
    "Clip": elementwise(clip),
    "Sigmoid": elementwise(lambda n, x: torch.sigmoid(x)),
    "HardSigmoid": elementwise(
        lambda n, x: (x * n.get("alpha", 0.2) + n.get("beta", 0.5)).clamp(0, 1)
    ),
    "HardSwish": elementwise(lambda n, x: F.hardswish(x)),
    "Exp": elementwise(lambda n, x: torch.exp(x)),
    "Add": elementwise(lambda n, a, b: a + b),
    "Sub": elementwise(lambda n, a, b: a - b),
    "Mul": elementwise(lambda n, a, b: a * b),
    "Div": elementwise(lambda n, a, b: a / b),
    "BatchNormalization": elementwise(batch_norm),
}
