"""Saved snapshots for tests: a whole catalogue, and keys that were verified."""

from dataclasses import replace

from ktms.domain.access.client_key import ClientKey
from ktms.domain.access.limits import Limits
from ktms.domain.ids import KeyId, Region, TenantName
from ktms.domain.placement import Placement
from ktms.domain.saved_snapshot import Moment, SavedKey, SavedSnapshot, saved_snapshot
from tests.engine.rig import snapshot

SAVED_AT = Moment(1_790_000_000.0, 500.0)


def verified_key(number: int, *, revoked: bool = False) -> SavedKey:
    """Give a key with every right restricted, verified some seconds ago."""
    key = ClientKey(
        KeyId(f"{number:010d}"),
        number.to_bytes(32),
        f"key-{number}",
        TenantName("default"),
        models=frozenset({"cloudy", "auto"}),
        placements=frozenset({Placement.NODES_FIRST, Placement.CLOUD_ONLY}),
        allowed_regions=frozenset({Region("fr")}),
        placement=Placement.NODES_FIRST,
        tier="high",
        limits=Limits(rpm=3, usd_per_day_micros=5),
        expires_at=1_800_000_000.5,
        revoked=revoked,
    )
    return SavedKey(key, SAVED_AT.wall - number % 100)


def saved_snapshot_of(version: int = 1, keys: tuple[SavedKey, ...] = ()) -> SavedSnapshot:
    """Give the snapshot of the rig's catalogue, saved at SAVED_AT."""
    assert SAVED_AT.monotonic is not None
    now = SAVED_AT.monotonic
    made = saved_snapshot(snapshot(version=version), (), confirmed_at=now, answered_at=now, now=SAVED_AT)
    return replace(made, keys=keys)
