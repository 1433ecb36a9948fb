"""Which `sometimes` marks a journal reached, as far as its facts tell; others are noted where they happen."""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator

from sim.journal.calls import Call, attempts_of
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.marks import SOMETIMES
from sim.journal.watch import Watch, watch_of

CHOKED_BYTES = 64 * 1024
"""High-water mark of a connection: with so much waiting for a client, its upstream is held back."""

CLOSED, HALF_OPEN, OPEN = 0, 1, 2
SUSPECT, DOWN = 1, 2

WAITED_S = 0.05
"""A slot that is free is taken within this."""

_WORDS = {"cold": "node.cold", "draining": "node.draining", "unknown": "fleet.unknown"}
"""Words of a record's attempts for nodes that were passed over."""


def hit(journal: Journal) -> Iterator[str]:
    """Give the marks reached, each once, in the order of the catalogue."""
    watch = watch_of(journal)
    found = dict.fromkeys(fact.text("name") for fact in journal.of("mark"))
    for fact in journal.facts:
        for name in _OF_FACTS.get(fact.kind, _nothing)(fact):
            found[name] = None
    for call in watch.calls.values():
        found.update(dict.fromkeys(_of_call(watch, call)))
    found.update(dict.fromkeys(_of_breakers(journal)))
    found.update(dict.fromkeys(_of_loads(journal)))
    found.update(dict.fromkeys(_of_orphans(watch, journal)))
    found.update(dict.fromkeys(_of_reservations(journal)))
    found.update(dict.fromkeys(_of_keys(watch, journal)))
    found.update(dict.fromkeys(_of_hosts(watch)))
    strange = sorted(found.keys() - SOMETIMES.keys())
    assert not strange, f"marks that are not in the catalogue: {strange}"
    yield from (name for name in SOMETIMES if name in found)


def _nothing(fact: Fact) -> Iterator[str]:
    del fact
    yield from ()


def _of_told(fact: Fact) -> Iterator[str]:
    if fact.members["status"] == 429 and fact.has("retry_after_s"):
        yield "rest.told"


def _of_keys_asked(fact: Fact) -> Iterator[str]:
    if fact.members["answer"] in ("away", "hung"):
        yield f"postgres.{fact.members['answer']}"


def _of_log(fact: Fact) -> Iterator[str]:
    names = {"snapshot_refused": "snapshot.refused", "probe_distrusted": "probe.distrusted"}
    name = names.get(fact.text("name"))
    if name is not None:
        yield name


def _of_renewed(fact: Fact) -> Iterator[str]:
    if fact.members["how"] in ("regained", "over"):
        yield f"lease.{fact.members['how']}"


def _of_record(fact: Fact) -> Iterator[str]:
    waited_s = fact.members.get("queue_s")
    words = {attempt.word: attempt.name for attempt in attempts_of(fact)}
    if isinstance(waited_s, int | float) and waited_s >= WAITED_S:
        yield "queue.gave_up" if "busy" in words else "queue.waited"
    if fact.members["code"] == "budget_unavailable":
        yield "budget.closed"
    for word, name in _WORDS.items():
        if word in words:
            yield name


def _of_gauge(fact: Fact) -> Iterator[str]:
    if fact.members["name"] == "node_health" and fact.members["value"] in (SUSPECT, DOWN):
        yield "node.suspect" if fact.members["value"] == SUSPECT else "node.down"


def _of_usage(fact: Fact) -> Iterator[str]:
    if fact.members["status"] == "ok":
        yield "node.answered" if fact.has("node") else "cloud.answered"


def _of_fault(fact: Fact) -> Iterator[str]:
    name = {"wall_jump": "wall.jumped", "lag": "loop.lagged"}.get(fact.text("fault"))
    if name is not None and fact.has("on"):
        yield name


def _of_dependency(fact: Fact) -> Iterator[str]:
    if fact.members["dependency"] == "redis":
        yield "redis.away"


def _of_sample(fact: Fact) -> Iterator[str]:
    if fact.number("buffered_bytes") >= CHOKED_BYTES:
        yield "stream.choked"


def _of_refused(fact: Fact) -> Iterator[str]:
    yield "budget.refused" if fact.members["limit"] in ("day", "month") else "limit.refused"


def _of_unknown(fact: Fact) -> Iterator[str]:
    if fact.members["operation"] == "reserve":
        yield "budget.uncounted"


def _of_reservations(journal: Journal) -> Iterator[str]:
    """Look for gateways that died between a reservation and its settlement."""
    open_calls: dict[str, str] = {}
    for fact in journal.of("quota_reserved", "quota_settled", "quota_given_back", "host_crashed"):
        if fact.kind == "quota_reserved":
            open_calls[fact.text("call")] = fact.host
        elif fact.kind != "host_crashed":
            open_calls.pop(fact.text("call"), None)
        elif fact.host in open_calls.values():
            yield "reservation.orphaned"


