#!/usr/bin/python3
"""Writes random graphs of ordinary operators: the same for the same seed on
every machine.

    generate.py SEED FOLDER     writes FOLDER/model.onnx, FOLDER/input_I.npy
    generate.py SEED            prints the graph

A graph grows piece by piece: a value is chosen among those that there are,
rather a late one, and then a piece that fits it (pieces_*.py): a layer, or some
layers as models have them. Its values stay of ordinary size, and nothing in it
is decided by the last bit of a sum, so that every correct engine gives nearly
the same results.
"""
import argparse
import json
import sys
from pathlib import Path

import numpy as np
from onnx import helper, numpy_helper

import pieces_any
import pieces_detection
import pieces_image
import pieces_microsoft
import pieces_more
import pieces_qdq
import pieces_quantised
import pieces_sequence
import pieces_shape
from graph import TYPES, Graph

IR_VERSION = 8


def first_values(graph):
    """One to three inputs of a kind of model."""
    draw = graph.draw
    kind = draw.weighted(
        [(12, "image"), (2, "signal"), (1, "volume"), (7, "rows"), (1, "table")]
    )
    batch = draw.weighted([(8, 1), (1, 2), (1, 3)])
    if kind == "image":
        channels = draw.pick([1, 3, 3, 3, *pieces_image.CHANNELS, 128, 240])
        most = min(
            40, int((Graph.MAX_ELEMENTS / (2 * batch * channels)) ** 0.5)
        )
        height = draw.between(3, most)
        shape = (
            batch,
            channels,
            height,
            height if draw.chance(0.4) else draw.between(3, most),
        )
    elif kind == "signal":
        channels = draw.pick(pieces_image.CHANNELS)
        shape = (
            batch,
            channels,
            draw.between(
                5, min(130, Graph.MAX_ELEMENTS // (2 * batch * channels))
            ),
        )
    elif kind == "volume":
        shape = (
            batch,
            draw.pick(pieces_image.CHANNELS[:14]),
            *(draw.between(3, 8) for _ in range(3)),
        )
    elif kind == "rows":
        shape = (
            batch,
            draw.between(1, 40),
            draw.pick([4, 8, 12, 16, 17, 20, 24, 32, 33, 48, 64]),
        )
    else:
        shape = (draw.between(1, 20), draw.between(2, 100))
    graph.input(shape)
    for _ in range(draw.weighted([(7, 0), (2, 1), (1, 2)])):
        graph.input(shape)


def tastes(draw):
    """How much more or less of each piece a graph has: all of one kind find
    other faults than some of each."""
    tables = (
        pieces_any.PIECES,
        pieces_image.PIECES,
        pieces_sequence.PIECES,
        pieces_more.PIECES,
        pieces_more.IMAGE_PIECES,
        pieces_microsoft.PIECES,
        pieces_detection.PIECES,
        pieces_quantised.PIECES,
        pieces_qdq.PIECES,
    )
    return {
        piece: draw.pick([0.1, 0.5, 1, 1, 1, 2, 6])
        for table in tables
        for _, piece in table
    }


def fitting_pieces(graph, x, taste):
    if not x.is_float:
        return pieces_any.MOVES if x.rank else [(1, pieces_shape.expand)]
    if not x.rank:
        return pieces_any.SCALAR_PIECES
    rows = pieces_any.PIECES + pieces_more.PIECES + pieces_detection.PIECES
    if 3 <= x.rank <= 5:
        weight = 2 if x.rank != 3 else 0.7
        rows += [
            (w * weight, piece)
            for w, piece in pieces_image.PIECES + pieces_more.IMAGE_PIECES
        ]
    if x.rank >= 2:
        weight = {2: 1, 3: 2.5}.get(x.rank, 0.2)
        rows += [(w * weight, piece) for w, piece in pieces_sequence.PIECES]
    if graph.microsoft:
        rows += pieces_microsoft.PIECES + pieces_quantised.PIECES
        rows += pieces_qdq.PIECES
    return [(w * taste[piece], piece) for w, piece in rows]


def outputs_of(graph):
    """All values that no node takes, and some that a node takes; now and then a
    value twice, or an input."""
    draw = graph.draw
    computed = [
        v for v in graph.values if v not in [i for i, _ in graph.inputs]
    ]
    ends = [v for v in computed if v.name not in graph.used]
    if len(ends) > 5 and draw.chance(0.5):
        ends = draw.sample(ends, 5)  # the rest is dead
    taken = [v for v in computed if v.name in graph.used and draw.chance(0.08)]
    outputs = draw.shuffled(ends + taken[:3])
    for chance, source in (
        (0.08, outputs and draw.pick(outputs)),
        (0.08, graph.inputs[0][0]),
    ):
        if source and draw.chance(chance):
            outputs.append(
                source
                if draw.chance(0.5)
                else graph.node(
                    "Identity", [source], type=source.type, keep=False
                )
            )
    return outputs


def make(seed):
    """The model, and its inputs as pairs of name and array."""
    graph = Graph(seed)
    draw = graph.draw
    taste = tastes(draw)
    # A model that an optimiser has seen, or not.
    graph.microsoft = draw.chance(0.3)
    first_values(graph)
    graph.left = draw.weighted(
        [
            (2, draw.between(3, 6)),
            (4, draw.between(5, 14)),
            (3, draw.between(12, 25)),
            (1, draw.between(20, 40)),
        ]
    )
    for _ in range(200):
        if graph.left <= 0:
            break
        x = graph.choose()
        draw.weighted(fitting_pieces(graph, x, taste))(graph, x)
    outputs = outputs_of(graph) + graph.counted
    taken = {name for node in graph.nodes for name in node.input}
    taken |= {v.name for v in outputs}
    inputs = [
        (v, data) for v, data in graph.inputs if v.name in taken
    ] or graph.inputs[:1]

    def described(values):
        return [
            helper.make_tensor_value_info(v.name, TYPES[v.type][0], v.shape)
            for v in values
        ]

    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            f"seed{seed}",
            described(v for v, _ in inputs),
            described(outputs),
            graph.initializers,
        ),
        opset_imports=[
            helper.make_opsetid("", graph.opset),
            *[
                helper.make_opsetid(domain, 1)
                for domain in sorted({node.domain for node in graph.nodes})
                if domain
            ],
        ],
        ir_version=IR_VERSION,
    )
    return model, [(v.name, data) for v, data in inputs]


