"""Exports the models of this folder, and records ONNX Runtime's results.

    export.py FOLDER

Writes into FOLDER. Needs PyTorch, torchvision, ONNX and ONNX Runtime. The
classifier is exported by the text of docs/getting-started.md.
"""
import os
import re
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch

import chunks
import streams

HERE = Path(__file__).resolve().parent
STEPS = 100


def without_traces(path):
    """Takes out the names of files and lines of the program that exported."""
    model = onnx.load(path)
    for node in model.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    for value in [*model.graph.input, *model.graph.output]:
        del value.metadata_props[:]
    del model.graph.value_info[:]
    onnx.save(model, path)


def export(model, x, path, dynamo):
    """One step of a stream."""
    more = {"external_data": False} if dynamo else {}
    torch.onnx.export(
        model.eval(),
        (torch.from_numpy(x), *model.states()),
        path,
        dynamo=dynamo,
        input_names=model.inputs,
        output_names=model.outputs,
        **more,
    )
    without_traces(path)


def record(model, inputs, path):
    """All outputs of ONNX Runtime, step by step: an array each."""
    session = onnxruntime.InferenceSession(path)
    states = [state.numpy() for state in model.states()]
    results = []
    for x in inputs:
        feeds = dict(zip(model.inputs, [x, *states]))
        results.append(session.run(model.outputs, feeds))
        states = results[-1][1:]
    # Long states at the last step alone.
    return {
        name: np.stack(values) if values[0].size < 64 else values[-1]
        for name, values in zip(model.outputs, zip(*results))
    }


def stream(name, model, inputs, dynamo=True):
    path = f"{name}.onnx"
    export(model, inputs[0], path, dynamo)
    np.savez_compressed(f"{name}.npz", **record(model, inputs, path))
    print(name, os.path.getsize(path), os.path.getsize(f"{name}.npz"))


def classifier():
    page = (HERE.parents[1] / "docs" / "getting-started.md").read_text()
    block = re.search(r"```python\n([^`]*torch.onnx.export.*?)```", page, re.S)
    Path("classifier.txt").write_text(block[1])
    exec(block[1])
    os.rename("model.onnx", "classifier.onnx")
    without_traces("classifier.onnx")
    shape = 1, 3, 64, 64
    x = np.random.RandomState(45).random_sample(shape).astype(np.float32)
    session = onnxruntime.InferenceSession("classifier.onnx")
    np.save("classifier.npy", session.run(None, {"x": x})[0])


def main():
    os.chdir(sys.argv[1])
    classifier()
    torch.manual_seed(43)
    stream("detector", streams.Detector(), [*chunks.detector_inputs(STEPS)])
    stream("conformer", streams.Conformer(), [*chunks.conformer_inputs(STEPS)])


if __name__ == "__main__":
    main()
