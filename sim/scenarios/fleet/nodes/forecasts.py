"""S45: waits against their forecasts, over crowds that come and go at one replica or at three.

Every call that waited for a slot and got one has both numbers in its record. Before the first crowd each
replica has seen some answers, as one that has run for a minute has. The forecasts are off by a third on average
at most, and it is these forecasts and no others: dealt to other calls of the same world they are wrong.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from statistics import mean

from sim.draft import CallDraft, Draft, Level
from sim.journal.journal import Journal
from sim.scenarios.fleet.nodes.reading import Wait, waits
from sim.scenarios.fleet.nodes.worlds import cast, machines
from sim.scenarios.scenario import Scenario
from sim.scenarios.targets.worlds import world
from sim.seed import Chance, Seed

ERROR_MAX = 0.35
"""What a forecast must be worth on average: better than the same number for everybody."""

WAITS_MIN = 200
"""Fewer say little about a mean."""

TOKENS = (60, 100)
FIRST_S, TOKEN_S = 0.4, 0.05
HELD_S = FIRST_S + TOKEN_S * sum(TOKENS) / 2
"""How long a slot is held; answers are between 3.4 and 5.4 s long."""

LEARNT_FROM = 8
"""Calls of each replica before the first crowd: with fewer than five samples a forecast is a guess of 10 s."""

LEARNING_SHARE = 2.0
"""They come at half the pace that there are slots for, so none of them waits."""

CALLS_MIN = 340
"""Of the first of each crowd nobody has to wait."""

PATIENCE_MS = 20_000
"""Somebody may wait through four rounds of answers."""


def draft(seed: Seed, level: Level, replicas: int) -> Draft:
    """Draw crowds, each several times what there are slots for, and pauses in which the queue empties."""
    chance = seed.chance("draft")
    who = cast(chance, machines(chance, chance.between(1, 2), first_token_s=FIRST_S, token_s=TOKEN_S))
    who = replace(who, replicas=replicas)
    slots = sum(node.slots for node in who.nodes)
    made = [_learning(number, slots, replicas) for number in range(LEARNT_FROM * replicas)]
    at_s = made[-1].at_s + 2 * HELD_S
    while len(made) < CALLS_MIN:
        size = chance.between(3 * slots, 5 * slots)
        made += _crowd(chance, at_s, size, HELD_S / slots / chance.uniform(2.5, 5.0), replicas)
        at_s = made[-1].at_s + size / slots * HELD_S * chance.uniform(0.9, 1.3)
    return replace(world(chance, level, who, tuple(made), ()), queue_timeout_ms=PATIENCE_MS)


def _learning(number: int, slots: int, replicas: int) -> CallDraft:
    return CallDraft(
        at_s=round(0.5 + number * LEARNING_SHARE * HELD_S / slots, 6),
        gateway=number % replicas,
        tokens=sum(TOKENS) // 2,
    )


def _crowd(chance: Chance, since_s: float, size: int, every_s: float, replicas: int) -> Iterator[CallDraft]:
    at_s = since_s
    for _ in range(size):
        yield CallDraft(
            at_s=round(at_s, 6), gateway=chance.between(0, replicas - 1), tokens=chance.between(*TOKENS)
        )
        at_s += every_s * chance.uniform(0.3, 1.7)


def error(waited: Sequence[Wait]) -> float:
    """Give how far forecasts are off: the mean of |forecast - actual| / actual."""
    return mean(abs(wait.forecast_s - wait.waited_s) / wait.waited_s for wait in waited)


def dealt(waited: Sequence[Wait]) -> list[Wait]:
    """Deal the forecasts to other calls: each gets that of the one half the row further."""
    others = [*waited[len(waited) // 2 :], *waited[: len(waited) // 2]]
    return [replace(wait, forecast_s=other.forecast_s) for wait, other in zip(waited, others, strict=True)]


def many_waited(journal: Journal) -> Iterator[str]:
    """Say S45 where so many calls waited for a slot and got it."""
    if len(waits(journal)) >= WAITS_MIN:
        yield "S45"


def forecast_right(journal: Journal) -> Iterator[str]:
    """Show S45: right on average, and of these very calls."""
    waited = waits(journal)
    if len(waited) >= WAITS_MIN and error(waited) <= ERROR_MAX < error(dealt(waited)):
        yield "S45"


FORECASTS = tuple(
    Scenario(
        f"s45-forecasts-{replicas}",
        f"waits are as long as forecast, {replicas} replicas",
        ("S45",),
        partial(draft, level=Level.PORTS, replicas=replicas),
        forecast_right,
        many_waited,
    )
    for replicas in (1, 3)
)
