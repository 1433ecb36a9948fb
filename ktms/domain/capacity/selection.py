"""Which node takes a call: filter, weight, smooth weighted round robin within a finish-time band.

Filter: a free slot, a window that holds the call, an allowed region, neither draining nor down nor refused; then
the best class that is not empty. Weight: `base_weight * (1 - (busy/slots)^2) * speed`. Band: only seats whose
expected finish is within `band` of the best. Turn: smooth weighted round robin (`turns.py`).

Busy is what leases say, or the engine itself where it tells of more (`NodeState.taken`). An engine's word puts
its node behind those that have room, and no further: where all say that they are full, those with a free slot are
asked all the same, since what an engine tells is seconds old, and weighed by their leases alone. A node that
refuses our token fails fast and would seem the freest of all: it is asked only where nobody else could take the
call, be they full (N01).

A choice costs the same from a few dozen nodes to ten thousand (`ranking.py`); the refresh pays for the order.
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import inf

from ktms.domain.capacity.candidate import Candidate, Row
from ktms.domain.capacity.ranking import (
    SHORTLIST_MAX,
    WISHES_MAX,
    Ranking,
    able_rows,
    crowded_rows,
    free_rows,
    narrowed,
    ordered,
    thinned,
)
from ktms.domain.capacity.seat import Health, Seat
from ktms.domain.capacity.turns import Turn, pay, recentre, turn
from ktms.domain.capacity.weighing import BARRED_FROM, CLASSES, NO_CLASS, class_of, finish_s, load_term
from ktms.domain.catalogue import Selection
from ktms.domain.ids import NodeName, Region

SPIN_MAX = 64
"""Turns a new selector may be ahead: enough to spread replicas, too few to be felt."""

RANKINGS_MAX = 32
"""Kinds of call (regions, size) ranked at once; each costs a refresh one pass over the fleet."""

_ALL = tuple((kind, health, cold) for kind, (health, cold) in enumerate(CLASSES[:BARRED_FROM]))
_WARM = tuple(one for one in _ALL if not one[2])

FREED_MAX = 64
"""Nodes remembered as having got a slot back since the refresh."""

CROWDED_MAX = 64
"""Nodes full by their own word that are asked where nobody has room: as many as a choice looks at anyway."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a call needs of a node. `need_tokens` counts prompt and answer, `regions` None: anywhere."""

    need_tokens: int
    uncached_tokens: int
    output_tokens: int
    regions: frozenset[Region] | None = None


UNSIZED = Ask(0, 0, 0)
"""Finishes everywhere at once: turns by weight alone."""


@dataclass(slots=True, eq=False)
class Choice:
    """In which order seats are to be asked for a slot, and who could take the call at all.

    `seats`: the pick first, then the others in the order of their turns, WISHES_MAX at most; empty: none is free.
    `able` seats with `able_slots` in sum could take it if they were free: as of the refresh; where none is free
    in a fleet of ordinary size they are counted anew. `cold`: the pick has to load first.
    """

    seats: tuple[Seat, ...]
    able: int
    able_slots: int
    cold: bool = False
    turn: Turn | None = field(default=None, repr=False)


