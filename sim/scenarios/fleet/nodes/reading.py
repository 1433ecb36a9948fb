"""What a journal tells of our own machines: how sound each gateway thinks they are, who waited, who was sent away.

Rules: facts alone, never what a draft intended. Not here: one call with all that is known of it
(`sim/scenarios/showing.py`), which behaviour is the documented one (the scenarios).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from sim.journal.calls import Exchange, attempts_of
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.journal.watch import watch_of
from sim.scenarios.books.reading import refused_with
from sim.scenarios.showing import Story, spans

HEALTHY, SUSPECT, DOWN, BARRED = 0.0, 1.0, 2.0, 3.0
"""Health of a machine as the gauge has it; BARRED: it refuses our token."""

CONFINED_CODES = frozenset({"no_node_available", "node_state_unknown"})
"""What a call of the fleet alone is told where no machine can take it."""

WAITED_MIN_S = 0.05
"""Who got a slot sooner has not waited for it."""


@dataclass(frozen=True, slots=True)
class Wait:
    """One call that waited for a slot and got one; `since` is when it came."""

    gateway: str
    key: str
    since: float
    forecast_s: float
    waited_s: float

    @property
    def until(self) -> float:
        """When it got its slot."""
        return self.since + self.waited_s


def nodes_of(journal: Journal) -> list[str]:
    """Give the names of all machines."""
    names = (fact.text("name") for fact in journal.of("setting"))
    return [name.removeprefix("slots:") for name in names if name.startswith("slots:")]


def gateways_of(journal: Journal) -> list[str]:
    """Give the names of all gateways."""
    return [*dict.fromkeys(fact.host for fact in journal.of("host_up"))]


def health(journal: Journal, node: str) -> dict[str, list[tuple[Span, float]]]:
    """Give what each gateway took a machine for, and when; sound until something else is said."""
    turns: dict[str, list[tuple[float, float]]] = {host: [(0.0, HEALTHY)] for host in gateways_of(journal)}
    for fact in journal.of("gauge"):
        if (fact.members["name"], fact.members["label"]) == ("node_health", node):
            turns[fact.host].append((fact.at, fact.number("value")))
    end = watch_of(journal).ends_at
    return {
        host: [(Span(since, until), value) for (since, value), (until, _) in pairwise([*found, (end, HEALTHY)])]
        for host, found in turns.items()
    }


def health_at(journal: Journal, node: str, gateway: str, at: float) -> float:
    """Give what a gateway took a machine for at a moment."""
    return [value for span, value in health(journal, node)[gateway] if span.start <= at][-1]


def all_struck(journal: Journal, kinds: Iterable[str]) -> Span | None:
    """Give when each machine suffered one of these faults at the same time."""
    found = [[span for kind in kinds for span in spans(journal, kind, node)] for node in nodes_of(journal)]
    if not found or not all(found):
        return None
    both = Span(max(one[0].start for one in found), min(one[0].end for one in found))
    return both if both.start < both.end else None


def asked_by_calls(journal: Journal, node: str) -> list[Exchange]:
    """Give what a machine was asked for calls; a token that loads or proves is for none."""
    return [one for one in watch_of(journal).exchanges if one.target == node and one.call]


def loads_asked(journal: Journal, node: str) -> list[Exchange]:
    """Give what a machine was asked for no call."""
    return [one for one in watch_of(journal).exchanges if one.target == node and not one.call]


def logged(journal: Journal, name: str) -> Iterator[Fact]:
    """Give the lines of the log with this name."""
    return (fact for fact in journal.of("log") if fact.members["name"] == name)


def key_of(story: Story) -> str:
    """Give the name of the key of a call."""
    return story.call.sents[0].text("key")


def turned_away(story: Story, code: str = "no_node_available") -> bool:
    """Whether a call got a 503 that says when to come again, and no cloud was asked."""
    return refused_with(story.call, code, retry=True) and not clouds_asked(story)


def clouds_asked(story: Story) -> list[Exchange]:
    """Give the clouds that were asked for a call."""
    return [one for one in story.asked if one.asked.has("cloud")]


def words(story: Story) -> set[str]:
    """Give the words for our machines in the story of a call's attempts."""
    return {attempt.word for attempt in story.attempts if not attempt.name.startswith("cloud")}


def records(journal: Journal) -> dict[str, Fact]:
    """Give the record of each call, by its request id."""
    return {fact.text("request_id"): fact for fact in journal.of("record")}


def waits(journal: Journal) -> list[Wait]:
    """Give all calls that waited and got a slot, in the order in which they came."""
    found, told = [], records(journal)
    for call in watch_of(journal).calls.values():
        record = told.get(call.request_id) if call.request_id and call.sents else None
        if record is None or record.members["forecast_s"] is None or not record.has("node"):
            continue
        if any(attempt.word == "busy" for attempt in attempts_of(record)):
            continue
        waited_s = record.number("queue_s")
        if waited_s >= WAITED_MIN_S:
            since, key = record.at - record.number("total_s"), call.sents[0].text("key")
            found.append(Wait(record.host, key, since, record.number("forecast_s"), waited_s))
    return sorted(found, key=lambda wait: wait.since)


def in_turn(waited: Iterable[Wait], slack_s: float) -> bool:
    """Whether of each class and gateway whoever came first got its slot first, give or take some moments."""
    lines: dict[tuple[str, str], list[Wait]] = defaultdict(list)
    for wait in waited:
        lines[wait.gateway, wait.key].append(wait)
    return all(
        later.until >= earlier.until - slack_s for line in lines.values() for earlier, later in pairwise(line)
    )
