"""Runs neural networks that must answer at once.

    import nnv12

    nnv12.compile("model.onnx", "model.nnv")
    with nnv12.Session("model.nnv") as session:
        print(session.inputs, session.outputs)
        results = session.run({"x": image})

`compile` turns an ONNX model into a bundle, one file of native code and
weights. `Session` runs it. NumPy's arrays are used where it is installed;
without it any buffers are. `image` and `audio` make inputs of files.
docs/python.md is the way through this package.
"""
from ._tensors import TensorInfo
from .bundle import Bundle
from .compiler import compile
from .errors import Error, Status
from .media import audio, image
from .profile import KINDS as RECORD_KINDS
from .profile import Profile, ProfileRow, Record
from .session import Session

__all__ = [
    "Bundle",
    "Error",
    "Profile",
    "ProfileRow",
    "RECORD_KINDS",
    "Record",
    "Session",
    "Status",
    "TensorInfo",
    "audio",
    "compile",
    "image",
]
__version__ = "0.1.0"