_OF_FACTS: dict[str, Callable[[Fact], Iterator[str]]] = {
    "told": _of_told,
    "keys_asked": _of_keys_asked,
    "log": _of_log,
    "usage": _of_usage,
    "fault": _of_fault,
    "dependency_failed": _of_dependency,
    "sample": _of_sample,
    "lease_renewed": _of_renewed,
    "record": _of_record,
    "gauge": _of_gauge,
    "quota_refused": _of_refused,
    "quota_unknown": _of_unknown,
    "quota_unread": lambda _: iter(("budget.unread",)),
    "quota_given_back": lambda _: iter(("limit.left_back",)),
    "lease_refused": lambda _: iter(("lease.full",)),
    "host_crashed": lambda _: iter(("host.crashed",)),
}


def _of_call(watch: Watch, call: Call) -> Iterator[str]:
    asked = watch.asked(call)
    if len({exchange.target for exchange in asked}) > 1:
        yield "call.retried"
    if asked and call.outcome == "error" and (call.status >= 500 or call.status == 429):
        yield "call.all_failed"
    if call.left is not None:
        yield "call.left_midway" if call.text else "call.left_early"
    if call.outcome == "error_event" and call.text:
        how = asked[-1].how if asked else ""
        yield "stream.stalled" if how in ("left", "silent") else "stream.interrupted"


def _of_breakers(journal: Journal) -> Iterator[str]:
    states: dict[tuple[str, str], int] = {}
    for fact in journal.of("gauge"):
        if fact.members["name"] != "breaker_state":
            continue
        of = (fact.host, fact.text("label"))
        before, states[of] = states.get(of, CLOSED), int(fact.number("value"))
        if states[of] == OPEN:
            yield "breaker.trial_lost" if before == HALF_OPEN else "breaker.opened"
        elif states[of] == HALF_OPEN:
            yield "breaker.trial"


def _of_loads(journal: Journal) -> Iterator[str]:
    begun: set[str] = set()
    for fact in journal.of("log", "model_loaded"):
        if fact.kind == "model_loaded" and fact.text("node") in begun:
            yield "model.loaded"
        elif fact.kind == "log" and fact.members["name"] == "model_loading":
            begun.update(word.removeprefix("node=") for word in fact.text("text").split())


def _of_orphans(watch: Watch, journal: Journal) -> Iterator[str]:
    ttl_s = watch.number("lease_ttl_s", math.inf)
    held: dict[str, str] = {}
    for fact in journal.of("lease_taken", "lease_released", "host_crashed"):
        if fact.kind == "lease_taken":
            held[fact.text("lease")] = fact.host
        elif fact.kind == "lease_released":
            held.pop(fact.text("lease"), None)
        elif fact.host in held.values() and fact.at + ttl_s < watch.ends_at:
            yield "lease.expired"


def _of_keys(watch: Watch, journal: Journal) -> Iterator[str]:
    known = {fact.members.get("name") or fact.members["key"] for fact in journal.of("key_made")}
    names = {
        fact.members["key"]: fact.members.get("name") or fact.members["key"] for fact in journal.of("key_made")
    }
    answered: dict[str, float] = {}  # the first moment at which a key had worked
    failed = _failed_look_ups(journal)
    for call in sorted(watch.calls.values(), key=lambda call: call.over_at):
        key = call.sents[0].text("key") if call.sents else ""
        if call.status == 401 and key not in known:
            yield "key.refused"
        if call.status == 200:
            answered.setdefault(key, call.over_at)
            if _unanswered(failed.get(call.gateway, []), call):
                yield "key.window_used"
        elif call.code == "auth_unavailable" and answered.get(key, call.sent_at) < call.sent_at:
            yield "key.window_closed"
    for fact in journal.of("key_revoked"):
        name = str(names.get(fact.members["key"], fact.members["key"]))
        used_again = any(
            call.sent_at > fact.at and call.sents[0].members["key"] == name for call in watch.calls.values()
        )
        if answered.get(name, fact.at) < fact.at and used_again:
            yield "key.revoked_midway"


def _failed_look_ups(journal: Journal) -> dict[str, list[float]]:
    """Give the moments at which look-ups failed, by gateway and in order."""
    failed: dict[str, list[float]] = defaultdict(list)
    for fact in journal.of("keys_asked"):
        if fact.members["answer"] != "found":
            failed[fact.host].append(fact.at)
    return failed


def _unanswered(failed: list[float], call: Call) -> bool:
    """Tell whether a look-up failed at its gateway between the call's sending and its head."""
    until = call.begun.at if call.begun is not None else call.over_at
    return bisect_right(failed, until) > bisect_left(failed, call.sent_at)


def _of_hosts(watch: Watch) -> Iterator[str]:
    for call in watch.calls.values():
        host = watch.host(call.gateway)
        if watch.swapped(call.gateway, call.sent_at, call.over_at):
            yield "snapshot.swapped"
        for drain_at in host.drains:
            if call.sent_at < drain_at < call.over_at:
                if call.outcome in ("done", "whole"):
                    yield "drain.waited"
                elif call.code == "draining":
                    yield "drain.cut"
