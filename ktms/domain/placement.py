"""The four placements: where a call may run, and in which order."""

from enum import StrEnum


class Placement(StrEnum):
    """Own machines and cloud: which comes first, and whether the other is allowed at all."""

    NODES_FIRST = "nodes_first"
    NODES_ONLY = "nodes_only"
    CLOUD_FIRST = "cloud_first"
    CLOUD_ONLY = "cloud_only"

    @property
    def allows_cloud(self) -> bool:
        """False for nodes_only, whose caller may be protecting data."""
        return self is not Placement.NODES_ONLY

    @property
    def allows_nodes(self) -> bool:
        """False for cloud_only."""
        return self is not Placement.CLOUD_ONLY


def placement_named(text: str) -> Placement | None:
    """Read a placement with hyphens or underscores; None for anything else."""
    return _BY_NAME.get(text)


_BY_NAME = {
    spelling: placement
    for placement in Placement
    for spelling in (placement.value, placement.value.replace("_", "-"))
}
