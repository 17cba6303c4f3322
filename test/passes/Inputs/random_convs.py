"""Prints @main: a chain of convolutions whose weights no fewer bits hold."""

import numpy as np

COUNT, CHANNELS, SIZE = 6, 64, 56
x = f"tensor<1x{CHANNELS}x{SIZE}x{SIZE}xf32>"
w = f"tensor<{CHANNELS}x{CHANNELS}x3x3xf32>"
random = np.random.default_rng(1)
print(f"func.func @main(%v0: {x}) -> {x} {{")
for i in range(COUNT):
    weights = random.standard_normal((CHANNELS, CHANNELS, 3, 3), np.float32)
    text = (weights * 0.05).tobytes().hex().upper()
    print(f'  %w{i} = nn.constant dense<"0x{text}"> : {w}')
    print(
        f"  %v{i + 1} = nn.conv %v{i}, %w{i} strides [1, 1] dilations [1, 1] "
        f"pads [1, 1], [1, 1] : {x}, {w} -> {x}"
    )
print(f"  return %v{COUNT} : {x}\n}}")
