"""What the stores in memory do for those who watch them; their contracts are in tests/contracts."""

import asyncio

import pytest

from ktms.adapters.memory.catalogue_store import MemoryCatalogueStore
from ktms.adapters.memory.change_feed import MemoryChangeFeed
from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.key_admin import MemoryKeyAdmin
from ktms.adapters.memory.key_store import MemoryKeyStore
from ktms.adapters.memory.store import NEWS_MAX, AuditEntry, MemoryStore
from ktms.domain.access.actor import Actor, Role
from ktms.domain.catalogue import Catalogue, ClientKeySpec, PolicySpec
from ktms.ports.catalogue import StoreAway
from ktms.ports.change_feed import CatalogueChanged
from ktms.ports.entropy import Entropy

ACTOR = Actor("tester", Role.OPERATOR)


async def test_every_change_leaves_an_audit_entry(entropy: Entropy) -> None:
    store = MemoryStore()
    config, admin = MemoryConfigStore(store, entropy), MemoryKeyAdmin(store, entropy)
    await config.apply(Catalogue(policy=PolicySpec(band=2)), actor=ACTOR, prune=False, dry_run=False)
    key, _ = await admin.create(ClientKeySpec("app", "default"), actor=ACTOR)
    await admin.revoke(key.id, actor=ACTOR)
    await admin.revoke(key.id, actor=ACTOR)
    assert store.audit == [
        AuditEntry(ACTOR, "apply", "catalogue"),
        AuditEntry(ACTOR, "create_key", "client_key app"),
        AuditEntry(ACTOR, "revoke_key", "client_key app"),
    ]


async def test_stores_of_one_state_see_each_others_changes(entropy: Entropy) -> None:
    store = MemoryStore()
    await MemoryConfigStore(store, entropy).apply(
        Catalogue(client_keys=(ClientKeySpec("app", "default"),)), actor=ACTOR, prune=False, dry_run=False
    )
    assert await MemoryCatalogueStore(store).version() == 1
    assert [key.name for key in (await MemoryKeyStore(store).find([store.keys[0].id])).values()] == ["app"]


async def test_being_away_ends_when_told_so() -> None:
    store = MemoryStore(away=True)
    with pytest.raises(StoreAway):
        await MemoryCatalogueStore(store).version()
    store.away = False
    assert await MemoryCatalogueStore(store).version() == 0


async def test_who_takes_too_slowly_gets_an_end_instead_of_a_gap() -> None:
    store = MemoryStore()
    news = MemoryChangeFeed(store).listen()
    async with asyncio.TaskGroup() as group:
        group.create_task(anext(news))  # type: ignore[arg-type]  # an awaitable of this very generator
        await asyncio.sleep(0)
        for _ in range(2 * NEWS_MAX):
            store.tell(CatalogueChanged())
    assert len([one async for one in news]) == NEWS_MAX - 1
