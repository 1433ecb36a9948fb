"""The placements under their former address: `ktms/domain/placement.py` holds them, the catalogue needs them."""

from ktms.domain.placement import Placement, placement_named

__all__ = ["Placement", "placement_named"]