class Selector:
    """The seats of one local target, and whose turn it is. One per target, for the life of the replica.

    `band` 1.25: a quarter later than the best is as good, `inf`: no band. ROUND_ROBIN knows neither band nor
    weight, only the filter. `spin` is drawn by each replica, so that they do not ask the same node in step.
    """

    def __init__(self, *, band: float, rule: Selection, spin: int) -> None:
        assert band >= 1, band
        self._weighted = rule is Selection.WEIGHTED
        self.band = band
        self._spin = spin % SPIN_MAX
        self._known: dict[NodeName, Candidate] = {}
        self._rows: list[Row] = []
        self._windows: list[float] = []
        self._rankings: dict[tuple[frozenset[Region] | None, int], Ranking] = {}
        self._freed: dict[NodeName, Row] = {}
        self._crowded: list[Row] = []

    def __repr__(self) -> str:
        return f"Selector(seats={len(self._known)}, rankings={len(self._rankings)})"

    def rank(self, seats: Sequence[Seat]) -> None:
        """Take over the fleet as it is now; a node that stays keeps its credit, whatever objects stand for it."""
        before = self._known
        self._known = {
            name: before.get(name) or Candidate(name) for name in (seat.state.node.name for seat in seats)
        }
        moved = [one for one, seat in zip(self._known.values(), seats, strict=True) if one.look(seat)]
        if moved or len(before) != len(self._known):
            recentre(self._known.values())
        rows = [one.row for one in self._known.values()]
        self._rows = ordered(rows, band=self.band, weighted=self._weighted, spin=self._spin)
        self._windows = thinned({row[2] for row in rows})
        self._freed.clear()
        self._crowded = self._rows if len(rows) <= CROWDED_MAX else crowded_rows(self._rows)[:CROWDED_MAX]
        sizes = len(self._windows)
        asked = [kind for kind, ranking in self._rankings.items() if ranking.asked and kind[1] <= sizes]
        self._rankings = {kind: self._made(*kind) for kind in asked}
        if not before:
            for _ in range(self._spin):
                ahead = self.choose(UNSIZED, ())
                if ahead.seats:
                    self.charge(ahead, ahead.seats[0].state.node.name)

    def choose(self, ask: Ask, refused: Collection[NodeName], *, warm: bool = False) -> Choice:
        """Choose among the seats that are free now. Nobody gains or pays yet, so asking is free.

        `refused` are nodes that have turned this call down; `warm` leaves out those that would have to load first.
        Nodes that are full by their engine's word alone come into it where nobody else is left.
        Costs no more in a larger fleet, but for the first call of its kind (regions, size), whose ranking is made
        then and kept while there are such calls.
        """
        ranking = self._ranking(ask)
        found = self._found(ranking, ask, refused, warm=warm)
        if found is not None:
            return self._turn(*found, ranking, ask)
        last = self._last(ask, refused, warm=warm) or self._barred(ranking, ask, refused, warm=warm)
        if last is not None:
            return self._turn(*last, ranking, ask, crowded=True)
        return Choice((), *self._able(ranking, ask, refused, warm=warm))

    def would_do(self, ask: Ask, refused: Collection[NodeName], *, warm: bool = True) -> bool:
        """Whether a choice, of the warm ones unless told, would give somebody now; costs less than the choice."""
        ranking = self._ranking(ask)
        if self._found(ranking, ask, refused, warm=warm) or self._last(ask, refused, warm=warm):
            return True
        return self._barred(ranking, ask, refused, warm=warm) is not None

    def able_slots(self, ask: Ask, refused: Collection[NodeName], *, warm: bool) -> int:
        """Count the slots there would be for the call if all were free, as a choice does that finds nobody."""
        return self._able(self._ranking(ask), ask, refused, warm=warm)[1]

    def able(self, ask: Ask, refused: Collection[NodeName]) -> tuple[Seat, ...]:
        """Give some who could take the call if they were free: of whom to ask where nobody knows who is."""
        rows = able_rows(self._ranking(ask).rows[:SHORTLIST_MAX], ask.need_tokens, refused)
        return tuple([row[1] for row in rows[:WISHES_MAX]])

    def charge(self, choice: Choice, node: NodeName) -> None:
        """Let the node pay that granted the lease, and all candidates gain; a choice is charged once."""
        if choice.turn is not None:
            pay(choice.turn, node)
            choice.turn = None

    def freed(self, node: NodeName) -> None:
        """Hear that a slot came free: a choice that finds nobody looks there. For large fleets, and optional."""
        one = self._known.get(node)
        if one is not None and len(self._freed) < FREED_MAX:
            self._freed[node] = one.row

    def credit(self, node: NodeName) -> float:
        """Give a node's current weight in shares of one pick: the larger, the sooner its turn comes."""
        one = self._known.get(node)
        return 0.0 if one is None else one.credit

    def _ranking(self, ask: Ask) -> Ranking:
        kind = (ask.regions, bisect_left(self._windows, ask.need_tokens))
        ranking = self._rankings.get(kind)
        if ranking is None:
            if len(self._rankings) >= RANKINGS_MAX:
                del self._rankings[next(iter(self._rankings))]
            ranking = self._rankings[kind] = self._made(*kind)
        ranking.asked = True
        return ranking

    def _made(self, regions: frozenset[Region] | None, size: int) -> Ranking:
        above_tokens = self._windows[size - 1] if size else -1
        return Ranking(narrowed(self._rows, regions, above_tokens))

    def _found(
        self, ranking: Ranking, ask: Ask, refused: Collection[NodeName], *, warm: bool
    ) -> tuple[int, Sequence[Row]] | None:
        """Give the best class that is not empty, and who is in it."""
        classes = _WARM if warm else _ALL
        for kind, health, cold in classes:
            rows = ranking.free(health, cold, ask.need_tokens, refused)
            if rows:
                return kind, rows
        if not ranking.whole:
            ranking.skip()
            freed = narrowed(list(self._freed.values()), ask.regions, ask.need_tokens - 1)
            for kind, health, cold in classes:
                rows = free_rows(freed, health, cold, ask.need_tokens, refused)
                if rows:
                    return kind, rows
        return None

    def _able(self, ranking: Ranking, ask: Ask, refused: Collection[NodeName], *, warm: bool) -> tuple[int, int]:
        """Count those that could take the call if they were free, and their slots."""
        if not ranking.whole:
            return ranking.able, ranking.able_slots
        rows = able_rows(ranking.rows, ask.need_tokens, refused)
        slots = [row[0].slots for row in rows if not (warm and row[1].cold)]
        return len(slots), sum(slots)

    def _last(self, ask: Ask, refused: Collection[NodeName], *, warm: bool) -> tuple[int, Sequence[Row]] | None:
        """Give the best class among those that are full by their own word alone, and who is in it."""
        crowded = crowded_rows(self._crowded)
        if not crowded:
            return None
        return _best(able_rows(narrowed(crowded, ask.regions, -1), ask.need_tokens, refused), warm=warm)

    def _barred(
        self, ranking: Ranking, ask: Ask, refused: Collection[NodeName], *, warm: bool
    ) -> tuple[int, Sequence[Row]] | None:
        """Give those that refuse our token and have a free slot, where nobody else is left, be they full."""
        if not ranking.whole and not ranking.barred:
            return None
        rows = able_rows(ranking.rows[:SHORTLIST_MAX], ask.need_tokens, refused)
        barred = [row for row in rows if (state := row[0]).health is Health.BARRED and state.busy < state.slots]
        return _best(barred, warm=warm)

    def _turn(
        self, kind: int, rows: Sequence[Row], ranking: Ranking, ask: Ask, *, crowded: bool = False
    ) -> Choice:
        if self._weighted and self.band < inf:
            rows = _in_band(rows, ask, self.band)
        if not self._weighted:
            weights = [1.0] * len(rows)
        elif crowded:
            weights = [row[3] * load_term(row[0].busy, row[0].slots) for row in rows]
        else:
            weights = [row[3] * (1.0 - (share := (state := row[0]).taken / state.slots) * share) for row in rows]
        whose = turn(rows, weights, kind)
        seats = tuple([rows[place][1] for place in whose.order[:WISHES_MAX]])
        return Choice(seats, ranking.able, ranking.able_slots, CLASSES[kind][1], whose)


