"""What is to be done with a call: which models, where they may run, in which tier and regions. Decided once.

Precedence everywhere: header, field, suffix, key default, then the entry's own. Not here: the rules of placement
and locks (`locks.py`), which targets are asked and in which order (`plan.py`), names (`names.py`).
"""

from dataclasses import dataclass
from typing import TypeVar

from ktms.domain.access.client_key import ClientKey
from ktms.domain.call import NO_CHOICES, Choices
from ktms.domain.errors import ErrorCode, Problem, problem
from ktms.domain.ids import ModelName, Region
from ktms.domain.placement import Placement
from ktms.domain.routing.locks import placement_for
from ktms.domain.routing.names import Resolved
from ktms.domain.routing.permitted import Regions, excluded_by_region, intersection
from ktms.domain.routing.window import shown_window
from ktms.domain.snapshot import Chain, Model, Snapshot

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided. `regions` None: anywhere; `tier` None: the entry has none; `cache` None: nothing was said.

    `regions` are those of policy and key; each model's own are applied by `plan.py`. `unsaid`: neither client
    nor key named a placement.
    """

    models: tuple[Model, ...]
    chain: ModelName | None
    placement: Placement
    tier: str | None
    regions: Regions
    interactive: bool
    cache: bool | None
    unsaid: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """One name a key may use, as `GET /v1/models` shows it."""

    id: str
    context_window: int | None
    placement: Placement


def choose(
    snapshot: Snapshot, resolved: Resolved, *, header: Choices, field: Choices, key: ClientKey
) -> Decision | Problem:
    """Decide about a call, or say why it may not be."""
    entry = resolved.entry
    if not _may_use(snapshot, entry, key):
        return problem(ErrorCode.MODEL_NOT_ALLOWED, f"This key may not use {entry.name!r}.", param="model")
    wishes = (header.placement, field.placement, resolved.suffix.placement)
    placement = placement_for(snapshot.policy, entry, key, *wishes)
    if isinstance(placement, Problem):
        return placement
    tier = _tier(entry, key, {"X-KTMS-Tier": header.tier, "ktms.tier": field.tier, "model": resolved.suffix.tier})
    if isinstance(tier, Problem):
        return tier
    decision = Decision(
        models=_models(entry, tier),
        chain=entry.name if isinstance(entry, Chain) else None,
        placement=placement,
        tier=tier,
        regions=_regions(snapshot, key),
        interactive=_first(header.interactive, field.interactive, key.interactive) or False,
        cache=_first(header.cache, field.cache),
        unsaid=not any((*wishes, key.placement)),
    )
    if excluded_by_region(decision.models, decision.placement, decision.regions, unsaid=decision.unsaid):
        return problem(
            ErrorCode.REGION_NOT_ALLOWED, f"{entry.name!r} is not served in a region allowed for this call."
        )
    return decision


def visible(snapshot: Snapshot, key: ClientKey) -> tuple[Listed, ...]:
    """List every name the key may use, in the catalogue's order: models, aliases, chains."""
    listed = (_listed(snapshot, name, entry, key) for name, entry in snapshot.names.items())
    return tuple(one for one in listed if one is not None)


def _listed(snapshot: Snapshot, name: str, entry: Model | Chain, key: ClientKey) -> Listed | None:
    decision = choose(snapshot, Resolved(entry, NO_CHOICES), header=NO_CHOICES, field=NO_CHOICES, key=key)
    if isinstance(decision, Decision):
        return Listed(name, shown_window(decision.models), decision.placement)
    if decision.code != ErrorCode.NO_NODE_AVAILABLE:
        return None
    # Only the incident toggle stands in its way for now: the key may use it, on nodes.
    models = _models(entry, None if isinstance(entry, Model) else entry.default_tier)
    return Listed(name, shown_window(models), Placement.NODES_ONLY)


def _may_use(snapshot: Snapshot, entry: Model | Chain, key: ClientKey) -> bool:
    """Whether the key lists the entry under any of its names; of a chain only the chain itself need be listed."""
    if key.models is None or entry.name in key.models:
        return True
    return any(snapshot.names.get(name) is entry for name in key.models)


def _tier(entry: Model | Chain, key: ClientKey, asked: dict[str, str | None]) -> str | Problem | None:
    """Give the tier of a chain; `asked` holds what the client said by where it said it, the first one counts."""
    place, tier = next(((place, tier) for place, tier in asked.items() if tier is not None), ("", None))
    if isinstance(entry, Model):
        if tier is None:
            return None
        return problem(ErrorCode.INVALID_REQUEST, f"The model {entry.name!r} has no tiers.", param=place)
    if tier is None:
        return key.tier if key.tier is not None and key.tier in entry.tiers else entry.default_tier
    if tier not in entry.tiers:
        known = ", ".join(entry.tiers)
        return problem(ErrorCode.INVALID_REQUEST, f"{entry.name!r} has no such tier, only: {known}.", param=place)
    return tier


def _models(entry: Model | Chain, tier: str | None) -> tuple[Model, ...]:
    if isinstance(entry, Model):
        return (entry,)
    assert tier is not None, "a chain has always a tier"
    return entry.tiers[tier]


def _regions(snapshot: Snapshot, key: ClientKey) -> Regions:
    everywhere = snapshot.policy.allowed_regions
    policy = frozenset(Region(region) for region in everywhere) if everywhere else None
    return intersection(policy, key.allowed_regions)


def _first(*values: T | None) -> T | None:
    return next((value for value in values if value is not None), None)
