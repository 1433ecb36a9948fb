"""FG8: a gateway gets no descriptor for some seconds: who is connected is served on, who comes waits.

Without one it takes no connection and opens none: calls under way end as ever, calls of clients that are connected
are refused at once where they need a new connection to a target, which no target is blamed for, and newcomers wait
in the kernel's queue. It looks again ten times a second, no more, and takes them as soon as there are descriptors.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sim.draft import MODEL, CallDraft, Draft, VendorDraft
from sim.faults.plan import Fault
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.books.reading import BLINK_S, Books, answered, refused_with
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

OTHER = "other-model"
"""What the vendor serves whose connections are cut meanwhile: a call needs a new one."""

CONNECTED = 8
"""Clients that are connected when descriptors run out, more than failures that would open a breaker."""

PAUSE_S = 0.1
"""How often it looks whether there are descriptors again, written down apart from the product."""

SOON_S = 2.0
"""So long after there are some everybody who waited has the head of an answer."""

UNDER_WAY_MIN, NEWCOMERS_MIN = 2, 3
"""Fewer would be luck."""


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    from_s = round(chance.uniform(5.0, 7.0), 3)
    lasts_s = round(chance.uniform(3.0, 12.0), 3)
    long = [_call(chance, chance.uniform(1.0, 2.5), tokens=200) for _ in range(chance.between(UNDER_WAY_MIN, 6))]
    before = [_call(chance, 2.6, model=OTHER) for _ in range(CONNECTED + 2)]
    crowd_at_s = from_s + chance.uniform(0.3, lasts_s / 2)
    newcomers = chance.between(NEWCOMERS_MIN, 100)
    crowd = [_call(chance, crowd_at_s, model=OTHER) for _ in range(CONNECTED + 2 + newcomers)]
    after = [_call(chance, from_s + lasts_s + chance.uniform(0.5, 4.0), model=OTHER) for _ in range(5)]
    return Draft(
        vendors=(VendorDraft("cloud-a", token_s=0.1), VendorDraft("cloud-b", serves=(OTHER,))),
        calls=tuple(sorted((*long, *before, *crowd, *after), key=lambda call: call.at_s)),
        faults=(
            Fault("no_descriptors", "gw1", from_s, lasts_s),
            Fault("reset", "cloud-b", round(from_s + 0.1, 3)),
        ),
        runs_s=from_s + lasts_s + 20.0,
    )


def _call(chance: Chance, at_s: float, *, model: str = MODEL, tokens: int = 10) -> CallDraft:
    streamed = tokens > 10 or chance.happens(0.5)
    return CallDraft(at_s=round(at_s, 4), model=model, streamed=streamed, tokens=tokens)


@dataclass(frozen=True, slots=True)
class _Drought:
    """A journal as far as one lack of descriptors goes."""

    books: Books
    host: str
    span: Span

    def vain(self, what: str) -> int:
        """Count the descriptors that were asked for in vain."""
        lacked = self.books.journal.of("descriptor_lacked")
        return sum(fact.host == self.host and fact.members["what"] == what for fact in lacked)

    @property
    def under_way(self) -> list[Call]:
        """Calls whose answers had begun."""
        calls = self.books.sent(0.0, self.span.start)
        return [call for call in calls if call.begun and call.begun.at < self.span.start < call.over_at]

    @property
    def refused(self) -> list[Call]:
        """Calls of clients that were connected."""
        return [call for call in self._inside if call.over_at < self.span.end]

    @property
    def waited(self) -> list[Call]:
        """Calls of newcomers."""
        return [call for call in self._inside if call.over_at >= self.span.end]

    @property
    def _inside(self) -> list[Call]:
        return [*self.books.sent(self.span.start, self.span.end)]


def _droughts(journal: Journal) -> list[_Drought]:
    books = Books(journal)
    spans = books.watch.fault_spans("no_descriptors")
    return [_Drought(books, host, span) for host in books.hosts for span in spans]


def _seen(journal: Journal) -> Iterator[str]:
    droughts = _droughts(journal)
    if droughts and all(_is_borne(one) for one in droughts):
        yield "FG8"


def _is_borne(one: _Drought) -> bool:
    books, span = one.books, one.span
    looks_max = (span.end - span.start) / PAUSE_S + 2
    after = [*books.sent(span.end, books.watch.phases["heal"])]
    return (
        len(one.under_way) >= UNDER_WAY_MIN
        and all(answered(call) for call in one.under_way)
        and len(one.refused) >= CONNECTED
        and all(_turned_away(books, call) for call in one.refused)
        and one.vain("connect") + one.vain("resolve") >= 1  # those who ask for one name at once ask together
        and len(one.waited) >= NEWCOMERS_MIN
        and all(answered(call) and _in_time(call, span) for call in one.waited)
        and 1 <= one.vain("accept") <= looks_max
        and bool(after)
        and all(answered(call) for call in after)
    )


def _turned_away(books: Books, call: Call) -> bool:
    """Tell whether a call was refused at once for what the gateway lacked itself, before anybody was asked."""
    quick = call.over_at - call.sent_at < BLINK_S
    return quick and refused_with(call, "overloaded", retry=True) and not books.watch.asked(call)


def _in_time(call: Call, span: Span) -> bool:
    """Tell whether it was taken when there were descriptors, and then soon."""
    return call.begun is not None and span.end <= call.begun.at <= span.end + SOON_S


FILE_SCENARIOS = (Scenario("fg8-files", "no descriptors for some seconds", ("FG8",), _draft, _seen),)
