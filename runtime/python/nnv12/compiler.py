"""Compiles a model by nnv12c, which runs as a process of its own."""
import operator
import os
import sys
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

from . import _library
from .bundle import count, text
from .errors import Error, shown, wrong

if TYPE_CHECKING:
    import subprocess

_PATIENCE = 10  # seconds that nnv12c has to clean up


def _shape(name: str, value: Any) -> str:
    """--shape's value of a tensor or of a named dimension."""
    try:
        if hasattr(value, "__index__"):
            extents = [operator.index(value)]
        else:
            extents = [operator.index(extent) for extent in value]
    except TypeError:
        raise wrong(
            f"shapes: {name}: found {shown(value)}, expected whole numbers"
        ) from None
    return f"--shape={name}={'x'.join(map(str, extents)) or 'scalar'}"


def compile(
    model: Union[str, "os.PathLike[str]"],
    output: Union[str, "os.PathLike[str]", None] = None,
    *,
    target: Union[str, Sequence[str], None] = None,
    shapes: Optional[Mapping[str, Any]] = None,
    threads: Optional[int] = None,
    options: Sequence[str] = (),
) -> str:
    """Compiles an ONNX model to a bundle and returns the bundle's path.

    model: the path of an .onnx file.
    output: where to write; None: the model's name with .nnv. The file appears
        whole or not at all. One that is there is replaced.
    target: the CPUs to compile for, such as "host", "x86-64-v3" or
        ["x86-64-v4", "aarch64"]. None: this machine's CPU.
    shapes: by an input's name its shape, () of a scalar; or by a dimension's
        name its size. For models that leave them open.
    threads: of a session that is not told otherwise; None: one a CPU.
    options: more options of nnv12c, such as ["--mode=cold"]:
        `nnv12c --help` has them all.

    Raises Error with nnv12c's line. Ctrl-C ends nnv12c and raises
    KeyboardInterrupt.
    """
    if output is None:
        output = os.path.splitext(os.fspath(model))[0] + ".nnv"
    # A name that begins with "-" would be an option.
    source = text("model", model)
    if source.startswith(b"-"):
        source = b"./" + source
    command = [_library.tool("nnv12c"), source, "--quiet"]
    command += [b"-o", text("output", output)]
    if target is not None:
        listed = target if isinstance(target, str) else ",".join(target)
        command.append(f"--target={listed}")
    for name, value in (shapes or {}).items():
        command.append(_shape(name, value))
    if threads is not None:
        command.append(f"--threads={count('threads', threads)}")
    if isinstance(options, str):
        raise wrong(
            f"options: found {shown(options)}, expected a list of options"
        )
    command += options
    messages = run_tool(command)
    sys.stderr.write(messages)
    return os.fspath(output)


class _HeldInterrupt:
    """While this is entered, Ctrl-C waits for `deliver`: it must not come
    between the start of a child and the moment from which we can end it."""

    def __init__(self) -> None:
        self.came = False

    def __enter__(self) -> None:
        import signal
        import threading

        self.before: Any = None
        # Only the main thread gets KeyboardInterrupt. A handler that is not
        # Python's cannot be put back.
        if threading.current_thread() is threading.main_thread():
            self.before = signal.getsignal(signal.SIGINT)
            if callable(self.before):
                signal.signal(signal.SIGINT, self._note)

    def _note(self, *_: Any) -> None:
        self.came = True

    def __exit__(self, *_: Any) -> None:
        import signal

        if callable(self.before):
            signal.signal(signal.SIGINT, self.before)

    def deliver(self) -> None:
        import signal

        if self.came:
            signal.raise_signal(signal.SIGINT)


def run_tool(command: Sequence[Any], stdout: Optional[int] = None) -> str:
    """Runs a tool of ours to its end. Returns its messages, or its output
    where `stdout` is subprocess.PIPE. Raises Error with its last line if it
    fails. Ends it before an exception leaves this function."""
    # These take longer to import than all of this package.
    import signal
    import subprocess

    name = os.path.basename(command[0])
    held = _HeldInterrupt()
    try:
        with held:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stdout or subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError) and os.path.exists(command[0]):
            # Linux says this of a program whose loader is missing.
            error = OSError("found no glibc of its processor, expected one")
        raise Error(f"{name}: cannot start: {error}") from None
    try:
        held.deliver()
        output, messages = child.communicate()
    except BaseException:
        _end(child)
        raise
    printed = messages.decode("utf-8", "replace")
    if child.returncode:
        lines = [line for line in printed.splitlines() if line.strip()]
        if child.returncode == -signal.SIGINT:
            raise KeyboardInterrupt
        if child.returncode < 0:
            raise Error(f"{name}: ended by signal {-child.returncode}")
        raise Error(
            lines[-1]
            if lines
            else f"{name}: exit status {child.returncode}, and no message"
        )
    return printed if output is None else output.decode("utf-8", "replace")


def _end(child: "subprocess.Popen[bytes]") -> None:
    """Ends nnv12c, which removes its temporary files first. A second Ctrl-C
    does not wait for that."""
    child.terminate()
    try:
        child.wait(_PATIENCE)
    except BaseException:
        child.kill()
        child.wait()
    finally:
        for pipe in (child.stdout, child.stderr):
            if pipe:
                pipe.close()
