"""A model with weights that no fewer bits hold, as MLIR."""

import random

random.seed(1)


def constant(name, *shape, scale=0.1):
    def text(dims):
        if not dims:
            return repr(random.gauss(0, scale))
        return "[" + ", ".join(text(dims[1:]) for _ in range(dims[0])) + "]"

    print(f"%{name} = nn.constant dense<{text(shape)}> : {tensor(*shape)}")


def tensor(*shape):
    return "tensor<" + "x".join(map(str, shape)) + "xf32>"


matrix, rows = tensor(64, 64), tensor(8, 64)
image = tensor(1, 64, 8, 8)
results = ", ".join([image, rows, rows, rows, matrix])


def matmul(result, weights, names=""):
    types = f"{rows}, {matrix} -> {rows}"
    print(f"%{result} = nn.matmul %y, %{weights} : {types} {names}")


def conv(result, operands, pad, groups, types, names=""):
    print(f"%{result} = nn.conv {operands} strides [1, 1] dilations [1, 1]")
    print(f"  pads [{pad}, {pad}], [{pad}, {pad}]")
    print(
        f"  {{groups = {groups} : i64}} : {image}, {types} -> {image} {names}"
    )


print(f"func.func @main(%x: {image}, %y: {rows}) -> ({results}) {{")
constant("w", 64, 64, 1, 1)
constant("few", 64, 1, 3, 3)
constant("bias", 64)
constant("p", 64, 64)
constant("shared", 64, 64)
constant("large", 64, 64, scale=1e5)
weights = tensor(64, 64, 1, 1) + " bias " + tensor(64)
conv("0", "%x, %w bias %bias", 0, 1, weights, 'loc("first")')
conv("1", "%0, %few", 1, 64, tensor(64, 1, 3, 3))
matmul("2", "p", 'loc(fused["second", "merged"])')
matmul("3", "shared")
print(f"%4 = nn.unary %shared <sin> : {matrix} -> {matrix}")
matmul("5", "large")
print(f"return %1, %2, %3, %5, %4 : {results}")
print("}")
