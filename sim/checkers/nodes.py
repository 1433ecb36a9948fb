"""What a machine of ours must not be asked, and what must not come of it; a part of I12.

Rules: per gateway, and only what it must have known. A node that a look found draining, or without the model in
memory, is asked no more as soon as every replica has read it (FN3, FN4); so is one that answered that it loads,
and one whose gauge says that it is down. A token that only loads or proves counts as no call. An answer that names
another model than was asked for reaches no client (FN5), where the engine tells the truth about it. Not here:
whether a gauge may move as it does (`node_health.py`).
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator

from sim.checkers.violation import Violation
from sim.journal.calls import Exchange
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import Watch

CODE = "I12"

READ_WITHIN_S = 2.5
"""Every replica reads once a second what a look has found; what was let through before may be on its way."""

ON_ITS_WAY_S = 2.0

DOWN = 2

TRUTHFUL = frozenset({"ollama", "vllm", "agent"})
"""Engines whose answers name the model that answered."""

Shut = tuple[float, float, str]
"""Since when a node must not be asked, until when, and why."""


def check_nodes(watch: Watch, journal: Journal) -> Iterator[Violation]:
    """Find nodes that were asked although they drain, load or are down, and answers of another model."""
    asked: dict[str, list[Exchange]] = defaultdict(list)
    for exchange in watch.exchanges:
        if not (exchange.asked.has("cloud") or exchange.late or exchange.is_repeat) and exchange.call:
            asked[exchange.target].append(exchange)
    unread = _unread(journal)
    for node, exchanges in asked.items():
        for since, until, why in _as_looked(journal, node):
            yield from _nobody_asks(watch, exchanges, (since + READ_WITHIN_S, until, why), unread)
        for gateway, shut in (*_as_told(watch, journal, node, exchanges), *_as_gauged(journal, node)):
            own = [exchange for exchange in exchanges if exchange.gateway == gateway]
            yield from _nobody_asks(watch, own, shut, {})
        for exchange in exchanges:
            yield from _is_of_its_model(watch, exchange)


def _unread(journal: Journal) -> dict[str, list[float]]:
    """Give when each gateway could not read what others had found."""
    found: dict[str, list[float]] = defaultdict(list)
    for fact in journal.of("leases_unknown"):
        if fact.members["operation"] in ("read", "post"):
            found[fact.host].append(fact.at)
    return found


def _as_looked(journal: Journal, node: str) -> Iterator[Shut]:
    """Give the times in which looks said that a node drains, or has no model in memory."""
    kinds = ("node_looked", "model_gone", "model_loaded")
    looks = [fact for fact in journal.of(*kinds) if fact.members["node"] == node]
    for name, word in (("draining", "drains"), ("cold", "has no model in memory")):
        since: Fact | None = None
        late = False  # what is told has been seen a little before, and a load may be over meanwhile
        for fact in looks:
            late = fact.kind == "model_loaded" or (late and fact.kind == "node_looked")
            if since is None and fact.kind == "node_looked" and fact.has(name) and not (late and name == "cold"):
                since = fact
            elif since is not None and _is_over(fact, name):
                yield since.at, fact.at, f"{since.host} saw at {since.at:.3f} s that it {word}"
                since = None


def _is_over(fact: Fact, name: str) -> bool:
    """Tell whether a look, or a load that is over, says so no more; one that was missed says nothing new."""
    if fact.kind != "node_looked":
        return name == "cold" and fact.kind == "model_loaded"
    return not fact.has(name) and fact.members["look"] in ("answered", "spoke")


def _as_told(watch: Watch, journal: Journal, node: str, exchanges: list[Exchange]) -> Iterator[tuple[str, Shut]]:
    """Give the times after a node answered a gateway that it loads, until it had loaded."""
    loaded_at = [fact.at for fact in journal.of("model_loaded") if fact.members["node"] == node]
    loading = {fact.text("call") for fact in journal.of("fault_active") if _is_loading(fact, node)}
    for exchange in exchanges:
        if exchange.call not in loading or exchange.status != 503 or watch.call(exchange.call).left is not None:
            continue
        place = bisect_right(loaded_at, exchange.told_at)
        until = loaded_at[place] if place < len(loaded_at) else watch.ends_at
        why = f"it had said at {exchange.told_at:.3f} s that it loads"
        yield exchange.gateway, (exchange.told_at + ON_ITS_WAY_S, until, why)


def _is_loading(fact: Fact, node: str) -> bool:
    return fact.host == node and fact.members["id"] == "FN4" and bool(fact.members.get("call"))


def _as_gauged(journal: Journal, node: str) -> Iterator[tuple[str, Shut]]:
    """Give the times in which a gateway said that a node is down."""
    since: dict[str, float] = {}
    for fact in journal.of("gauge", "host_up", "host_crashed", "host_stopped"):
        if fact.kind == "gauge" and (fact.members["name"], fact.members["label"]) != ("node_health", node):
            continue
        down_at = since.pop(fact.host, None)
        if down_at is not None:
            why = f"{fact.host} said at {down_at:.3f} s that it is down"
            yield fact.host, (down_at + ON_ITS_WAY_S, fact.at, why)
        if fact.kind == "gauge" and fact.members["value"] == DOWN:
            since[fact.host] = fact.at


def _nobody_asks(
    watch: Watch, exchanges: Iterable[Exchange], shut: Shut, unread: dict[str, list[float]]
) -> Iterator[Violation]:
    since, until, why = shut
    for exchange in exchanges:
        at = exchange.asked.at
        if not since < at < until or _may_not_know(watch, exchange, since - READ_WITHIN_S, unread):
            continue
        what = f"{exchange.gateway} asked {exchange.target} (exchange {exchange.number}), {why}"
        yield Violation(CODE, at, what, exchange.call)


def _may_not_know(watch: Watch, exchange: Exchange, since: float, unread: dict[str, list[float]]) -> bool:
    """Tell whether the gateway began, stood still or could not read the board since then."""
    host, at = watch.host(exchange.gateway), exchange.asked.at
    if host.changed(since, at) or host.stood_still_s(since, at) > 0:
        return True
    return any(since <= moment <= at for moment in unread.get(exchange.gateway, ()))


def _is_of_its_model(watch: Watch, exchange: Exchange) -> Iterator[Violation]:
    call = watch.call(exchange.call)
    if not exchange.says("other_model") or watch.text(f"engine:{exchange.target}") not in TRUTHFUL:
        return
    said = "" if exchange.told is None else exchange.told.text("text")
    if call.text and said.startswith(call.text):
        what = f"its client got text of {exchange.target}, which answered with another model"
        yield Violation(CODE, call.over_at, what, call.name)