def _best(rows: Sequence[Row], *, warm: bool) -> tuple[int, Sequence[Row]] | None:
    """Give the best class among these, and who is in it."""
    fit = [row for row in rows if not (warm and row[1].cold)]
    kind = min((class_of(row[1]) for row in fit), default=NO_CLASS)
    return (kind, [row for row in fit if class_of(row[1]) == kind]) if fit else None


def _in_band(rows: Sequence[Row], ask: Ask, band: float) -> Sequence[Row]:
    """Leave out those that would finish later than the best, by more than the band."""
    uncached_tokens, output_tokens = ask.uncached_tokens, ask.output_tokens
    finishes = [uncached_tokens * row[4] + output_tokens * (row[5] + row[6] * row[0].taken) for row in rows]
    last_s = min(finishes) * band
    return [row for row, finish in zip(rows, finishes, strict=True) if finish <= last_s]


CROWDED, FULL, BARRED = "crowded", "full", "barred"

_ABLE = (None, FULL, CROWDED)
"""Words of nodes that could take the call if they were free."""


@dataclass(frozen=True, slots=True)
class Considered:
    """One node in the decision record, with every term of its weight.

    `busy` are leases, `taken` what was counted: more than that where the engine told of more. `left_out` says in a
    word why it was not to be picked, None where it was: down, draining, refused, region, window, full, crowded
    (full by its engine's word, and others have room), barred (it refuses our token, and others are there), class
    (a better class was free), band (it would finish too late).
    """

    node: NodeName
    health: Health
    cold: bool
    base_weight: int
    busy: int
    taken: int
    slots: int
    load: float
    speed: float
    weight: float
    finish_s: float
    in_band: bool
    left_out: str | None


