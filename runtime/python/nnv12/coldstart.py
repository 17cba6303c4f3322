"""A process that measures its own first result, for command.py.

    python3 -m nnv12.coldstart ENGINE MODEL THREADS INPUT...

ENGINE: nnv12, with a bundle, or onnxruntime, with an ONNX model. INPUT:
NAME=ELEMENT=EXTENTS=FILE, a file of raw bytes each. Prints one line of JSON:
seconds of making the session and of the first run, and of nnv12 the parts of
the first run.
"""
import json
import sys
import time
from typing import Any, Dict, Tuple


def ort_session(model: str, threads: int) -> Any:
    """A session of ONNX Runtime with so many threads; 0: its default."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads:
        options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"]
    )


def ort_array(element: str, shape: Tuple[int, ...], content: Any) -> Any:
    """Raw bytes as an array."""
    import numpy as np

    from ._tensors import dtypes_of

    return np.frombuffer(content, dtypes_of(element)[0]).reshape(shape)


def first_run_parts(session: Any) -> Dict[str, float]:
    """Seconds of the calling thread's work in the first run."""
    from .profile import KINDS, Record

    parts = {"compute": 0.0, "weights": 0.0}
    records = session.records()
    if not isinstance(records, list):
        records = [Record(*fields) for fields in records.tolist()]
    for record in records:
        kind = KINDS[record.kind] if record.kind < len(KINDS) else ""
        if record.run or record.thread:
            continue
        if kind in ("execute", "gpu submit"):
            parts["compute"] += record.duration_ns / 1e9
        elif kind == "wait":
            parts["weights"] += record.duration_ns / 1e9
    return parts


def main(engine: str, model: str, threads: str, *inputs: str) -> None:
    feeds: Dict[str, Any] = {}
    if engine == "onnxruntime":
        import onnxruntime  # noqa: F401

    for text in inputs:
        name, element, extents, path = text.rsplit("=", 3)
        shape = tuple(int(e) for e in extents.split("x") if e)
        with open(path, "rb") as file:
            content = file.read()
        if engine == "onnxruntime":
            feeds[name] = ort_array(element, shape, content)
        else:
            from ._tensors import view_of

            feeds[name] = view_of(element, content)
    import nnv12

    clock = time.perf_counter
    start = clock()
    session: Any
    if engine == "onnxruntime":
        session = ort_session(model, int(threads))
    else:
        session = nnv12.Session(
            model, threads=int(threads), record="operation", record_runs=1
        )
    made = clock()
    session.run(None, feeds)
    end = clock()
    result = {"session": made - start, "run": end - made}
    if engine == "nnv12":
        result.update(first_run_parts(session))
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
