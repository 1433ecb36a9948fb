"""What the drafts of these scenarios share: sound machines, sound vendors, calls before, in and after a fault.

Everything that does not matter for the behaviour is drawn. The store's counts are noted every second, so that what
is claimed of them can be looked up.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sim.draft import CallDraft, Draft, Engine, Knobs, Level, NodeDraft, VendorDraft
from sim.faults.plan import Fault
from sim.seed import Chance

TTL_S = 15.0
"""How long a lease lives that nobody renews."""

GRACE_S = 6.0
"""A store that was found empty grants nothing but renewals for so long."""

BACK_S = 3.0
"""A store that is back is in use within this (FR10)."""

SAMPLE_S = 1.0

STOPS_FOR_LEAVERS = (Engine.VLLM, Engine.LLAMA_CPP, Engine.AGENT)
"""Engines whose slots never drain: what the store counts is what is held."""


@dataclass(frozen=True, slots=True)
class When:
    """A stretch of the world in which calls are drawn."""

    since_s: float
    until_s: float


def drawn(chance: Chance, low: float, high: float) -> float:
    """Draw a moment or a duration that is short to write."""
    return round(chance.uniform(low, high), 3)


def machines(
    chance: Chance, count: int, *, slots: int = 4, real_slots: int | None = None, token_s: float = 0.03
) -> tuple[NodeDraft, ...]:
    """Draw so many sound machines."""
    return tuple(
        NodeDraft(
            f"node-{number}",
            engine=chance.pick(STOPS_FOR_LEAVERS),
            slots=slots,
            real_slots=real_slots,
            window=None,
            token_s=token_s,
        )
        for number in range(count)
    )


def vendors(chance: Chance) -> tuple[VendorDraft, ...]:
    """Draw one or two sound vendors."""
    return tuple(VendorDraft(f"cloud-{letter}") for letter in "ab"[: chance.between(1, 2)])


def calls_in(
    chance: Chance, replicas: int, when: When, count: int, placement: str | None = None
) -> Iterator[CallDraft]:
    """Draw so many short calls at every gateway."""
    for gateway in range(replicas):
        for _ in range(count):
            yield CallDraft(
                at_s=drawn(chance, when.since_s, when.until_s),
                gateway=gateway,
                streamed=chance.happens(0.7),
                tokens=chance.between(1, 20),
                placement=placement,
            )


def long_call(at_s: float, seconds: float, token_s: float, *, gateway: int = 0) -> CallDraft:
    """Give a stream that only our machines may write, and that takes about so long."""
    return CallDraft(
        at_s=round(at_s, 3), gateway=gateway, tokens=max(1, int(seconds / token_s)), placement="nodes_only"
    )


def world_of(
    chance: Chance,
    replicas: int,
    nodes: Sequence[NodeDraft],
    calls: Iterable[CallDraft],
    faults: Sequence[Fault],
    *,
    runs_s: float,
    level: Level = Level.WIRE,
) -> Draft:
    """Make the draft."""
    return Draft(
        level=level,
        replicas=replicas,
        vendors=vendors(chance),
        nodes=tuple(nodes),
        knobs=Knobs(poll_s=1.0, sample_s=SAMPLE_S),
        calls=tuple(sorted(calls, key=lambda call: call.at_s)),
        faults=tuple(sorted(faults, key=lambda fault: fault.at_s)),
        runs_s=runs_s,
    )
