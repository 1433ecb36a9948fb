"""I8: after the healing everything comes to rest, and whoever leaves takes all that was done for it along.

At rest no call is in flight, no lease and nothing reserved, here or in the shared store, no client connected, each
connection to a target idle, each replica ready with the tasks of an idle one; and a call that is made then reaches
a target. A gateway that has stopped leaves nothing. A target hears within a second that the client of its answer
has left.
"""

import math
from collections.abc import Iterator

from sim.checkers.violation import Violation
from sim.journal.calls import Call, Exchange
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of

CODE = "I8"
TITLE = "after the healing nothing is left over"

LEFT_S = 1.0
"""A client that leaves ends the work of its target within this (docs/api.md, Streaming)."""

GRACE_S = 1.0
"""Links have latency, and a lot may be due at one moment."""

LOAD_MAX_S = 601.0
"""A model that has not been loaded by then is given up."""

TASKS_PER_LOAD = 3

SETTLED_S = 1.0
"""So long after it listens, a gateway runs all that it runs without calls."""


def check(journal: Journal) -> Iterator[Violation]:
    """Find what was left over, and targets that worked on for clients that had left."""
    watch = watch_of(journal)
    quiet = [fact for fact in journal.of("quiet") if fact.at >= watch.phases.get("quiet", 0.0)]
    idle = _idle_tasks(watch, journal, quiet)
    for fact in quiet:
        yield from _at_rest(fact, idle, _loads(watch, journal, fact))
    if "over" in watch.phases:
        yield from _all_are_quiet(watch, quiet)
        yield from _calls_work_again(watch)
    yield from _no_slot_is_left(watch, journal)
    yield from _nothing_stays_reserved(watch, journal)
    for fact in journal.of("left_over"):
        for name in ("tasks", "connections"):
            if fact.has(name):
                yield Violation(CODE, fact.at, f"{fact.host} has stopped and left {fact.members[name]} {name}")
    for call in watch.calls.values():
        if call.left is not None and call.left.members["how"] != "vanish":
            yield from _work_ends(watch, call)


def _no_slot_is_left(watch: Watch, journal: Journal) -> Iterator[Violation]:
    """Find slots and places in a queue that the shared store still counts when nobody holds or wants one."""
    begins_at = watch.phases.get("quiet", math.inf)
    for fact in journal.of("slots_seen", "waiters_seen"):
        if fact.at < begins_at:
            continue
        name, what = ("busy", "slots in use") if fact.kind == "slots_seen" else ("waiting", "waiters")
        if fact.kind == "slots_seen" and fact.number(name) <= _draining(journal, fact) + _proofs(watch, fact):
            continue
        if fact.has(name):
            of = fact.members.get("node", fact.members.get("model"))
            yield Violation(CODE, fact.at, f"{of} has {fact.members[name]} {what} at rest")


def _draining(journal: Journal, seen: Fact) -> int:
    """Give how many slots of a node may drain: the engine may work on for one who left just before the end."""
    return sum(
        fact.members.get("node") == seen.members["node"] and fact.at <= seen.at < fact.at + fact.number("drain_s")
        for fact in journal.of("lease_released")
        if fact.has("drain_s")
    )


def _proofs(watch: Watch, seen: Fact) -> int:
    """Count the slots of a node that gateways hold while it proves that it generates, or loads a model."""
    return sum(
        not one.call and one.target == seen.members["node"] and _is_under_way(one, seen.at)
        for one in watch.exchanges
    )


def _is_under_way(exchange: Exchange, at: float) -> bool:
    return exchange.asked.at <= at <= min(exchange.told_at, exchange.asked.at + LOAD_MAX_S)


def _nothing_stays_reserved(watch: Watch, journal: Journal) -> Iterator[Violation]:
    """Find reservations that the store of limits still counts when no call runs; only who reserves gives back."""
    begins_at = watch.phases.get("quiet", math.inf)
    if not any(fact.at >= begins_at for fact in journal.of("quota_reserved", "quota_refused")):
        return
    for fact in journal.of("quota_seen"):
        if fact.at >= begins_at and (fact.has("running") or fact.has("reserved")):
            what = f"{fact.members['running']} calls and {fact.members['reserved']} micro-dollars reserved at rest"
            yield Violation(CODE, fact.at, f"{fact.text('account')} has {what}")


