"""The port to the machine: what installer and doctor ask it and do to it.

Recorded outputs of real machines stand behind it in tests, so that macOS is tested on Linux. Not here: the real
one (`this_machine.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

RUN_S = 20.0
"""No command that we ask takes as long; those that do are given their own time."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that has ended; 127: there is none of this name, 124: it did not end in time."""

    code: int
    out: str = ""
    err: str = ""


class Machine(Protocol):
    """One machine, as its ordinary user sees it."""

    @property
    def system(self) -> str:
        """Say what it runs, in lower case: `darwin`, `linux`."""
        ...

    @property
    def variables(self) -> Mapping[str, str]:
        """Give the environment."""
        ...

    def run(self, words: Sequence[str], within_s: float = RUN_S, stdin: str = "") -> Ran:
        """Run a command to its end; absolute paths or names found on PATH; never a shell."""
        ...

    def read(self, path: Path) -> str | None:
        """Give the text of a file; None where there is none or it is not ours to read."""
        ...

    def write(self, path: Path, text: str, mode: int = 0o644) -> None:
        """Write a file whole or not at all, its folders before it.

        Raises:
            OSError: with the path.
        """
        ...
