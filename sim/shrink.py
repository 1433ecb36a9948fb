"""The smallest edit of a world that still fails: faults left out, then milder, then calls left out, then no noise.

Each step keeps an edit only when the world fails with it as before, so the result is true at any moment and more
attempts only make it smaller. What one round leaves may allow more in the next; the last one changes nothing.
Not here: how a world is run, and what "as before" means (the caller's `fails`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from sim.draft import Draft
from sim.edit import Edit
from sim.faults.plan import Fault

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The smallest edit found. `attempts` worlds were run; `whole` is false when no more were allowed."""

    edit: Edit
    attempts: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Step:
    """How far shrinking has come: after so many attempts this is the smallest edit."""

    attempts: int
    faults: int
    calls: int
    edit: Edit


class _Enough(Exception):
    """No more attempts are allowed."""


def shrink(
    drawn: Draft,
    edit: Edit,
    fails: Callable[[Edit], bool],
    *,
    attempts_max: int,
    heard: Callable[[Step], None] = lambda _: None,
) -> Shrunk:
    """Shrink a failure of a drawn world under an edit; `heard` is told after each attempt.

    The edit itself is taken to fail.
    """
    search = _Search(drawn, edit, fails, attempts_max, heard)
    try:
        search.to_the_end()
    except _Enough:
        return Shrunk(search.edit, search.attempts, whole=False)
    return Shrunk(search.edit, search.attempts, whole=True)


def smallest(things: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """Find a part that fails and of which nothing can be left out (Zeller's ddmin); none at all is asked first."""
    if not things or fails(()):
        return ()
    pieces = 2
    while len(things) > 1:
        size = -(-len(things) // pieces)
        cuts = [things[at : at + size] for at in range(0, len(things), size)]
        rests = [_without(things, at, size) for at in range(0, len(things), size)]
        if (cut := next(filter(fails, cuts), None)) is not None:
            things, pieces = cut, 2
        elif (rest := next(filter(fails, rests), None)) is not None:
            things, pieces = rest, max(pieces - 1, 2)
        elif size == 1:
            break
        else:
            pieces = min(pieces * 2, len(things))
    return things


class _Search:
    """The smallest edit so far, and which were asked about."""

    def __init__(
        self,
        drawn: Draft,
        edit: Edit,
        fails: Callable[[Edit], bool],
        attempts_max: int,
        heard: Callable[[Step], None],
    ) -> None:
        self.edit = edit
        self.attempts = 0
        self._drawn = drawn
        self._fails = fails
        self._attempts_max = attempts_max
        self._heard = heard
        self._known: dict[Edit, bool] = {edit: True}

    def to_the_end(self) -> None:
        """Go through all steps until none makes it smaller."""
        before = None
        while before != self.edit:
            before = self.edit
            smallest(self._faults, lambda faults: self._holds(replace(self.edit, faults=tuple(faults))))
            self._milder()
            smallest(self._calls, lambda calls: self._holds(replace(self.edit, calls=tuple(calls))))
            self._holds(replace(self.edit, noise=0.0))

    @property
    def _faults(self) -> tuple[Fault, ...]:
        return self._drawn.faults if self.edit.faults is None else self.edit.faults

    @property
    def _calls(self) -> tuple[int, ...]:
        return tuple(range(len(self._drawn.calls))) if self.edit.calls is None else self.edit.calls

    def _milder(self) -> None:
        at = 0
        while at < len(self._faults):
            milder = (self._with(at, fault) for fault in self._faults[at].simpler())
            if not any(self._holds(edit) for edit in milder):
                at += 1

    def _with(self, at: int, fault: Fault) -> Edit:
        faults = self._faults
        return replace(self.edit, faults=(*faults[:at], fault, *faults[at + 1 :]))

    def _holds(self, edit: Edit) -> bool:
        """Whether a world still fails with this edit; if so it is the smallest now."""
        if self._drawn_alike(edit):
            return True
        if edit not in self._known:
            if self.attempts >= self._attempts_max:
                raise _Enough
            self.attempts += 1
            self._known[edit] = self._fails(edit)
            if self._known[edit]:
                self.edit = edit
            self._heard(Step(self.attempts, len(self._faults), len(self._calls), self.edit))
        elif self._known[edit]:
            self.edit = edit
        return self._known[edit]

    def _drawn_alike(self, edit: Edit) -> bool:
        """Whether it is the same world as now, only said in more words."""
        return edit.applied(self._drawn) == self.edit.applied(self._drawn) and edit.calls == self.edit.calls


def _without(things: Sequence[T], at: int, size: int) -> Sequence[T]:
    return (*things[:at], *things[at + size :])
