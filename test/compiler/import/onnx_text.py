#!/usr/bin/python3
"""Writes an ONNX model from text in a test: onnx_text.py TEST NAME OUT.onnx

The text is in ONNX's own syntax (onnx.parser), between a line `=== NAME
opset=13` and the next `===`. The header with the operator set is added. After
`=== NAME python` comes Python that sets `model`, for models that the syntax
refuses.
"""
import re
import sys

import onnx
import onnx.parser

test, name, out = sys.argv[1:]
head, body = None, []
for line in open(test):
    if line.startswith("==="):
        words = line.split()[1:]
        if head:
            break
        if words and words[0] == name:
            head = words[1:]
    elif head:
        body.append(line)
if not head:
    sys.exit(f"no model '{name}' in {test}")
text = "".join(body)
if head[0] == "python":
    from onnx import TensorProto, helper, numpy_helper

    scope = dict(
        onnx=onnx,
        helper=helper,
        TensorProto=TensorProto,
        numpy_helper=numpy_helper,
    )
    exec(text, scope)
    model = scope["model"]
else:
    opset = int(re.fullmatch(r"opset=(\d+)", head[0]).group(1))
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}, "local" : 1, '
        f'"com.microsoft" : 1, "com.microsoft.nchwc" : 1, "ai.onnx.ml" : 5]>'
        f"\n{text}"
    )
with open(out, "wb") as file:
    file.write(model.SerializeToString())
