"""From what was declared of a client key to what the data plane verifies."""

from ktms.domain.access.client_key import ClientKey
from ktms.domain.catalogue import ClientKeySpec, DollarLimitMode, TenantSpec
from ktms.domain.ids import KeyId, Region, TenantName


def issued_key(
    spec: ClientKeySpec, tenant: TenantSpec, key_id: KeyId, digest: bytes, *, revoked: bool = False
) -> ClientKey:
    """Make the verified form of a key; the limits of its tenant come along, so one look-up gives all."""
    assert tenant.name == spec.tenant, "a key brings the limits of its own tenant"
    return ClientKey(
        id=key_id,
        digest=digest,
        name=spec.name,
        tenant=TenantName(spec.tenant),
        models=None if spec.models is None else frozenset(spec.models),
        placements=None if spec.placements is None else frozenset(spec.placements),
        allowed_regions=None if spec.allowed_regions is None else frozenset(map(Region, spec.allowed_regions)),
        placement=spec.placement,
        placement_lock=spec.placement_lock,
        tier=spec.tier,
        interactive=spec.interactive,
        limits=spec.limits,
        tenant_limits=tenant.limits,
        dollars_closed=DollarLimitMode.CLOSED in (spec.dollar_limit_mode, tenant.dollar_limit_mode),
        cache_ttl_s=spec.cache_ttl_s,
        expires_at=spec.expires_at,
        revoked=revoked,
    )
