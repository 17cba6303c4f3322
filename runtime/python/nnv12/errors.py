"""The error of this package."""
from enum import IntEnum
from typing import Any, Optional


class Status(IntEnum):
    """Kinds of error: nnv12_status of nnv12.h."""

    INVALID_ARGUMENT = 1  # the caller's mistake
    IO = 2  # the system could not open, read or map
    BAD_BUNDLE = 3  # malformed, truncated or foreign bytes
    UNSUPPORTED = 4  # not for this runtime or this CPU
    UNTRUSTED = 5  # a digest or the signature does not match
    OUT_OF_MEMORY = 6
    BUSY = 7  # the session runs already
    TIMED_OUT = 8  # the deadline or the timeout is over


class Error(RuntimeError):
    """One line that says what was found and what was expected.

    `status` says which kind of error it is. It is None where a tool failed, or
    where the library or a tool is missing.
    """

    def __init__(self, message: str, status: Optional[int] = None) -> None:
        super().__init__(message)
        try:
            self.status = None if status is None else Status(status)
        except ValueError:  # a newer library's
            self.status = None


def wrong(message: str) -> Error:
    """The error of a wrong argument."""
    return Error(message, Status.INVALID_ARGUMENT)


def shown(value: Any) -> str:
    """A wrong value as a message shows it: on one line, and short."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:80] + "..."