def write_case(folder, model, inputs):
    """model.onnx, input_I.npy and a note of them, as `nnv12-run --expect` takes
    them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    note = []
    for i, (name, data) in enumerate(inputs):
        np.save(folder / f"input_{i}.npy", data)
        note.append(
            {"name": name, "dims": list(data.shape), "file": f"input_{i}.npy"}
        )
    (folder / "case.json").write_text(
        json.dumps({"inputs": note}, indent=1) + "\n"
    )


def listing(model):
    """The graph as text, a node a line."""
    stored = {t.name: list(t.dims) for t in model.graph.initializer}
    lines = [f"opset {model.opset_import[0].version}"]
    for word, values in (
        ("input", model.graph.input),
        ("output", model.graph.output),
    ):
        for v in values:
            kind = v.type.tensor_type
            shape = [d.dim_value for d in kind.shape.dim]
            lines.append(f"{word} {v.name} {shape} {kind.elem_type}")
    for node in model.graph.node:
        attributes = {
            a.name: helper.get_attribute_value(a)
            for a in node.attribute
            if a.name != "value"
        }
        operands = ", ".join(
            f"{n}{stored[n]}" if n in stored else n or "-" for n in node.input
        )
        results = ", ".join(node.output)
        line = f"{results} = {node.op_type}({operands}) {attributes or ''}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("folder", type=Path, nargs="?")
    args = parser.parse_args()
    model, inputs = make(args.seed)
    if args.folder:
        write_case(args.folder, model, inputs)
    else:
        print(listing(model))
    return 0


if __name__ == "__main__":
    sys.exit(main())
