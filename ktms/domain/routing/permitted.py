"""Which targets of a model a call may use at all: by placement, by the model's own lock, by region.

Where a nodes_first call goes on to the cloud and the nodes it could have used all name one `cloud_model`, that
vendor model stands in for those of the model's cloud targets; where they differ, or one names none, it does not.
A model reached through a chain keeps its own lock: locked to nodes_only, its cloud targets do not exist for the
call. So it is with an unlocked nodes_only of its own where neither client nor key said anything (`unsaid`). A
target without a region is refused as soon as regions are limited.
"""

from dataclasses import replace

from ktms.domain.ids import Region
from ktms.domain.placement import Placement
from ktms.domain.snapshot import CloudTarget, LocalTarget, Model

Regions = frozenset[Region] | None
"""None: anywhere."""


def intersection(a: Regions, b: Regions) -> Regions:
    """Regions allowed by both; an empty set allows nothing."""
    if a is None or b is None:
        return b if a is None else a
    return a & b


def wants_nodes(model: Model, placement: Placement, *, unsaid: bool = False) -> bool:
    """Whether the model would be asked of our machines, be there any or not."""
    return bool(model.local) and placement.allows_nodes and _own(model, unsaid).allows_nodes


def local_targets(
    model: Model, placement: Placement, regions: Regions, *, unsaid: bool = False
) -> tuple[LocalTarget, ...]:
    """Give the model's local targets, each with the nodes that may be used; those without any are left out."""
    if not wants_nodes(model, placement, unsaid=unsaid):
        return ()
    allowed = intersection(regions, model.allowed_regions)
    if allowed is None:
        return tuple(target for target in model.local if target.nodes)
    within = (
        replace(target, nodes=tuple(node for node in target.nodes if node.region in allowed))
        for target in model.local
    )
    return tuple(target for target in within if target.nodes)


def cloud_targets(
    model: Model, placement: Placement, regions: Regions, *, unsaid: bool = False
) -> tuple[CloudTarget, ...]:
    """Give the model's cloud targets that may be used, in file order; with what stands in for them."""
    if not (placement.allows_cloud and _own(model, unsaid).allows_cloud):
        return ()
    targets = _in_the_cloud(model, placement, regions)
    allowed = intersection(regions, model.allowed_regions)
    if allowed is None:
        return targets
    return tuple(target for target in targets if target.vendor.region in allowed)


def _in_the_cloud(model: Model, placement: Placement, regions: Regions) -> tuple[CloudTarget, ...]:
    if placement is not Placement.NODES_FIRST or not model.stand_ins:
        return model.cloud
    local = local_targets(model, placement, regions)
    named = {node.cloud_model for target in local for node in target.nodes}
    name = named.pop() if len(named) == 1 else None
    return model.cloud if name is None else model.stand_ins[name]


def excluded_by_region(
    models: tuple[Model, ...], placement: Placement, regions: Regions, *, unsaid: bool = False
) -> bool:
    """Whether it is the regions that leave no target at all (and not the placement, or an empty catalogue)."""
    if regions is None and all(model.allowed_regions is None for model in models):
        return False
    for model in models:
        if _reaches(model, placement, intersection(regions, model.allowed_regions), unsaid=unsaid):
            return False
    return any(_reaches(model, placement, None, unsaid=unsaid) for model in models)


def _reaches(model: Model, placement: Placement, allowed: Regions, *, unsaid: bool) -> bool:
    """Whether one target is left; stops at the first, since this runs for every call with limited regions."""
    own = _own(model, unsaid)
    if placement.allows_cloud and own.allows_cloud:
        for cloud in model.cloud:
            if allowed is None or cloud.vendor.region in allowed:
                return True
    if not (placement.allows_nodes and own.allows_nodes):
        return False
    return any(allowed is None or node.region in allowed for local in model.local for node in local.nodes)


def _own(model: Model, unsaid: bool) -> Placement:
    """Give what the model itself allows: its lock, and a nodes_only of its own where nobody said otherwise."""
    if model.placement_lock and model.placement is not None:
        return model.placement
    return Placement.NODES_ONLY if unsaid and model.placement is Placement.NODES_ONLY else Placement.NODES_FIRST
