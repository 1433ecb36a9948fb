"""What a draft must not say: a mistyped name would be a world without its fault, and would pass.

Only drafts as scenarios draw them are looked at; a shrunk one may name what was left out.
"""

import math
from collections.abc import Collection, Iterator

from sim.draft import Draft, Level
from sim.faults.plan import KINDS, Fault, On

ROUTES = ("chat", "completions", "embeddings")
PLACEMENTS = ("nodes_first", "nodes_only", "cloud_first", "cloud_only", None)

MEANT = {
    "status": (500.0, 599.0),
    "fewer_slots": (1.0, math.inf),
    "redis_unfit": (1.0, 2.0),
    "smaller_window": (1.0, math.inf),
    "sliced": (1.0, math.inf),
    "thin_link": (1.0, math.inf),
}
"""Amounts that mean anything, where not all do."""

LOCAL = "local"
"""Whose price that of our own machines is."""

PRICE_MAX = 10_000
"""Dollars per million tokens that a price may be at most."""

NEEDS_BYTES = (
    *("partition", "thin_link", "sliced", "redis_cut", "redis_failover", "redis_garbled"),
    *("redis_full", "redis_readonly", "redis_moved", "redis_forgets_scripts", "redis_unfit", "no_descriptors"),
)
"""Faults that mean nothing where there are no bytes."""


def complaints(draft: Draft) -> Iterator[str]:
    """Give what is wrong with a draft, one line each."""
    for fault in draft.faults:
        yield from _of_fault(draft, fault)
    yield from _of_money(draft)
    keys = [*(key.name for key in draft.keys), "stranger"]
    for number, call in enumerate(draft.calls):
        said = f"call {number}"
        yield from _not_among(f"{said} is by key", call.key, keys)
        yield from _not_among(f"{said} takes route", call.route, ROUTES)
        yield from _not_among(f"{said} has placement", call.placement, PLACEMENTS)
        if call.path and draft.level is Level.PORTS:
            yield f"{said} has a request target of its own, which means nothing at level PORTS: use WIRE"
        if not 0 <= call.gateway < draft.replicas:
            yield f"{said} goes to gateway {call.gateway}; this world has {draft.replicas}, counted from 0"


def _of_money(draft: Draft) -> Iterator[str]:
    vendors = [*(vendor.name for vendor in draft.vendors), LOCAL]
    for price in draft.prices:
        yield from _not_among("a price is that of", price.vendor, vendors)
        if not 0 <= min(price.input, price.output) <= max(price.input, price.output) <= PRICE_MAX:
            yield f"the price of {price.vendor!r} is no number from 0 to {PRICE_MAX} micro-dollars per token"
    for whose, limits in [*((f"key {key.name!r}", key.limits) for key in draft.keys), ("the team", draft.team)]:
        for name in limits.__slots__:
            if (getattr(limits, name) or 0) < 0:
                yield f"{whose} has {name} {getattr(limits, name)}: a limit is not negative"
        if (limits.day is not None or limits.month is not None) and not draft.prices:
            yield f"{whose} has a limit of dollars, and nothing has a price"


def _of_fault(draft: Draft, fault: Fault) -> Iterator[str]:
    said = f"fault {fault.kind!r}"
    kind = KINDS.get(fault.kind)
    if kind is None:
        yield f"there is no {said}: 'sim list --faults' names them"
        return
    yield from _not_among(f"{said} is aimed at", fault.target, _aims(draft, kind.on))
    low, high = MEANT.get(fault.kind, (-math.inf, math.inf))
    if not low <= fault.amount <= high:
        yield f"{said} has amount {fault.amount:g}; between {low:g} and {high:g} it means something"
    if not 0 <= fault.at_s <= draft.runs_s:
        yield f"{said} comes at {fault.at_s:g} s; this world runs for {draft.runs_s:g} s"
    if not kind.instant and fault.lasts_s <= 0:
        yield f"{said} has no duration: give lasts_s"
    if draft.level is Level.PORTS and fault.kind in NEEDS_BYTES:
        yield f"{said} means nothing at level PORTS: use WIRE"


def _aims(draft: Draft, on: On) -> tuple[str, ...]:
    match on:
        case On.TARGET:
            return (*(vendor.name for vendor in draft.vendors), *(node.name for node in draft.nodes))
        case On.NODE:
            return tuple(node.name for node in draft.nodes)
        case On.GATEWAY:
            return tuple(f"gw{number + 1}" for number in range(draft.replicas))
        case On.PAIR:
            return tuple(f"{one}>{other}" for one in _aims(draft, On.GATEWAY) for other in _aims(draft, On.TARGET))
        case On.POSTGRES | On.REDIS | On.LEDGER | On.OPERATOR:
            return ("",)


def _not_among(what: str, name: str | None, names: Collection[str | None]) -> Iterator[str]:
    if name not in names:
        known = ", ".join(repr(one) for one in names if one is not None)
        yield f"{what} {name!r}; this world has {known}"
