import pytest

from ktms.domain.access.limits import UNLIMITED, Limits
from ktms.domain.catalogue import ClientKeySpec, TenantSpec
from ktms.domain.ids import KeyId, Region
from ktms.domain.issued_key import issued_key
from ktms.domain.placement import Placement

TENANT = TenantSpec("team", Limits(rpm=5))
ID = KeyId("abcdefghij")


def test_what_is_not_restricted_stays_unrestricted() -> None:
    key = issued_key(ClientKeySpec("app", "team"), TENANT, ID, b"digest")
    assert (key.models, key.placements, key.allowed_regions, key.limits) == (None, None, None, UNLIMITED)
    assert (key.id, key.digest, key.name, key.tenant, key.revoked) == (ID, b"digest", "app", "team", False)


def test_restrictions_become_sets() -> None:
    spec = ClientKeySpec(
        "app", "team", models=("m",), placements=(Placement.NODES_ONLY,), allowed_regions=("fr",), expires_at=3.5
    )
    key = issued_key(spec, TENANT, ID, b"digest", revoked=True)
    assert key.models == frozenset({"m"})
    assert key.placements == frozenset({Placement.NODES_ONLY})
    assert key.allowed_regions == frozenset({Region("fr")})
    assert (key.expires_at, key.revoked) == (3.5, True)


def test_the_limits_of_the_tenant_come_along() -> None:
    assert issued_key(ClientKeySpec("app", "team"), TENANT, ID, b"").tenant_limits == Limits(rpm=5)


def test_the_limits_of_another_tenant_are_our_own_mistake() -> None:
    with pytest.raises(AssertionError):
        issued_key(ClientKeySpec("app", "other"), TENANT, ID, b"")
