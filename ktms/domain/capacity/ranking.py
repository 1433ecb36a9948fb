"""Seats in the order in which a choice looks at them, made anew at each refresh.

A fleet of SHORTLIST_MAX or fewer is looked at whole, in the order given. A larger one is sorted into groups (free
before full, then by class, then by expected finish in steps as wide as the band), and a choice looks at one page:
within the leading group the page slides by one seat per choice, so that equals share the calls of one refresh
instead of the first ones filling up. Who stands where is as old as the refresh; who is free is read live.

Not here: weights and turns (`selection.py`).
"""

from collections.abc import Collection, Iterable, Sequence
from math import inf, log

from ktms.domain.capacity.candidate import UNKNOWN_WINDOW, Row
from ktms.domain.capacity.seat import Health
from ktms.domain.capacity.weighing import BARRED_FROM, NO_CLASS, weight
from ktms.domain.ids import NodeName, Region

SHORTLIST_MAX = 64
"""Up to here a choice looks at every seat; most fleets are smaller."""

PAGE = 16
"""Seats of a larger fleet looked at together; so few that one choice among 10,000 costs less than two among 10."""

PAGES_MAX = 4
"""Pages one choice looks through: a refresh puts free seats first, so more are needed only within its second."""

WISHES_MAX = 8
"""Seats asked for a slot in one go: more would make the script long that takes it, and the first mostly grants."""

WINDOWS_MAX = 16
"""Sizes of window told apart; in a fleet with more of them those in between are looked at seat by seat."""

TYPICAL_UNCACHED_TOKENS = 500
TYPICAL_OUTPUT_TOKENS = 250
"""Stand for all calls where a large fleet is put in order: a chat turn of ordinary size."""

STEP_MIN = 1.05
"""Groups are at least this far apart: a band of 1 would make a group of each seat, and the first ones fill up."""

STEP_UNBANDED = 1.25
"""Width of a group by weight, where no band says it."""

WEIGHT_MIN = 1e-9
"""In place of the weight of a full seat, which is 0."""

STEPS_MAX = 1000
"""Steps beyond this are one group: nobody is sent that far down while others are free."""


class Ranking:
    """Rows for one kind of call, best first. `able` of them take calls at all, with `able_slots` in sum.

    `asked`: a choice has looked at it, so the next refresh makes it again. `barred`: all that take calls refuse
    our token; where only some do, these are not counted.
    """

    __slots__ = ("_cursor", "_span", "able", "able_slots", "asked", "barred", "rows", "whole")

    def __init__(self, rows: list[Row]) -> None:
        able = [row[0].slots for row in rows if NO_CLASS < row[7].kind < BARRED_FROM]
        self.barred = not able
        if self.barred:
            able = [row[0].slots for row in rows if row[7].kind != NO_CLASS]
        self.rows = rows
        self.able = len(able)
        self.able_slots = sum(able)
        self.whole = len(rows) <= SHORTLIST_MAX
        self.asked = False
        self._cursor = 0
        self._span = _leading(rows)

    def free(self, health: Health, cold: bool, need_tokens: int, refused: Collection[NodeName]) -> list[Row]:
        """Give the rows of one class that have a free slot: all of a small fleet, of a large one a page or so."""
        if self.whole:
            return free_rows(self.rows, health, cold, need_tokens, refused)
        found: list[Row] = []
        place = self._cursor
        for _ in range(PAGES_MAX):
            found += free_rows(self.rows[place : place + PAGE], health, cold, need_tokens, refused)
            if len(found) >= WISHES_MAX:
                break
            place = place + PAGE if place + PAGE < len(self.rows) else 0
        if found:
            self._turn_to(place)
        return found

    def skip(self) -> None:
        """Nobody was free on the pages at hand: the next choice begins behind them."""
        self._cursor += PAGE * PAGES_MAX
        self._span = len(self.rows)
        if self._cursor >= len(self.rows):
            self._cursor = 0

    def _turn_to(self, place: int) -> None:
        if place != self._cursor:
            self._cursor = place
            if place + PAGE > self._span:
                self._span = len(self.rows)
        elif place + PAGE < self._span:
            self._cursor += 1
        else:
            self._cursor = 0


