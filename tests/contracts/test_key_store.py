"""Contract of `ktms/ports/key_store.py`: one suite for every implementation."""

from collections.abc import Awaitable, Callable

import pytest

from ktms.domain.access.actor import Actor
from ktms.domain.access.limits import Limits
from ktms.domain.catalogue import Catalogue, ClientKeySpec
from ktms.domain.ids import KeyId, Region
from ktms.domain.placement import Placement
from ktms.ports.catalogue import StoreAway
from ktms.ports.config_store import ConfigStore
from ktms.ports.key_admin import KeyAdmin
from ktms.ports.key_store import KeyStore

UNKNOWN = KeyId("0000000000")


async def test_unknown_ids_are_absent(keys: KeyStore, admin: KeyAdmin, actor: Actor) -> None:
    key, _ = await admin.create(ClientKeySpec("app", "default"), actor=actor)
    assert set(await keys.find([key.id, UNKNOWN])) == {key.id}


async def test_many_keys_come_in_one_answer(keys: KeyStore, admin: KeyAdmin, actor: Actor) -> None:
    made = [(await admin.create(ClientKeySpec(f"app-{n}", "default"), actor=actor))[0] for n in range(3)]
    assert await keys.find({key.id for key in made}) == {key.id: key for key in made}


async def test_asking_for_none_gives_none(keys: KeyStore) -> None:
    assert await keys.find([]) == {}


async def test_a_revoked_key_is_found_as_revoked(keys: KeyStore, admin: KeyAdmin, actor: Actor) -> None:
    key, _ = await admin.create(ClientKeySpec("app", "default"), actor=actor)
    await admin.revoke(key.id, actor=actor)
    assert (await keys.find([key.id]))[key.id].revoked


async def test_a_key_brings_all_it_may_do_and_its_tenants_limits(
    keys: KeyStore, admin: KeyAdmin, config: ConfigStore, everything: Catalogue, actor: Actor
) -> None:
    await config.apply(everything, actor=actor, prune=False, dry_run=False)
    (listed,) = await admin.list()
    found = (await keys.find([listed.id]))[listed.id]
    assert found.models == frozenset({"small", "auto"})
    assert found.placements == frozenset({Placement.NODES_FIRST, Placement.NODES_ONLY})
    assert found.allowed_regions == frozenset({Region("fr")})
    assert (found.placement, found.placement_lock, found.tier) == (Placement.NODES_ONLY, True, "low")
    assert (found.interactive, found.expires_at) == (True, 2_000_000_000.123)
    assert found.cache_ttl_s == 60
    assert found.limits == Limits(600, 200_000, 50, 20_000_000, None)
    assert found.tenant_limits == Limits(usd_per_month_micros=500_000_000)


async def test_text_that_is_no_id_is_simply_unknown(keys: KeyStore) -> None:
    assert await keys.find([KeyId("'; drop table client_key; --"), KeyId("")]) == {}


async def test_a_store_that_is_away_says_so(keys: KeyStore, take_away: Callable[[], Awaitable[None]]) -> None:
    await take_away()
    with pytest.raises(StoreAway):
        await keys.find([UNKNOWN])
