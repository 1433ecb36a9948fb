"""A bar for what takes minutes, on a terminal; elsewhere, a line at the start is all. Pure but for the stream.

Not here: what it counts (`downloads.py`, `pull.py`).
"""

from typing import TextIO

WIDTH = 30
MIB = 1 << 20

STEPS_MAX = 1000
"""A bar is drawn again when it has grown by a thousandth: slow lines must not drown in it."""


class Bar:
    """Shows how far something is; `total` None: nobody knows how much there is."""

    def __init__(self, stream: TextIO, what: str) -> None:
        self._stream, self._what = stream, what
        self._is_seen = stream.isatty()
        self._drawn = ""
        self._step = -1

    def show(self, done: int, total: int | None) -> None:
        """Draw it, if it looks different now."""
        step = done // MIB if not total else done * STEPS_MAX // total
        if not self._is_seen or step == self._step:
            return
        self._step = step
        line = f"  {self._what}  {bar(done, total)}"
        self._stream.write("\r" + line.ljust(len(self._drawn)))
        self._stream.flush()
        self._drawn = line

    def end(self) -> None:
        """Leave the line."""
        if self._drawn:
            self._stream.write("\n")
            self._drawn = ""


def bar(done: int, total: int | None) -> str:
    """Give the bar as text."""
    if not total:
        return f"{done / MIB:.0f} MiB"
    share = min(done / total, 1.0)
    full = int(WIDTH * share)
    return f"[{'#' * full}{'.' * (WIDTH - full)}] {100 * share:3.0f} %  {done / MIB:.0f} of {total / MIB:.0f} MiB"
