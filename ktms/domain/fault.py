"""Where an error that nobody foresaw came from, in words that may be logged.

Never its message, which nobody has checked for secrets: only its kind, and lines of code.
Not here: errors that are foreseen (`errors.py`).
"""

from collections.abc import Iterator
from pathlib import PurePath
from types import TracebackType

OURS = "ktms"


def fault_of(error: BaseException | None) -> dict[str, str]:
    """Tell of an error, the first of a group, by facts for the log.

    `kind` is its class, `where` our own last line on the way to it, after the last of all if that is another.
    """
    if error is None:
        return {"kind": "unknown", "where": "unknown"}
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = tuple(_frames(error.__traceback__))
    ours = [line for is_ours, line in frames if is_ours]
    last = ours[-1:] + [line for is_ours, line in frames[-1:] if not is_ours]
    return {"kind": type(error).__name__, "where": " for ".join(reversed(last)) or "unknown"}


def _frames(trace: TracebackType | None) -> Iterator[tuple[bool, str]]:
    """Give the lines on the way to an error, the outermost first, and whether each is of our own code."""
    while trace is not None:
        path = PurePath(trace.tb_frame.f_code.co_filename)
        yield OURS in path.parts, f"{'/'.join(path.parts[-2:])}:{trace.tb_lineno}"
        trace = trace.tb_next
