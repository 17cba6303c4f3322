#!/usr/bin/python3
"""Makes squeezenet.onnx of this folder from the published model: make_model.py
IN OUT

Weights, all of which 16 bits can hold, are stored so, with a Cast to float
behind each: half the size, the same answers.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

model = onnx.load(sys.argv[1])
graph = model.graph
casts = []
for tensor in graph.initializer:
    if tensor.data_type != TensorProto.FLOAT:
        continue
    name, array = tensor.name, numpy_helper.to_array(tensor)
    small = array.astype(np.float16)
    if not np.array_equal(small.astype(np.float32), array):
        sys.exit(f"'{name}' does not fit into 16 bits")
    tensor.CopyFrom(numpy_helper.from_array(small, name + "_16"))
    casts.append(
        helper.make_node(
            "Cast", [name + "_16"], [name], name=name, to=TensorProto.FLOAT
        )
    )
nodes = list(graph.node)
del graph.node[:]
graph.node.extend(casts + nodes)
# Weights need not stand among the inputs: nobody is to feed them.
stored = {t.name[:-3] for t in graph.initializer if t.name.endswith("_16")}
inputs = [i for i in graph.input if i.name not in stored]
del graph.input[:]
graph.input.extend(inputs)
model.ir_version = 4
onnx.checker.check_model(model)
onnx.save(model, sys.argv[2])