def explain(seats: Sequence[Seat], ask: Ask, refused: Collection[NodeName], band: float) -> tuple[Considered, ...]:
    """Say of every seat what a choice would make of it, in the order given. Costs a pass over the whole fleet."""
    words = _behind_others(seats, [_unfit(seat, ask, refused) for seat in seats])
    crowded = CROWDED in words and None not in words
    if crowded:
        words = [None if word == CROWDED else word for word in words]
    best = min((class_of(seat) for seat, word in zip(seats, words, strict=True) if word is None), default=NO_CLASS)
    finishes = [finish_s(seat, ask.uncached_tokens, ask.output_tokens) for seat in seats]
    fit = [word is None and class_of(seat) == best for seat, word in zip(seats, words, strict=True)]
    last_s = min((finish for finish, fits in zip(finishes, fit, strict=True) if fits), default=0.0)
    last_s = inf if band == inf else last_s * band
    return tuple(
        _considered(seat, finish, finish <= last_s, word or (None if fits else "class"), crowded=crowded)
        for seat, finish, word, fits in zip(seats, finishes, words, fit, strict=True)
    )


def _behind_others(seats: Sequence[Seat], words: Sequence[str | None]) -> list[str | None]:
    """Put those that refuse our token behind all others that could take the call; of them the leases count."""
    barred = [
        word in _ABLE and seat.state.health is Health.BARRED for seat, word in zip(seats, words, strict=True)
    ]
    if any(word in _ABLE and not bars for word, bars in zip(words, barred, strict=True)):
        return [BARRED if bars else word for word, bars in zip(words, barred, strict=True)]
    return [CROWDED if bars and word != FULL else word for word, bars in zip(words, barred, strict=True)]


def _unfit(seat: Seat, ask: Ask, refused: Collection[NodeName]) -> str | None:
    state = seat.state
    reasons = {
        "down": state.health is Health.DOWN,
        "draining": state.draining,
        "refused": state.node.name in refused,
        "region": ask.regions is not None and state.node.region not in ask.regions,
        "window": seat.window is not None and seat.window < ask.need_tokens,
        FULL: state.busy >= state.slots,
        CROWDED: state.taken >= state.slots,
    }
    return next((word for word, holds in reasons.items() if holds), None)


def _considered(seat: Seat, finish: float, in_band: bool, word: str | None, *, crowded: bool) -> Considered:
    state = seat.state
    load = load_term(state.busy if crowded else state.taken, state.slots)
    return Considered(
        node=state.node.name,
        health=state.health,
        cold=seat.cold,
        base_weight=state.node.base_weight,
        busy=state.busy,
        taken=state.taken,
        slots=state.slots,
        load=load,
        speed=seat.speed,
        weight=state.node.base_weight * seat.speed * load,
        finish_s=finish,
        in_band=in_band,
        left_out=word if word is not None or in_band else "band",
    )
