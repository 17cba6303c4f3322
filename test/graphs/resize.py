"""Resizes of images: every mode, with scales and coordinates that fall on whole
numbers."""
import math

import numpy as np

SCALES = [
    0.5,
    0.5,
    0.75,
    0.8,
    1.0,
    1.2,
    1.25,
    1.3333334,
    1.5,
    2.0,
    2.0,
    2.0,
    2.5,
    3.0,
    4.0,
]


def resize(graph, x):
    draw = graph.draw
    nd = x.rank - 2
    mode = draw.weighted([(5, "nearest"), (5, "linear"), (2, "cubic")])
    if mode == "cubic" and x.rank != 4 or mode == "linear" and x.rank == 5:
        mode = "nearest"
    coordinates = draw.weighted(
        [
            (3, "half_pixel"),
            (3, "asymmetric"),
            (2, "align_corners"),
            (2, "pytorch_half_pixel"),
            (1, "half_pixel_symmetric" if graph.opset >= 19 else "asymmetric"),
            (1, "tf_crop_and_resize" if x.rank == 4 else "half_pixel"),
        ]
    )
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        attributes["nearest_mode"] = draw.pick(
            [
                "floor",
                "floor",
                "round_prefer_floor",
                "round_prefer_ceil",
                "ceil",
            ]
        )
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
        extents = [
            int(math.floor(np.float32(d) * np.float32(s)))
            for d, s in zip(x.shape[2:], scale)
        ]
        shape = (*x.shape[:2], *extents)
        if not graph.fits(shape):
            return None
        operands = [
            x,
            None,
            graph.constant(np.array([1, 1, *scale], np.float32)),
        ]
    else:
        extents = [
            draw.pick(
                [
                    max(1, d // 2),
                    d,
                    d + 1,
                    d + 3,
                    2 * d,
                    max(1, d - 1),
                    draw.between(1, 32),
                ]
            )
            for d in x.shape[2:]
        ]
        shape = (*x.shape[:2], *extents)
        if not graph.fits(shape):
            return None
        operands = [x, None, None, graph.ints(shape)]
    # ONNX Runtime copies where no extent changes, whatever the scales.
    if shape == x.shape and (operands[3:] == [] or draw.chance(0.7)):
        return None
    if coordinates == "tf_crop_and_resize":
        # ONNX Runtime crops nothing along a dimension that keeps its extent.
        if any(a == b for a, b in zip(shape[2:], x.shape[2:])):
            return None
        starts = [draw.pick([0.0, 0.0, 0.25, -0.125]) for _ in range(nd)]
        ends = [draw.pick([1.0, 0.75, 1.125]) for _ in range(nd)]
        operands[1] = graph.constant(
            np.array([0, 0, *starts, 1, 1, *ends], np.float32)
        )
        attributes["extrapolation_value"] = 0.5
    return graph.node(
        "Resize",
        operands,
        shape,
        exact=x.exact and mode == "nearest",
        **attributes
    )
