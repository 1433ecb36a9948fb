"""What the drafts of these scenarios share: one key with limits, prices in whole micro-dollars, sound targets.

A call says how long its answer may be, so what it reserves is known beforehand. Everything that does not matter
for the behaviour is drawn: the level, replicas, targets, moments.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sim.draft import CallDraft, Draft, KeyDraft, Knobs, Level, LimitsDraft, NodeDraft, PriceDraft, VendorDraft
from sim.faults.plan import Fault
from sim.seed import Chance

PRICE = 20
"""Micro-dollars per token of an answer; prompts cost nothing, so sums are easy to say."""

ANSWER_MAX = 50
"""Tokens that an answer may have."""

COST_MAX = PRICE * ANSWER_MAX
"""What a call reserves."""

TTL_S = 15.0
"""How long a reservation outlives its replica."""

TAIL_S = 25.0
"""How long a world goes on after its last fault."""

UNLIMITED = LimitsDraft()

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class House:
    """Who calls, and what they may use together."""

    key: LimitsDraft
    team: LimitsDraft = UNLIMITED
    closed: bool = False
    others: tuple[KeyDraft, ...] = ()
    token_s: float = 0.02


def at(chance: Chance, low_s: float, high_s: float) -> float:
    """Draw a moment or a duration that is short to write."""
    return round(chance.uniform(low_s, high_s), 3)


def call_of(
    chance: Chance, at_s: float, gateway: int, *, tokens: int | None = None, key: str = "app"
) -> CallDraft:
    """Draw a call that uses less than it may."""
    return CallDraft(
        at_s=at_s,
        key=key,
        gateway=gateway,
        streamed=chance.happens(0.6),
        tokens=chance.between(1, ANSWER_MAX // 2) if tokens is None else tokens,
        more=(("max_tokens", ANSWER_MAX),),
    )


def calls_in(
    chance: Chance, gateways: Sequence[int], span: Span, count: int, key: str = "app"
) -> Iterator[CallDraft]:
    """Draw so many calls for each of these gateways within a time."""
    for gateway in gateways:
        for _ in range(count):
            yield call_of(chance, at(chance, *span), gateway, key=key)


def draw_level(chance: Chance) -> Level:
    """Draw how much of the way is bytes: what is shown here holds for both."""
    return chance.pick((Level.PORTS, Level.PORTS, Level.WIRE))


def world_of(
    chance: Chance,
    house: House,
    calls: Sequence[CallDraft],
    faults: Sequence[Fault],
    *,
    replicas: int,
    level: Level,
    tail_s: float = TAIL_S,
) -> Draft:
    """Make the draft."""
    last_s = max([fault.ends_at_s for fault in faults] + [call.at_s for call in calls])
    letters = "ab"[: chance.between(1, 2)]
    token_s = house.token_s
    return Draft(
        level=level,
        replicas=replicas,
        vendors=tuple(VendorDraft(f"cloud-{letter}", token_s=token_s) for letter in letters),
        nodes=(NodeDraft("node-1", slots=32, window=None, token_s=token_s),) if chance.happens(0.4) else (),
        keys=(KeyDraft("app", limits=house.key, closed=house.closed), *house.others),
        team=house.team,
        prices=tuple(PriceDraft(name, 0, PRICE) for name in (*(f"cloud-{letter}" for letter in letters), "local")),
        knobs=Knobs(sample_s=1.0),
        calls=tuple(sorted(calls, key=lambda call: call.at_s)),
        faults=tuple(sorted(faults, key=lambda fault: fault.at_s)),
        runs_s=round(last_s + tail_s, 3),
    )
