"""What a verified key may do. The form of key texts is in `key_form.py`, the time rules in `key_window.py`."""

from dataclasses import dataclass

from ktms.domain.access.limits import UNLIMITED, Limits
from ktms.domain.ids import KeyId, Region, TenantName
from ktms.domain.placement import Placement


@dataclass(frozen=True, slots=True)
class ClientKey:
    """One stored client key. `digest` is SHA-256 of the whole token; None in a set means "no restriction".

    `dollars_closed`: where its dollars, or its tenant's, cannot be counted, its calls are refused (FR3).
    `cache_ttl_s`: so long its answers are kept to be given again; 0: as the model says.
    """

    id: KeyId
    digest: bytes
    name: str
    tenant: TenantName
    models: frozenset[str] | None = None
    placements: frozenset[Placement] | None = None
    allowed_regions: frozenset[Region] | None = None
    placement: Placement | None = None
    placement_lock: bool = False
    tier: str | None = None
    interactive: bool = False
    limits: Limits = UNLIMITED
    tenant_limits: Limits = UNLIMITED
    dollars_closed: bool = False
    cache_ttl_s: int = 0
    expires_at: float | None = None  # wall seconds since 1970
    revoked: bool = False

    def __repr__(self) -> str:
        return f"ClientKey({self.id} {self.name!r} of {self.tenant})"


@dataclass(frozen=True, slots=True)
class AdminKey:
    """One stored admin key and its role."""

    id: KeyId
    digest: bytes
    name: str
    role: str
    revoked: bool = False
