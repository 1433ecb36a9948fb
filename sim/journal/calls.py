"""One call of a client, and one request at a target, each put together from its facts.

Rules: what is late is said to be late. A request that travelled through a black hole or over a slow link is seen
by its target long after it was sent, so a late exchange proves no order. Not here: how facts are found
(`watch.py`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from sim.journal.fact import Fact, Value

BUSY = "busy"
"""Stands for a node that was passed over because its slots are taken, and for one that was asked and said so."""

DRAINING = "draining"
"""So too: its last look or its own announcement said so, or it was asked and said so."""

NOT_DIALLED = frozenset({BUSY, "open", "resting", "none", "unfit", "cold", DRAINING, "down", "unknown"})
"""Words in a record's attempts for targets that were passed over without being asked."""


@dataclass(slots=True)
class Call:
    """One call of a client; normally there is one fact of each kind."""

    name: str
    sents: list[Fact] = field(default_factory=list)
    begun: Fact | None = None
    ends: list[Fact] = field(default_factory=list)
    left: Fact | None = None
    stalled: Fact | None = None

    @property
    def gateway(self) -> str:
        """Host that it was sent to; empty where that is not known."""
        return self.sents[0].text("gateway") if self.sents else ""

    @property
    def sent_at(self) -> float:
        """When it was sent."""
        return self.sents[0].at if self.sents else -math.inf

    @property
    def over_at(self) -> float:
        """When its client was through with it; infinite where it is under way."""
        if self.ends:
            return self.ends[0].at
        return self.left.at if self.left is not None else math.inf

    @property
    def outcome(self) -> str:
        """How it ended for its client; empty while it is under way."""
        return self.ends[0].text("outcome") if self.ends else ""

    @property
    def status(self) -> int:
        """HTTP status that the client saw; 0 where it saw none."""
        fact = self.ends[0] if self.ends else self.begun
        value = fact.members["status"] if fact is not None else 0
        return int(value) if isinstance(value, int | float) else 0

    @property
    def code(self) -> str:
        """Error code that the client saw, if any."""
        return str(self.ends[0].members["code"] or "") if self.ends else ""

    @property
    def text(self) -> str:
        """Visible text that the client got."""
        return str(self.ends[0].members["text"] or "") if self.ends else ""

    @property
    def request_id(self) -> str:
        """What the gateway calls it; empty where the client saw no head."""
        for fact in (self.begun, *self.ends):
            if fact is not None and fact.has("request_id"):
                return fact.text("request_id")
        return ""

    @property
    def streamed(self) -> bool:
        """Whether a stream was asked for."""
        return bool(self.sents) and self.sents[0].has("streamed")

    @property
    def question(self) -> str:
        """What it asks; calls that ask the same have the same body."""
        return text_of(self.sents[0].members.get("question")) if self.sents else ""

    @property
    def word(self) -> str:
        """Its Idempotency-Key; empty without one."""
        return text_of(self.sents[0].members.get("word")) if self.sents else ""

    @property
    def is_odd(self) -> bool:
        """Whether its request target is none of ours."""
        return bool(self.sents) and self.sents[0].has("odd")

    @property
    def takes_its_time(self) -> bool:
        """Whether the client reads slowly, or not at all from some moment on."""
        manner = self.sents[0].members.get("manner") if self.sents else None
        return self.stalled is not None or manner in ("slow", "stalls")


@dataclass(slots=True)
class Exchange:
    """One request at a target, as the target saw it; `told` is None while it is open."""

    asked: Fact
    late: bool
    told: Fact | None = None
    repeated: bool = False  # its connection turned out to be dead, so the request was sent once more
    is_repeat: bool = False  # it is that request

    @property
    def target(self) -> str:
        """Name of the vendor or node."""
        return self.asked.text("target")

    @property
    def what(self) -> tuple[str, str]:
        """Target and model: what may be asked once per call."""
        return self.target, str(self.asked.members["model"])

    @property
    def call(self) -> str:
        """The client's number of the call; empty where the request did not say."""
        return str(self.asked.members["call"] or "")

    @property
    def gateway(self) -> str:
        """Host that asked."""
        return self.asked.text("gateway")

    @property
    def number(self) -> int:
        """Number of the exchange."""
        return int(self.asked.number("exchange"))

    @property
    def how(self) -> str:
        """How it ended; empty while it is open."""
        return "" if self.told is None else self.told.text("how")

    @property
    def status(self) -> int:
        """HTTP status that the target sent; 0 where it sent no head."""
        value = None if self.told is None else self.told.members["status"]
        return int(value) if isinstance(value, int | float) else 0

    @property
    def told_at(self) -> float:
        """When it ended; infinite while it is open."""
        return math.inf if self.told is None else self.told.at

    def says(self, member: str) -> bool:
        """Whether the target says that of its answer."""
        return self.told is not None and self.told.has(member)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One line of a record's story: a vendor or node, and one word."""

    name: str
    word: str

    @property
    def dialled(self) -> bool:
        """Whether it was asked, or at least dialled; of one full or draining only its settlement can tell."""
        return self.word not in NOT_DIALLED


def attempts_of(record: Fact) -> tuple[Attempt, ...]:
    """Read the attempts of a record: `vendor/node=word|…`, the node empty for a cloud vendor."""
    text = record.members["attempts"]
    found = []
    for part in str(text or "").split("|"):
        who, _, word = part.rpartition("=")
        vendor, _, node = who.partition("/")
        if who:
            found.append(Attempt(node or vendor, word))
    return tuple(found)


def dialled_of(attempts: Sequence[Attempt], settled: Sequence[str]) -> tuple[Attempt, ...]:
    """Give the attempts that were dialled: of nodes full or draining those in their turn among the settled."""
    found: list[Attempt] = []
    for attempt in attempts:
        in_turn = len(found) < len(settled) and settled[len(found)] == attempt.name
        asked = in_turn and attempt.word in (BUSY, DRAINING)
        if attempt.dialled or asked:
            found.append(attempt)
    return tuple(found)


def text_of(value: Value) -> str:
    """Give a member as text, empty for none."""
    return "" if value is None else str(value)
