#!/usr/bin/python3
"""Makes a failing graph small while it fails in the same way.

    reduce.py build/graphs/1234              writes build/graphs/1234.small
    reduce.py FOLDER -o SMALL --plan K --target x86-64-v3

FOLDER is one that run.py left: a case and failure.json, which names plans,
target and class. Nodes are dropped by making a value an output and forgetting
what follows it, by making it an input (of the value that ONNX Runtime computes
there) and forgetting what leads to it, and by passing a node's operand on in
its place; until none of it can be done.
"""
import argparse
import copy
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from onnx import ModelProto, ValueInfoProto, helper

import generate
import run as runner
import trial
from trial import Failure, Setup


class Model:
    """A graph that can be cut: an ONNX model and its inputs."""

    def __init__(self, proto, feeds):
        self.proto, self.feeds = proto, dict(feeds)

    @classmethod
    def load(cls, folder):
        proto = ModelProto()
        proto.ParseFromString((folder / "model.onnx").read_bytes())
        note = json.loads((folder / "case.json").read_text())
        return cls(
            proto,
            {i["name"]: np.load(folder / i["file"]) for i in note["inputs"]},
        )

    def copy(self):
        return Model(copy.deepcopy(self.proto), self.feeds)

    def save(self, folder):
        names = [v.name for v in self.proto.graph.input]
        generate.write_case(
            folder, self.proto, [(n, self.feeds[n]) for n in names]
        )

    def results(self):
        """Names of what nodes compute, constants left out."""
        return [
            o
            for n in self.proto.graph.node
            if n.op_type != "Constant"
            for o in n.output
            if o
        ]

    def prune(self):
        """Drops nodes and constants that no output needs."""
        graph = self.proto.graph
        wanted = {o.name for o in graph.output}
        kept = []
        for node in reversed(graph.node):
            if wanted & set(node.output):
                kept.append(node)
                wanted |= set(node.input)
        kept.reverse()
        for field, values in (
            ("node", kept),
            ("input", [v for v in graph.input if v.name in wanted]),
            ("initializer", [t for t in graph.initializer if t.name in wanted]),
        ):
            values = [copy.deepcopy(v) for v in values]
            del getattr(graph, field)[:]
            getattr(graph, field).extend(values)
        self.feeds = {v.name: self.feeds[v.name] for v in graph.input}
        return self

    # Each of these gives a smaller model, or None.

    def only_outputs(self, names):
        smaller = self.copy()
        outputs = [o for o in smaller.proto.graph.output if o.name in names]
        del smaller.proto.graph.output[:]
        smaller.proto.graph.output.extend(outputs)
        return smaller.prune() if outputs else None

    def ending_at(self, name, values):
        smaller = self.copy()
        del smaller.proto.graph.output[:]
        smaller.proto.graph.output.append(described(name, values[name]))
        return smaller.prune()

    def beginning_at(self, names, values):
        """The values become inputs."""
        smaller = self.copy()
        graph = smaller.proto.graph
        if set(names) & {o.name for o in graph.output}:
            return None
        for name in names:
            for node in graph.node:
                for i, output in enumerate(node.output):
                    if output == name:
                        node.output[i] = (
                            f"{name}_unused" if len(node.output) > 1 else ""
                        )
            graph.input.append(described(name, values[name]))
            smaller.feeds[name] = values[name]
        return smaller.prune()

    def without(self, operand, output, values):
        """An operand of the same shape and type instead of a node's result."""
        known = {**values, **self.feeds}
        a, b = known.get(operand), known.get(output)
        if (
            a is None
            or b is None
            or a.shape != b.shape
            or a.dtype != b.dtype
            or output in {o.name for o in self.proto.graph.output}
        ):
            return None
        smaller = self.copy()
        for node in smaller.proto.graph.node:
            for i, name in enumerate(node.input):
                if name == output:
                    node.input[i] = operand
        return smaller.prune()

    def without_operand(self, node):
        """Without the last, optional operand: a bias."""
        if (
            node.op_type not in ("Conv", "ConvTranspose", "Gemm")
            or len(node.input) < 3
        ):
            return None
        smaller = self.copy()
        del smaller.proto.graph.node[
            list(self.proto.graph.node).index(node)
        ].input[2]
        return smaller.prune()

    def size(self):
        return len(
            [n for n in self.proto.graph.node if n.op_type != "Constant"]
        )


def described(name, array):
    type = next(t for t, n in generate.TYPES.values() if n == array.dtype.type)
    return helper.make_tensor_value_info(name, type, array.shape)


