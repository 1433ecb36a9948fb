"""What the drafts of these scenarios share: sound targets, calls that warm the keys up, one outage of Postgres.

Everything that does not matter for the behaviour is drawn: replicas, targets, the length of answers, the moments.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sim.draft import CallDraft, Draft, KeyDraft, Knobs, Level, NodeDraft, VendorDraft
from sim.faults.plan import Fault
from sim.scenarios.books.reading import AWAY, HUNG
from sim.seed import Chance

KNOWN = ("app", "batch")
"""Keys that every replica has verified before the outage."""

LATE = ("late-a", "late-b", "late-c")
"""Keys that exist, and that nobody used before."""

TAIL_S = 20.0
"""How long a world goes on after its outage, so that what came back is seen."""


@dataclass(frozen=True, slots=True)
class Outage:
    """One outage of the database, seconds from the start of the world."""

    kind: str
    starts_s: float
    lasts_s: float

    @property
    def ends_s(self) -> float:
        """When it is over."""
        return self.starts_s + self.lasts_s

    @property
    def fault(self) -> Fault:
        """Write it as a fault of the plan."""
        return Fault(self.kind, "", self.starts_s, self.lasts_s)


def draw_outage(chance: Chance, low_s: float, high_s: float, kinds: Sequence[str] = (AWAY, HUNG)) -> Outage:
    """Draw an outage that lasts this long and begins after the warm-up."""
    return Outage(chance.pick(kinds), at(chance, 8.0, 14.0), at(chance, low_s, high_s))


def at(chance: Chance, low_s: float, high_s: float) -> float:
    """Draw a moment or a duration that is short to write."""
    return round(chance.uniform(low_s, high_s), 3)


def draw_replicas(chance: Chance) -> int:
    """Draw how many gateways there are."""
    return chance.between(1, 3)


def call_of(chance: Chance, at_s: float, key: str, gateway: int) -> CallDraft:
    """Draw a short call."""
    return CallDraft(
        at_s=at_s,
        key=key,
        gateway=gateway,
        streamed=chance.happens(0.6),
        tokens=chance.between(1, 30),
        route=chance.pick(("chat", "chat", "completions", "embeddings")),
    )


def warm_up(chance: Chance, replicas: int, until_s: float, keys: Sequence[str] = KNOWN) -> Iterator[CallDraft]:
    """Let every key be used at every gateway."""
    for gateway in range(replicas):
        for key in keys:
            yield call_of(chance, at(chance, 0.5, until_s), key, gateway)


def scattered(
    chance: Chance, replicas: int, keys: Sequence[str], span: tuple[float, float], per_key: int
) -> Iterator[CallDraft]:
    """Let every key be used so often at every gateway within a time."""
    for gateway in range(replicas):
        for key in keys:
            for _ in range(per_key):
                yield call_of(chance, at(chance, *span), key, gateway)


def world_of(
    chance: Chance,
    replicas: int,
    outage: Outage,
    calls: Sequence[CallDraft],
    knobs: Knobs,
    faults: Sequence[Fault] = (),
) -> Draft:
    """Make the draft; its targets are sound, so whatever fails is the book-keeping's doing."""
    nodes = (NodeDraft("node-1", slots=32, window=None),) if chance.happens(0.4) else ()
    return Draft(
        level=Level.PORTS,
        replicas=replicas,
        vendors=tuple(VendorDraft(f"cloud-{letter}") for letter in "ab"[: chance.between(1, 2)]),
        nodes=nodes,
        keys=tuple(KeyDraft(name) for name in (*KNOWN, *LATE)),
        knobs=knobs,
        calls=tuple(sorted(calls, key=lambda call: call.at_s)),
        faults=tuple(sorted((outage.fault, *faults), key=lambda fault: fault.at_s)),
        runs_s=outage.ends_s + TAIL_S,
    )