def _idle_tasks(watch: Watch, journal: Journal, quiet: list[Fact]) -> float | None:
    """Give how many tasks a gateway without calls has: the fewest ever seen, since a leak only adds."""
    seen = [fact.number("tasks") for fact in quiet]
    for fact in journal.of("sample"):
        held = (fact.members["inflight"], fact.members["connections"], fact.members["upstream_open"])
        if not any(held) and not watch.host(fact.host).down(fact.at - SETTLED_S, fact.at):
            seen.append(fact.number("tasks"))
    return min(seen, default=None)


def _loads(watch: Watch, journal: Journal, fact: Fact) -> int:
    """Count the models that a gateway has loaded right then: that may take minutes, and no call waits for it.

    One that was asked of a machine which was gone is seen by nobody but the gateway.
    """
    seen = sum(
        not one.call and one.gateway == fact.host and _is_under_way(one, fact.at) for one in watch.exchanges
    )
    return seen + sum(
        fact.at - LOAD_MAX_S <= log.at <= fact.at and _is_lost(watch, log)
        for log in journal.of("log")
        if log.host == fact.host and log.members["name"] == "model_loading"
    )


def _is_lost(watch: Watch, log: Fact) -> bool:
    words = (word.partition("=") for word in log.text("text").split())
    return any(name == "node" and watch.stormy(node, log.at, log.at + GRACE_S) for name, _, node in words)


def _at_rest(fact: Fact, idle: float | None, loads: int) -> Iterator[Violation]:
    wrong = [f"{name} {fact.members[name]}" for name in ("inflight", "connections") if fact.has(name)]
    if fact.number("leases") > loads:
        wrong.append(f"leases {fact.members['leases']}")
    if not 0 <= fact.number("upstream_open") - fact.number("upstream_idle") <= loads:
        wrong.append(f"{fact.members['upstream_open']} upstream connections, {fact.members['upstream_idle']} idle")
    if not fact.has("ready"):
        wrong.append("not ready")
    if idle is not None and fact.number("tasks") > idle + TASKS_PER_LOAD * loads:
        wrong.append(f"{fact.members['tasks']} tasks, {idle:.0f} are enough")
    if wrong:
        yield Violation(CODE, fact.at, f"{fact.host} is not at rest: {', '.join(wrong)}")


def _all_are_quiet(watch: Watch, quiet: list[Fact]) -> Iterator[Violation]:
    told = {fact.host for fact in quiet}
    for name, host in watch.hosts():
        if host.ups and name not in told:
            yield Violation(CODE, watch.phases["over"], f"{name} was not seen at rest")


def _calls_work_again(watch: Watch) -> Iterator[Violation]:
    begins_at = watch.phases.get("quiet")
    if begins_at is None:
        return
    for call in watch.calls.values():
        if call.sent_at >= begins_at and not watch.asked_for.get(call.name) and not _may_be_in_vain(call):
            what = (
                f"{call.gateway} asked nobody for it after the healing: {call.outcome} {call.status} {call.code}"
            )
            yield Violation(CODE, call.over_at, what, call.name)


def _may_be_in_vain(call: Call) -> bool:
    """Tell whether its answer is about the call or its key, not about the condition of the gateway."""
    return 400 <= call.status < 500


def _work_ends(watch: Watch, call: Call) -> Iterator[Violation]:
    assert call.left is not None
    due_at = call.left.at + LEFT_S + GRACE_S
    for exchange in watch.asked_for.get(call.name, ()):
        if exchange.told_at <= due_at or _is_excused(watch, exchange, call.left.at):
            continue
        if exchange.told is None and not watch.over:
            continue
        until = "the end" if exchange.told is None else f"{exchange.told_at:.3f} s ({exchange.how})"
        what = f"{exchange.target} worked until {until}, its client left {call.gateway} at {call.left.at:.3f} s"
        yield Violation(CODE, min(exchange.told_at, watch.ends_at), what, call.name)


def _is_excused(watch: Watch, exchange: Exchange, left_at: float) -> bool:
    """Tell whether word of the leaving could not come through in time."""
    until = min(exchange.told_at, watch.ends_at)
    host = watch.host(exchange.gateway)
    slow = watch.stormy(exchange.target, exchange.asked.at, until) or exchange.late
    return slow or host.stood_still_s(left_at - GRACE_S, until) > 0 or host.crashed(left_at, until)