class Reducer:
    def __init__(self, args, tools, answers, setup):
        self.args, self.tools, self.answers, self.setup = (
            args,
            tools,
            answers,
            setup,
        )
        self.folder = Path(tempfile.mkdtemp(prefix="reduce-"))
        self.trials = 0

    def failure(self, model):
        """How it fails; None also where ONNX Runtime refuses the model."""
        self.trials += 1
        case = self.folder / "case"
        shutil.rmtree(case, ignore_errors=True)
        model.save(case)
        if self.answers.modules:
            try:
                self.answers.ask(case)
                runner.usual_size(case)
            except (runner.ToolError, Failure):
                return None
        for _ in range(self.args.attempts):
            try:
                trial.try_case(
                    self.tools, case, self.folder / "work", self.setup
                )
            except Failure as failure:
                return failure
        return None

    def values(self, model):
        """The values that ONNX Runtime computes on the way."""
        probe = model.copy()
        known = {o.name for o in probe.proto.graph.output}
        probe.proto.graph.output.extend(
            ValueInfoProto(name=n) for n in probe.results() if n not in known
        )
        case = self.folder / "probe"
        shutil.rmtree(case, ignore_errors=True)
        probe.save(case)
        names = self.answers.ask(case)
        return {
            name: np.load(case / f"output_{i}.npy")
            for i, name in enumerate(names)
        }

    # Ways to make a model smaller: pairs of a name and a function that tries
    # one.

    def fewer_outputs(self, model, values):
        names = [o.name for o in model.proto.graph.output]
        for name in names if len(names) > 1 else ():
            yield name, lambda name=name: model.only_outputs({name})
        for name in names if len(names) > 2 else ():
            yield f"not {name}", lambda name=name: model.only_outputs(
                set(names) - {name}
            )

    def earlier_ends(self, model, values):
        names = [o.name for o in model.proto.graph.output]
        for name in model.results():
            if name in values and [name] != names:
                yield name, lambda name=name: model.ending_at(name, values)

    def later_beginnings(self, model, values):
        results = model.results()
        for node in reversed(model.proto.graph.node):
            operands = sorted(
                {n for n in node.input if n in results and n in values}
            )
            if operands:
                yield tuple(
                    operands
                ), lambda operands=operands: model.beginning_at(
                    operands, values
                )
        for name in reversed(results):
            if name in values:
                yield name, lambda name=name: model.beginning_at([name], values)

    def fewer_nodes(self, model, values):
        for node in reversed(model.proto.graph.node):
            for operand in node.input:
                for output in node.output:
                    yield (
                        operand,
                        output,
                    ), lambda a=operand, b=output: model.without(a, b, values)
            yield tuple(node.output), lambda node=node: model.without_operand(
                node
            )

    def reduce(self, model, failure):
        """Each way as long as it helps, then all once more, until none does."""
        before = None
        while before != weight(model):
            before = weight(model)
            for way in (
                self.fewer_outputs,
                self.earlier_ends,
                self.later_beginnings,
                self.fewer_nodes,
            ):
                tried, found = set(), True
                while found:
                    found = None
                    values = self.values(model) if self.answers.modules else {}
                    for key, make in way(model, values):
                        if key in tried:
                            continue
                        tried.add(key)
                        candidate = make()
                        if candidate is None or weight(candidate) >= weight(
                            model
                        ):
                            continue
                        found = self.failure(candidate)
                        if found and found.alike(failure):
                            model, failure = candidate, found
                            print(
                                f"{model.size()} nodes after "
                                f"{self.trials} trials: {failure}",
                                flush=True,
                            )
                            break
                        found = None
        return model, failure


def weight(model):
    graph = model.proto.graph
    return (
        model.size(),
        len(graph.output),
        sum(len(n.input) for n in graph.node),
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "-o",
        dest="output",
        type=Path,
        metavar="DIR",
        help="where the small case goes (FOLDER.small)",
    )
    parser.add_argument(
        "--attempts",
        type=int,
        default=1,
        metavar="N",
        help="how often to try a graph that may fail but now and then (1)",
    )
    runner.add_tool_arguments(parser)
    args = parser.parse_args()
    note = (
        json.loads((args.folder / "failure.json").read_text())
        if (args.folder / "failure.json").is_file()
        else {}
    )
    setup = Setup(
        args.plan or note.get("plans"),
        args.target or note.get("target"),
        args.plan_threads or note.get("planned", 2),
        args.threads,
        note.get("split") or args.split,
    )
    if not setup.plans or not setup.target:
        sys.exit(
            f"reduce.py: error: {args.folder}: found no failure.json, "
            "expected one, or --plan and --target"
        )
    modules, missing = runner.peers(args)
    if not modules:
        print(
            f"without ONNX Runtime ({missing}) "
            "only whole outputs can be dropped"
        )
    reducer = Reducer(
        args, runner.toolbox(args), runner.Answers(modules), setup
    )
    model = Model.load(args.folder)
    try:
        failure = reducer.failure(model)
        if not failure:
            sys.exit(
                f"reduce.py: error: {args.folder}: does not fail with {setup}"
            )
        print(f"{model.size()} nodes: {failure}")
        # One plan is enough, unless it is two that differ.
        if failure.plan:
            setup.plans = [failure.plan]
        model, failure = reducer.reduce(model, failure)
        output = args.output or args.folder.with_name(
            f"{args.folder.name}.small"
        )
        shutil.rmtree(output, ignore_errors=True)
        model.save(output)
        if modules:
            reducer.answers.ask(output.resolve())
        runner.write_failure(output, failure, setup)
        print(generate.listing(model.proto))
        print(f"written to {output}")
    finally:
        shutil.rmtree(reducer.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
