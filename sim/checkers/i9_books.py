"""I9: what a gateway tells its operators is what happened.

Each call that a gateway began has exactly one record, with the status and code that its client saw; nothing is
recorded that nobody asked for. Counts are never negative. A breaker's gauge moves as a breaker can: it opens from
closed or after a trial, a trial comes after it was open, and only a trial closes it; only a token heals a node.
"""

from collections import Counter
from collections.abc import Iterator

from sim.checkers.documented import STATUS_OF
from sim.checkers.node_health import check_node_health
from sim.checkers.violation import Violation
from sim.journal.calls import Call, attempts_of
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of

CODE = "I9"
TITLE = "records and gauges equal what happened"

COMPLETE = frozenset({"whole", "done", "error", "error_event"})
"""Outcomes in which the client saw the whole answer."""

VENDORS_CODE = "vendors_own"
"""Stands in a record for a code that a vendor made up."""

CLIENT_LEFT = 499

CLOSED, HALF_OPEN, OPEN = 0, 1, 2

MOVES = frozenset({(CLOSED, OPEN), (OPEN, HALF_OPEN), (HALF_OPEN, CLOSED), (HALF_OPEN, OPEN)})


def check(journal: Journal) -> Iterator[Violation]:
    """Find records and gauges that do not fit the history."""
    watch = watch_of(journal)
    for records in watch.records.values():
        if len(records) > 1:
            at, name = records[1].at, records[1].members["request_id"]
            hosts = " and ".join(record.host for record in records)
            yield Violation(CODE, at, f"{name} was recorded {len(records)} times, by {hosts}")
    for call in watch.calls.values():
        yield from _is_recorded(watch, call)
    for records in watch.records.values():
        yield from _fits_its_story(records[0])
    yield from _no_more_than_asked(watch, journal)
    for fact in journal.of("sample", "quiet"):
        yield from _not_negative(fact)
    yield from _breakers_move_rightly(watch, journal)
    yield from check_node_health(watch, journal)
    yield from _snapshots_never_go_back(watch, journal)


def _snapshots_never_go_back(watch: Watch, journal: Journal) -> Iterator[Violation]:
    """Find processes that put an older version of the catalogue in force again."""
    versions: dict[str, float] = {}
    for fact in journal.of("gauge", "host_crashed", "host_stopped"):
        if fact.kind != "gauge":
            versions.pop(fact.host, None)
        elif fact.members["name"] == "snapshot_version":
            before, versions[fact.host] = versions.get(fact.host, 0.0), fact.number("value")
            if versions[fact.host] < before and not watch.host(fact.host).doubled(fact.at):
                what = f"{fact.host} went back from version {before:.0f} to {versions[fact.host]:.0f}"
                yield Violation(CODE, fact.at, what)


def _is_recorded(watch: Watch, call: Call) -> Iterator[Violation]:
    if not call.request_id or not call.ends:
        return
    records = watch.records.get(call.request_id, [])
    if not records:
        gone = call.left is not None or call.takes_its_time
        until = watch.ends_at if gone else call.over_at + 1
        if watch.over and not watch.host(call.gateway).crashed(call.sent_at, until):
            what = f"{call.gateway} has no record of {call.request_id}, which ended {call.outcome}"
            yield Violation(CODE, call.over_at, what, call.name)
        return
    record = records[0]
    if record.host != call.gateway:
        yield Violation(CODE, record.at, f"sent to {call.gateway}, recorded by {record.host}", call.name)
    if call.outcome not in COMPLETE:
        return
    if record.members["status"] != call.status or not _is_code(record, call) or record.has("cancelled"):
        seen = f"status {call.status} and code {call.code or None}"
        told = f"{record.members['status']}, {record.members['code']}"
        cancelled = ", cancelled" if record.has("cancelled") else ""
        what = f"its client saw {seen}, {record.host} recorded {told}{cancelled}"
        yield Violation(CODE, record.at, what, call.name)


def _fits_its_story(record: Fact) -> Iterator[Violation]:
    """Hold a record's status against its own attempts: a good answer comes from one that was `ok`, or was kept."""
    words = [attempt.word for attempt in attempts_of(record)]
    good = record.members["status"] == 200 and not record.members["code"]
    wrong = ""
    told = words[-1:] in (["ok"], ["hit"]) or record.has("replayed")
    if good and not record.has("cancelled") and not told:
        wrong = "a good answer"
    elif record.members["status"] == CLIENT_LEFT and not record.has("cancelled"):
        wrong = "a client that left without leaving"
    if wrong:
        what = f"{record.host} recorded {record.members['request_id']} as {wrong}, its attempts: {' '.join(words)}"
        yield Violation(CODE, record.at, what)


def _is_code(record: Fact, call: Call) -> bool:
    code = str(record.members["code"] or "")
    return code == call.code or (code == VENDORS_CODE and call.code not in STATUS_OF)


def _no_more_than_asked(watch: Watch, journal: Journal) -> Iterator[Violation]:
    """Count per gateway: a record more than calls were sent tells of a call that never was."""
    sent = Counter(call.gateway for call in watch.calls.values())
    if not sent:
        return
    for host, count in Counter(fact.host for fact in journal.of("record")).items():
        if count > sent[host]:
            what = f"{host} has {count} records; {sent[host]} calls were sent to it"
            yield Violation(CODE, watch.ends_at, what)


def _not_negative(fact: Fact) -> Iterator[Violation]:
    for name, value in fact.members.items():
        if isinstance(value, int | float) and value < 0:
            yield Violation(CODE, fact.at, f"{fact.host} has {name} {value}")


def _breakers_move_rightly(watch: Watch, journal: Journal) -> Iterator[Violation]:
    states: dict[tuple[str, str], int] = {}
    for fact in journal.of("gauge", "host_up"):
        if fact.kind == "host_up":
            states = {key: state for key, state in states.items() if key[0] != fact.host}
        elif fact.members["name"] == "breaker_state":
            label, value = fact.text("label"), int(fact.number("value"))
            before = states.get((fact.host, label), CLOSED)
            states[fact.host, label] = value
            if before != value and (before, value) not in MOVES and not watch.host(fact.host).doubled(fact.at):
                what = f"{fact.host} moved the breaker of {label} from {before} to {value}"
                yield Violation(CODE, fact.at, what)
