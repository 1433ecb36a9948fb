"""Whose turn it is: smooth weighted round robin, as nginx does it, over weights that change from pick to pick.

Each candidate gains its weight, the largest sum is picked (the earlier one among equals) and pays the total, so
the sum of all credits stays 0. Weights 5, 1, 1 give a a b a c a a. Two rules are ours:

Absence. Who is only passed over by one pick (full, too small a window, outside of the band) keeps its credit, as
in nginx: if it were lost each time, a light node that is passed over now and then would never be picked.
Who comes back from real absence (seen gone, down, draining or in another class at a refresh) begins at 0; nginx
lets it come back with its old credit and only slowly with its weight.

Unit. Gains and prices are divided by the power of two just above the total (a division without rounding, so fixed
weights give the same sequence as in nginx). A pick then costs about one, whatever the load makes of the weights:
a debt made while all nodes were idle is not paid off in the tiny weights of a busy fleet.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import frexp, inf, ldexp

from ktms.domain.capacity.candidate import Candidate, Row
from ktms.domain.capacity.weighing import NO_CLASS
from ktms.domain.ids import NodeName


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """Whose turn it is: `order` has places in `rows`, the pick first, then whom the next picks would find.

    `gains` are what each gets once somebody pays, `price` is what it costs.
    """

    rows: Sequence[Row]
    order: Sequence[int]
    gains: Sequence[float]
    price: float


def turn(rows: Sequence[Row], weights: Sequence[float], kind: int) -> Turn:
    """Find whose turn it is; nothing is gained or paid. Weights are above 0.

    Who was last seen in another class than `kind` begins at 0 in this one.
    """
    price = sum(weights)
    unit = ldexp(1.0, -frexp(price)[1])
    gains = [weight * unit for weight in weights]
    for one in [row[7] for row in rows if row[7].kind != kind]:
        one.move(kind)
    credits_ = [row[7].credit + gain for row, gain in zip(rows, gains, strict=True)]
    pick = credits_.index(max(credits_))
    soon = [credit + gain for credit, gain in zip(credits_, gains, strict=True)]
    soon[pick] = inf
    return Turn(rows, sorted(range(len(soon)), key=soon.__getitem__, reverse=True), gains, price * unit)


def pay(done: Turn, node: NodeName) -> None:
    """Let all gain and the node pay; one that was not to choose from pays nothing, and nobody gains."""
    payer = next((row[7] for row in done.rows if row[7].name == node), None)
    if payer is None:
        return
    for row, gain in zip(done.rows, done.gains, strict=True):
        row[7].credit += gain
    payer.credit -= done.price


def recentre(candidates: Iterable[Candidate]) -> None:
    """Make the credits of each class sum up to 0 again, after some have left it or come to it at 0."""
    classes: dict[int, list[Candidate]] = {}
    for one in candidates:
        classes.setdefault(one.kind, []).append(one)
    classes.pop(NO_CLASS, None)
    for members in classes.values():
        mean = sum(one.credit for one in members) / len(members)
        for one in members:
            one.credit -= mean
