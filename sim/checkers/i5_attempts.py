"""I5: nothing is asked again once the client has seen something; each target is asked at most once per call.

At most `attempts_max` targets are dialled, and each that was asked stands in the record. A request that was sent
once more because its reused connection was dead is the same attempt. What a target saw late (black hole, slow
link) says nothing about the order in which it was asked.
"""

from collections import Counter
from collections.abc import Iterator

from sim.checkers.violation import Violation
from sim.journal.calls import BUSY, DRAINING, Call, Exchange
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of

CODE = "I5"
TITLE = "no attempt after the first visible byte, each target at most once"

TAKES_NOTHING = frozenset({BUSY, DRAINING, "loading"})
"""A node that answers so was asked, and it was no attempt."""

NO_TIME_S = 0.001
"""An attempt that is over by its total time within this had none when it began."""


def check(journal: Journal) -> Iterator[Violation]:
    """Find calls that were restarted, or sent to one target twice, or more often than allowed."""
    watch = watch_of(journal)
    visible = {fact.text("call"): fact.at for fact in reversed(list(journal.of("call_visible")))}
    for call in watch.calls.values():
        asked = watch.asked(call)
        yield from _each_once(call, asked)
        yield from _nothing_after_visible(call, asked, visible.get(call.name))
        for record in watch.records.get(call.request_id, ())[:1] if call.request_id else ():
            yield from _all_recorded(watch, call, asked, record)
    yield from _never_too_many(watch)
    yield from _none_without_time(watch)


def _none_without_time(watch: Watch) -> Iterator[Violation]:
    """Find attempts that were begun when the time of their call was up: their targets are blamed for nothing."""
    for request_id, records in watch.records.items():
        dialled = watch.dialled(records[0])
        usages = watch.usages.get(request_id, [])
        if len(dialled) != len(usages):
            continue  # I2 says so
        for attempt, usage in zip(dialled, usages, strict=True):
            lasted_s = usage.members.get("duration_s")
            if attempt.word == "total_timeout" and isinstance(lasted_s, int | float) and lasted_s < NO_TIME_S:
                what = f"{usage.host} dialled {attempt.name} for {request_id} after its deadline"
                yield Violation(CODE, usage.at, what)


def _each_once(call: Call, asked: list[Exchange]) -> Iterator[Violation]:
    seen: dict[tuple[str, str], Exchange] = {}
    for exchange in asked:
        before = seen.setdefault(exchange.what, exchange)
        if before is not exchange:
            what = (
                f"{exchange.gateway} asked {exchange.target} again (exchange {exchange.number}) after exchange"
                f" {before.number} ended {before.how or 'never'} with status {before.status}"
            )
            yield Violation(CODE, exchange.asked.at, what, call.name)


def _nothing_after_visible(call: Call, asked: list[Exchange], visible_at: float | None) -> Iterator[Violation]:
    """Compare with the moment at which the client saw something, and with whose text it saw."""
    in_order = [exchange for exchange in asked if not exchange.late]
    if visible_at is not None:
        for exchange in in_order:
            if exchange.asked.at > visible_at:
                what = f"{exchange.target} was asked although the client had text since {visible_at:.3f} s"
                yield Violation(CODE, exchange.asked.at, what, call.name)
                return
    if not call.text or len(in_order) < 2:
        return
    speakers = [at for at, exchange in enumerate(in_order) if _is_from(call.text, exchange)]
    if speakers and speakers[-1] < len(in_order) - 1:
        after = in_order[speakers[-1] + 1]
        what = f"{after.target} was asked after the client got text of {in_order[speakers[-1]].target}"
        yield Violation(CODE, after.asked.at, what, call.name)


def _is_from(text: str, exchange: Exchange) -> bool:
    """Tell whether a client's text is the beginning of what a target said."""
    said = "" if exchange.told is None else exchange.told.text("text")
    return said.startswith(text)


def _all_recorded(watch: Watch, call: Call, asked: list[Exchange], record: Fact) -> Iterator[Violation]:
    story = Counter(attempt.name for attempt in watch.dialled(record))
    for target, count in (Counter(exchange.target for exchange in asked) - story).items():
        what = f"{record.host} asked {target} {count + story[target]} times and recorded {story[target]} of them"
        yield Violation(CODE, record.at, what, call.name)


def _never_too_many(watch: Watch) -> Iterator[Violation]:
    limit = watch.number("attempts_max", 6)
    for request_id, records in watch.records.items():
        dialled = [attempt.name for attempt in watch.dialled(records[0]) if attempt.word not in TAKES_NOTHING]
        if len(dialled) > limit:
            what = f"{records[0].host} dialled {', '.join(dialled)} for {request_id}; allowed are {limit:.0f}"
            yield Violation(CODE, records[0].at, what)
