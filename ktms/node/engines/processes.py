"""Programs of this machine and the words they were started with, as `ps` lists them to any user.

What an engine's own pages do not tell stands there. Command lines may hold secrets of others, so nothing of them
is kept but those of engines, and none is ever logged. Not here: what their options mean (each engine's file).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ktms.node.machine import Machine

PS = ("ps", "-axww", "-o", "pid=,ppid=,args=")
"""Understood by macOS and Linux alike; `ww`: command lines are not cut."""

PS_WITHIN_S = 1.5
"""It takes milliseconds; a look has 4 s in all."""

LINES_MAX = 20_000
"""No machine runs as many programs."""


@dataclass(frozen=True, slots=True)
class Process:
    """A running program. `words`: its command line, cut at spaces."""

    pid: int
    parent: int
    words: tuple[str, ...]

    @property
    def program(self) -> str:
        """The name of the program without its folders."""
        return self.words[0].rpartition("/")[2]

    def option(self, *names: str) -> str | None:
        """Give the value of an option, as the last of its spellings says; None where it is not given."""
        found = None
        for at, word in enumerate(self.words):
            name, equals, value = word.partition("=")
            if name in names:
                found = value if equals else next(iter(self.words[at + 1 : at + 2]), None)
        return found

    def count(self, *names: str) -> int | None:
        """Give the value of an option that is a number."""
        value = self.option(*names)
        return int(value) if value is not None and value.isdecimal() and len(value) <= 9 else None

    def says(self, *words: str) -> bool:
        """Whether one of these words stands on its command line."""
        return not set(words).isdisjoint(self.words)


def processes(machine: Machine, is_wanted: Callable[[Process], bool]) -> tuple[Process, ...]:
    """List the wanted ones; it waits for `ps`, so never in an event loop."""
    ran = machine.run(PS, within_s=PS_WITHIN_S)
    return tuple(filter(is_wanted, _read(ran.out.splitlines()[:LINES_MAX]))) if ran.code == 0 else ()


def listening_at(found: Iterable[Process], port: int | None, usual_port: int) -> Process | None:
    """Give the one that was told to listen there; None where none was, or two of them were."""
    there = [one for one in found if (one.count("--port") or usual_port) == port]
    return there[0] if len(there) == 1 else None


def _read(lines: Iterable[str]) -> Iterable[Process]:
    for line in lines:
        pid, _, rest = line.strip().partition(" ")
        parent, _, command = rest.strip().partition(" ")
        words = tuple(command.split())
        if pid.isdecimal() and parent.isdecimal() and words:
            yield Process(int(pid), int(parent), words)
