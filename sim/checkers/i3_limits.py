"""I3: what is admitted never exceeds a limit.

A limit is a `setting` named `limit:concurrency:<key>`: so many calls of that client key are being answered at
once, over all gateways. Other limits, of requests, tokens and money, are judged here once the product has them; a
run without such settings has nothing to break. Where Redis is away limits are skipped (FR1), so nothing is judged
then.
"""

from collections.abc import Iterator

from sim.checkers.violation import Violation
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.journal.spans import any_overlaps
from sim.journal.watch import Watch, watch_of

CODE = "I3"
TITLE = "no more is admitted than a limit allows"

CONCURRENCY = "limit:concurrency:"

REDIS_FAULTS = ("redis_away", "redis_hung")


def check(journal: Journal) -> Iterator[Violation]:
    """Find moments with more calls of one key under way than its limit."""
    watch = watch_of(journal)
    for fact in journal.of("setting"):
        name = fact.text("name")
        if name.startswith(CONCURRENCY):
            yield from _never_more(watch, name.removeprefix(CONCURRENCY), int(fact.number("value")))


def _never_more(watch: Watch, key: str, limit: int) -> Iterator[Violation]:
    spans = watch.fault_spans(*REDIS_FAULTS)
    steps: list[tuple[float, int, str]] = []
    for call in watch.calls.values():
        if call.begun is not None and call.sents and call.sents[0].text("key") == key and call.status == 200:
            # Under way from the head on; the client sees the end a moment later than the store.
            steps.extend(((call.begun.at, 1, call.name), (_surely_until(call), -1, call.name)))
    busy = 0
    for at, step, name in sorted(steps):
        busy += step
        if step > 0 and busy > limit and not any_overlaps(spans, at - 1, at):
            yield Violation(CODE, at, f"{busy} calls of key {key} at once, its limit is {limit}", name)


def _surely_until(call: Call) -> float:
    """Give until when a call was certainly being answered: a moment before its client saw the end."""
    assert call.begun is not None
    return max(call.begun.at, call.over_at - 0.5)
