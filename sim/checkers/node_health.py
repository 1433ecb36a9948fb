"""How the health of a machine of ours may move, as a gateway's gauge tells it; a part of I9.

Rules: only a generated token brings a node back (healthy again), whoever of the gateways has got it: since shortly
before it turned bad some answer of that node must have held something. A list of models proves nothing.
"""

import math
from collections import defaultdict
from collections.abc import Iterator

from sim.checkers.violation import Violation
from sim.journal.calls import Exchange
from sim.journal.journal import Journal
from sim.journal.watch import Watch

CODE = "I9"

HEALTHY = 0

NEWS_S = 15.0
"""A token that another gateway got just before reaches this one as news; a node is looked at every few seconds."""


def check_node_health(watch: Watch, journal: Journal) -> Iterator[Violation]:
    """Find nodes that were said to be healthy again although they had generated nothing."""
    asked: dict[str, list[Exchange]] = defaultdict(list)
    for exchange in watch.exchanges:
        asked[exchange.target].append(exchange)
    bad_since: dict[tuple[str, str], float] = {}
    for fact in journal.of("gauge", "host_up"):
        if fact.kind == "host_up":
            bad_since = {of: at for of, at in bad_since.items() if of[0] != fact.host}
        elif fact.members["name"] == "node_health":
            of = (fact.host, fact.text("label"))
            if math.isnan(fact.number("value")):
                bad_since.pop(of, None)  # another machine from here on, or none
                continue
            if fact.number("value") != HEALTHY:
                bad_since.setdefault(of, fact.at)
                continue
            since = bad_since.pop(of, None)
            if since is None or watch.host(fact.host).doubled(fact.at):
                continue
            if not any(_spoke(one, since - NEWS_S, fact.at) for one in asked[of[1]]):
                why = f"it has generated nothing since {since:.3f} s, when it was not"
                what = f"{fact.host} said that {of[1]} is healthy; {why}"
                yield Violation(CODE, fact.at, what)


def _spoke(exchange: Exchange, since: float, until: float) -> bool:
    """Tell whether it may have given a token in this time."""
    if exchange.asked.at > until or exchange.told_at < since:
        return False
    return exchange.told is None or exchange.says("visible") or exchange.says("finished")
