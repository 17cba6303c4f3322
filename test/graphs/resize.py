"""Resizes of images: every mode, with scales and coordinates that fall on whole numbers."""
import math

import numpy as np

SCALES = [0.5, 0.5, 0.75, 0.8, 1.0, 1.2, 1.25, 1.3333334, 1.5, 2.0, 2.0, 2.0, 2.5, 3.0, 4.0]


def resize(graph, x):
    draw = graph.draw
    nd = x.rank - 2
    mode = draw.weighted([(5, "nearest"), (5, "linear"), (2, "cubic")])
    if mode == "cubic" and x.rank != 4 or mode == "linear" and x.rank == 5:
        mode = "nearest"
    coordinates = draw.weighted([(3, "half_pixel"), (3, "asymmetric"), (2, "align_corners"), (2, "pytorch_half_pixel")])
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        attributes["nearest_mode"] = draw.pick(["floor", "floor", "round_prefer_floor", "round_prefer_ceil", "ceil"])
    if mode == "cubic":
        attributes["cubic_coeff_a"] = draw.pick([-0.75, -0.5])
        if draw.chance(0.3):
            attributes["exclude_outside"] = 1
    if draw.chance(0.5):
        scale = [draw.pick(SCALES)] * nd
        if draw.chance(0.3):
            scale = [draw.pick(SCALES) for _ in range(nd)]
        scale = [float(np.float32(s)) for s in scale]
        # As ONNX Runtime: the product in f32.
        extents = [int(math.floor(np.float32(d) * np.float32(s))) for d, s in zip(x.shape[2:], scale)]
        shape = (*x.shape[:2], *extents)
        if not graph.fits(shape):
            return None
        operands = [x, None, graph.constant(np.array([1, 1, *scale], np.float32))]
    else:
        extents = [draw.pick([max(1, d // 2), d, d + 1, d + 3, 2 * d, max(1, d - 1), draw.between(1, 32)])
                   for d in x.shape[2:]]
        shape = (*x.shape[:2], *extents)
        if not graph.fits(shape):
            return None
        operands = [x, None, None, graph.ints(shape)]
    if all(a == b for a, b in zip(shape, x.shape)) and draw.chance(0.7):
        return None
    return graph.node("Resize", operands, shape, exact=x.exact and mode == "nearest", **attributes)
