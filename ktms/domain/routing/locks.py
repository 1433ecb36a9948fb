"""Which placement holds for a call: wishes, defaults, locks, and the incident toggle `force_cloud`.

Precedence of wishes and defaults: client, key, model, global. Locks bind clients: whoever asks for something
else is refused, never overridden in silence. Where administrators' own words differ, `nodes_only` wins (it may
protect data), then the most specific lock; an unlocked default never weakens a lock.
"""

from dataclasses import dataclass

from ktms.domain.access.client_key import ClientKey
from ktms.domain.catalogue import PolicySpec
from ktms.domain.errors import ErrorCode, Problem, problem
from ktms.domain.placement import Placement
from ktms.domain.snapshot import Chain, Model

FORCE_CLOUD_BACK_S = 60.0
"""An incident toggle is not taken back within seconds."""


@dataclass(frozen=True, slots=True)
class _Ruled:
    """What administrators decided, and whether clients may deviate from it."""

    placement: Placement
    locked: bool


def placement_for(
    policy: PolicySpec, entry: Model | Chain, key: ClientKey, *wishes: Placement | None
) -> Placement | Problem:
    """Give the placement of a call, or say why what was asked for may not be.

    `wishes` are the client's own words, the one that goes before the others first; None: nothing was said there.
    """
    wish = next((one for one in wishes if one is not None), None)
    ruled = _ruled(policy, entry, key)
    if ruled.locked and wish not in {None, ruled.placement}:
        return _refused(f"The placement is locked to {ruled.placement.value}.")
    chosen = wish or ruled.placement
    if key.placements is not None and chosen not in key.placements:
        if wish is not None or ruled.locked or not key.placements:
            return _refused(f"This key may not use the placement {chosen.value}.")
        chosen = _narrowest(key.placements)
    return _in_force(policy, entry, key, wishes, chosen)


def _ruled(policy: PolicySpec, entry: Model | Chain, key: ClientKey) -> _Ruled:
    levels = [(key.placement, key.placement_lock), (policy.placement, policy.placement_lock)]
    if isinstance(entry, Model):
        levels.insert(1, (entry.placement, entry.placement_lock))
    default = next(placement for placement, _ in levels if placement is not None)
    locked = [placement or default for placement, lock in levels if lock]
    if not locked:
        return _Ruled(default, locked=False)
    if Placement.NODES_ONLY in {default, *locked}:
        return _Ruled(Placement.NODES_ONLY, locked=True)
    return _Ruled(locked[0], locked=True)


def _narrowest(placements: frozenset[Placement]) -> Placement:
    """Among those a key may use, when none of them is a default: keep data at home if that is one of them."""
    if Placement.NODES_ONLY in placements:
        return Placement.NODES_ONLY
    return next(placement for placement in Placement if placement in placements)


def _in_force(
    policy: PolicySpec,
    entry: Model | Chain,
    key: ClientKey,
    wishes: tuple[Placement | None, ...],
    chosen: Placement,
) -> Placement | Problem:
    if not policy.force_cloud:
        return chosen
    if _says_nodes_only(entry, key, wishes):
        return problem(
            ErrorCode.NO_NODE_AVAILABLE,
            "Own nodes are switched off for now, and this call may run on nothing else.",
            retry_after_s=FORCE_CLOUD_BACK_S,
        )
    return Placement.CLOUD_ONLY


def _says_nodes_only(entry: Model | Chain, key: ClientKey, wishes: tuple[Placement | None, ...]) -> bool:
    """Whether anybody but the global default says so, also one whose word another one's goes before.

    The toggle goes beyond what anybody chose, so whoever wants to keep data at home is heard.
    """
    said = {*wishes, key.placement}
    if isinstance(entry, Model):
        said.add(entry.placement)
    return Placement.NODES_ONLY in said or key.placements == frozenset({Placement.NODES_ONLY})


def _refused(message: str) -> Problem:
    return problem(ErrorCode.PLACEMENT_LOCKED, message)