def free_rows(
    rows: Sequence[Row], health: Health, cold: bool, need_tokens: int, refused: Collection[NodeName]
) -> list[Row]:
    """Give those of one class with a free slot and a window that is large enough."""
    found = [
        row
        for row in rows
        if (state := row[0]).taken < state.slots
        and state.health is health
        and not state.draining
        and row[1].cold is cold
        and row[2] >= need_tokens
    ]
    return [row for row in found if row[7].name not in refused] if refused else found


def crowded_rows(rows: Sequence[Row]) -> list[Row]:
    """Give those whose engines say that they are full although slots are free: others ask them past us."""
    return [
        row
        for row in rows
        if (state := row[0]).busy < state.slots <= state.taken and state.health is not Health.BARRED
    ]


def able_rows(rows: Sequence[Row], need_tokens: int, refused: Collection[NodeName]) -> list[Row]:
    """Give those that could take the call if they had a free slot.

    Those that refuse our token are among them only where nobody else is.
    """
    found = [
        row
        for row in rows
        if row[0].health is not Health.DOWN
        and not row[0].draining
        and row[2] >= need_tokens
        and row[7].name not in refused
    ]
    return [row for row in found if row[0].health is not Health.BARRED] or found


def narrowed(rows: Sequence[Row], regions: frozenset[Region] | None, above_tokens: float) -> list[Row]:
    """Give the rows in these regions whose window is larger than `above_tokens`, in the same order."""
    return [row for row in rows if row[2] > above_tokens and (regions is None or row[7].region in regions)]


def _leading(rows: Sequence[Row]) -> int:
    """Count the rows of the first group."""
    if not rows:
        return 0
    first = rows[0][7].group
    return next((place for place, row in enumerate(rows) if row[7].group != first), len(rows))


def ordered(rows: list[Row], *, band: float, weighted: bool, spin: int) -> list[Row]:
    """Put a large fleet in order; a small one stays as it is.

    Within a group those with the most credit come first, then those after this replica's own place in the fleet.
    """
    count = len(rows)
    if count <= SHORTLIST_MAX:
        return rows
    first = spin * SHORTLIST_MAX % count
    rows = rows[first:] + rows[:first]
    steps = _steps(rows, band) if weighted else [0] * count
    for row, step in zip(rows, steps, strict=True):
        state, one = row[0], row[7]
        off = one.kind == NO_CLASS
        one.group = ((off * 2 + (state.taken >= state.slots)) * 8 + one.kind) * (STEPS_MAX + 1) + step
    rows.sort(key=lambda row: (row[7].group, -row[7].credit))
    return rows


def _steps(rows: Sequence[Row], band: float) -> list[int]:
    """How many steps each is behind the best: by expected finish, or by weight where there is no band."""
    if band < inf:
        read, written = TYPICAL_UNCACHED_TOKENS, TYPICAL_OUTPUT_TOKENS
        costs = [read * row[4] + written * (row[5] + row[6] * row[0].taken) for row in rows]
    else:
        costs = [1.0 / max(weight(row[1]), WEIGHT_MIN) for row in rows]
    best = min(costs)
    width = log(max(band if band < inf else STEP_UNBANDED, STEP_MIN))
    return [min(int(log(cost / best) / width), STEPS_MAX) for cost in costs]


def thinned(windows: Iterable[float]) -> list[float]:
    """Give the known sizes of window in order, WINDOWS_MAX of them at most, the smallest among them."""
    known = sorted(set(windows) - {UNKNOWN_WINDOW})
    stride = -(-len(known) // WINDOWS_MAX)
    return known[::stride] if stride else known
