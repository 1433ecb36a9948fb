"""A program that the system keeps running for this user, said without the system's own words.

Not here: those words (`launchd.py`, `systemd.py`).
"""

from dataclasses import dataclass
from pathlib import Path

NODE, OLLAMA = "node", "ollama"
"""The two there are: the agent, and the Ollama that was not running before."""

RESTART_S = 10
"""After each end; launchd lets no program start more often by default."""

FILES_MAX = 4096
"""Two descriptors to a call, at most 1024 calls; no system's hard limit is lower."""


@dataclass(frozen=True, slots=True)
class Background:
    """One program. `words`: absolute paths; `stops_in_s`: what it gets to end by itself.

    `log` takes what it writes where the system keeps no journal.
    """

    name: str
    what: str
    words: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    stops_in_s: int
    log: Path


class ServiceFailed(Exception):
    """The system does not run the program; the message names the command and what it said."""
