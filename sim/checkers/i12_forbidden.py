"""I12: nobody is asked that must not be.

No cloud vendor for a call that may only run on our own machines, and no machine of ours for one that is
cloud_only: what the call or the name in it says, else its key's first placement, else the gateway's. No target
whose breaker must be open, no vendor that was told to rest (FV5 to FV7), no node that drains, loads or is down. A
gateway that leaves takes no new call after its delay (FG1). What a replica tells a balancer is true. No target is
asked by any path but those of the API, whatever clients write (N30).
"""

from collections.abc import Iterator

from sim.checkers.breakers import check_breakers
from sim.checkers.nodes import check_nodes
from sim.checkers.readiness import check_readiness
from sim.checkers.rests import check_rests
from sim.checkers.violation import Violation
from sim.journal.calls import Call, text_of
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of

CODE = "I12"
TITLE = "nobody is asked that must not be"

NODES_FIRST, NODES_ONLY, CLOUD_FIRST, CLOUD_ONLY = "nodes_first", "nodes_only", "cloud_first", "cloud_only"

BASES = ("/v1", "/openai/v1")
PATHS = frozenset(
    {
        ("GET", "/models"),
        ("POST", "/chat/completions"),
        ("POST", "/completions"),
        ("POST", "/embeddings"),
    }
)
"""All that is ever asked of a target, below its base."""

BESIDE = frozenset({("GET", "/metrics")})
"""What engines tell of their load lies beside their API."""

DRAIN_DELAY_S = 5.0

GRACE_S = 1.0
"""A call that was sent just before the gateway closed is still on its way."""


def check(journal: Journal) -> Iterator[Violation]:
    """Find requests at targets that policy, a breaker, a rest or a shutdown forbids."""
    watch = watch_of(journal)
    for call in watch.calls.values():
        if call.sents:
            yield from _placed_rightly(watch, call)
            yield from _not_begun_by_a_leaving_gateway(watch, call)
    yield from check_rests(watch)
    yield from check_breakers(watch, journal)
    yield from check_nodes(watch, journal)
    yield from check_readiness(watch, journal)
    yield from _asked_by_constant_paths(journal)


def _placed_rightly(watch: Watch, call: Call) -> Iterator[Violation]:
    allowed = (
        text_of(call.sents[0].members["placement"]),
        *_suffixes(call.sents[0].text("model")),
        *_words(watch, f"placements:{call.sents[0].text('key')}"),
    )
    placement = next((word for word in (*allowed, watch.text("placement")) if word), NODES_FIRST)
    of_key = _words(watch, f"placements:{call.sents[0].text('key')}")
    yield from _asked_in_order(watch, call, placement)
    no_cloud = placement == NODES_ONLY or of_key == [NODES_ONLY]
    no_nodes = placement == CLOUD_ONLY or of_key == [CLOUD_ONLY]
    for exchange in watch.asked_for.get(call.name, ()):
        if exchange.asked.has("cloud") if no_cloud else no_nodes and not exchange.asked.has("cloud"):
            what = f"{exchange.gateway} asked {exchange.target}, its placement is {placement}"
            yield Violation(CODE, exchange.asked.at, what, call.name)


def _asked_in_order(watch: Watch, call: Call, placement: str) -> Iterator[Violation]:
    """Find calls that went to their second choice and then back to the first."""
    if placement not in (NODES_FIRST, CLOUD_FIRST) or len(call.sents) != 1:
        return
    in_order = [exchange for exchange in watch.asked(call) if not (exchange.late or exchange.is_repeat)]
    second = None
    for exchange in in_order:
        if exchange.asked.has("cloud") is (placement == NODES_FIRST):
            second = second or exchange
        elif second is not None:
            what = (
                f"{exchange.gateway} asked {second.target} before {exchange.target}, its placement is {placement}"
            )
            yield Violation(CODE, exchange.asked.at, what, call.name)
            return


def _asked_by_constant_paths(journal: Journal) -> Iterator[Violation]:
    for fact in journal.of("path_seen"):
        method, path = fact.text("method"), fact.text("path")
        below = {(method, path.removeprefix(base)) for base in BASES if path.startswith(base)}
        if not (below & PATHS or (method, path) in BESIDE):
            yield Violation(CODE, fact.at, f"{fact.text('target')} was asked by {method} {path}")


def _suffixes(model: str) -> Iterator[str]:
    """Give the placement that the name of a model ends with, if any."""
    for word in model.split(":")[1:]:
        if word.replace("-", "_") in (NODES_FIRST, NODES_ONLY, CLOUD_FIRST, CLOUD_ONLY):
            yield word.replace("-", "_")


def _words(watch: Watch, setting: str) -> list[str]:
    return watch.text(setting).replace("|", " ").replace(",", " ").split()


def _not_begun_by_a_leaving_gateway(watch: Watch, call: Call) -> Iterator[Violation]:
    host = watch.host(call.gateway)
    closed_s = watch.longer_s(watch.number("drain_delay_s", DRAIN_DELAY_S)) + GRACE_S
    for drain_at in host.drains:
        if call.sent_at <= drain_at + closed_s or any(drain_at < at <= call.over_at for at in host.ups):
            continue
        if host.stood_still_s(drain_at, call.sent_at):
            continue
        for exchange in watch.asked_for.get(call.name, ()):
            what = f"{call.gateway}, shutting down since {drain_at:.3f} s, asked {exchange.target} for a new call"
            yield Violation(CODE, exchange.asked.at, what, call.name)
