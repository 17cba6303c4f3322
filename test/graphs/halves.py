"""Models as converters to f16 leave them that keep computing in f32: constants
are halves, with a Cast to f32 behind each."""
import math

import numpy as np
from onnx import TensorProto, helper, numpy_helper

# Smaller ones are rather numbers, which halves may be too small for.
LEAST_ELEMENTS = 16


def with_half_constants(model):
    graph = model.graph
    casts = []
    for tensor in graph.initializer:
        is_float = tensor.data_type == TensorProto.FLOAT
        if not is_float or math.prod(tensor.dims) < LEAST_ELEMENTS:
            continue
        name = tensor.name
        array = numpy_helper.to_array(tensor)
        if np.abs(array).max(initial=0) > np.finfo(np.float16).max:
            continue
        half = array.astype(np.float16)
        tensor.CopyFrom(numpy_helper.from_array(half, f"{name}.half"))
        casts.append(
            helper.make_node(
                "Cast", [tensor.name], [name], to=TensorProto.FLOAT
            )
        )
    nodes = casts + list(graph.node)
    del graph.node[:]
    graph.node.extend(nodes)
    return model
