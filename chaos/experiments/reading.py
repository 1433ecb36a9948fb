"""Questions to a run that is over: which calls met a fault, who answered them, what a replica said of itself.

Not here: what must be seen (the experiments), how a call was added up (`traffic/measured.py`).
"""

import math
from collections.abc import Iterable, Iterator

from chaos.experiments.experiment import Broken
from chaos.stand.client_keys import STRANGER
from chaos.traffic.measured import GOOD
from sim.journal.calls import Call
from sim.journal.fact import Fact

NODES = "nodes_only"
CLOUD = "cloud_only"

EITHER = frozenset({None, "nodes_first"})
"""Placements that may be answered by a node and by the cloud."""


def calls_of(broken: Broken, *, since_s: float = 0.0, until_s: float = math.inf) -> list[Call]:
    """Give the calls sent in a span, in seconds from the beginning of the fault; no stale ones, no strangers."""
    since, until = broken.began_at + since_s, min(broken.began_at + until_s, broken.watch.ends_at)
    return [
        call
        for call in broken.watch.calls.values()
        if since <= call.sent_at <= until and call.code != "stale" and key_of(call) != STRANGER
    ]


def in_fault(broken: Broken) -> list[Call]:
    """Give the calls that were sent while the fault was on."""
    return calls_of(broken, until_s=broken.ended_at - broken.began_at)


def after_fault(broken: Broken, seconds: float) -> list[Call]:
    """Give the calls that were sent so long after its end, or later."""
    return calls_of(broken, since_s=broken.ended_at - broken.began_at + seconds)


def felt_by_all(broken: Broken) -> int:
    """Count every call that was sent while the fault was on."""
    return len(in_fault(broken))


def key_of(call: Call) -> str:
    """Name the key that a call showed."""
    return call.sents[0].text("key")


def placed(calls: Iterable[Call], *placements: str | None) -> list[Call]:
    """Keep the calls that asked for one of these placements."""
    return [call for call in calls if call.sents[0].members["placement"] in placements]


def of_keys(calls: Iterable[Call], *names: str) -> list[Call]:
    """Keep the calls of these keys."""
    return [call for call in calls if key_of(call) in names]


def ended(calls: Iterable[Call]) -> list[Call]:
    """Keep the calls whose clients stayed to the end."""
    return [call for call in calls if call.left is None]


def good(calls: Iterable[Call]) -> list[Call]:
    """Keep the calls that had a whole answer."""
    return [call for call in calls if call.outcome in GOOD]


def told(calls: Iterable[Call], code: str) -> list[Call]:
    """Keep the calls that ended with an error code."""
    return [call for call in calls if call.code == code]


def answered_by(broken: Broken, calls: Iterable[Call], kind: str) -> list[Call]:
    """Keep the calls that a target answered whose name begins so: `node`, `cloud`."""
    return [
        call
        for call in calls
        if any(one.target.startswith(kind) for one in broken.watch.asked_for.get(call.name, ()))
    ]


def unasked(broken: Broken, calls: Iterable[Call]) -> list[Call]:
    """Keep the calls for which no target was asked."""
    return [call for call in calls if not broken.watch.asked_for.get(call.name)]


def unbooked(broken: Broken, calls: Iterable[Call]) -> list[Call]:
    """Keep the calls of which the ledger has no row."""
    return [call for call in calls if call.request_id and call.request_id not in broken.watch.usages]


def looks(broken: Broken, since: float, until: float, *gateways: str) -> list[Fact]:
    """Give what replicas said of their readiness in a span of the run; also where one said nothing."""
    found: Iterator[Fact] = broken.journal.of("readyz")
    return [fact for fact in found if since <= fact.at <= until and (not gateways or fact.host in gateways)]


def share(part: int, whole: int) -> str:
    """Write `3 of 4`."""
    return f"{part} of {whole}"
