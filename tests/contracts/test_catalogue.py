"""Contract of `ktms/ports/catalogue.py`: one suite for every implementation."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from ktms.domain.access.actor import Actor
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue, PolicySpec
from ktms.ports.catalogue import CatalogueStore, StoreAway
from ktms.ports.config_store import ConfigStore

Act = Callable[[], Awaitable[None]]


async def test_nothing_applied_is_version_zero_and_an_empty_snapshot(catalogue: CatalogueStore) -> None:
    assert await catalogue.version() == 0
    snapshot = await catalogue.snapshot()
    assert (snapshot.version, snapshot.models, snapshot.vendors, snapshot.nodes) == (0, (), (), ())


async def test_a_snapshot_holds_the_newest_version_with_secrets_opened(
    catalogue: CatalogueStore, config: ConfigStore, everything: Catalogue, actor: Actor
) -> None:
    await config.apply(everything, actor=actor, prune=False, dry_run=False)
    snapshot = await catalogue.snapshot()
    assert snapshot.version == await catalogue.version() == 1
    assert sorted(snapshot.names) == ["auto", "default", "large", "small"]
    assert [key.secret for key in snapshot.vendors[0].keys] == list(everything.vendors[0].keys)
    assert snapshot.nodes[0].token == Secret("node-token-number-1")
    assert snapshot.nodes[1].token is None
    assert snapshot.policy == everything.policy


async def test_ids_of_vendor_keys_stay_from_snapshot_to_snapshot(
    catalogue: CatalogueStore, config: ConfigStore, everything: Catalogue, actor: Actor
) -> None:
    await config.apply(everything, actor=actor, prune=False, dry_run=False)
    before = [key.id for key in (await catalogue.snapshot()).vendors[0].keys]
    await config.apply(replace(everything, policy=PolicySpec()), actor=actor, prune=False, dry_run=False)
    after = [key.id for key in (await catalogue.snapshot()).vendors[0].keys]
    assert before == after
    assert len(set(before)) == 2


async def test_entries_keep_the_order_of_the_file(
    catalogue: CatalogueStore, config: ConfigStore, everything: Catalogue, actor: Actor
) -> None:
    turned = replace(everything, models=everything.models[::-1], nodes=everything.nodes[::-1])
    await config.apply(turned, actor=actor, prune=False, dry_run=False)
    snapshot = await catalogue.snapshot()
    assert [model.name for model in snapshot.models] == ["large", "small"]
    assert [node.name for node in snapshot.nodes] == ["box-1", "mac-1"]


async def test_a_store_that_is_away_says_so(catalogue: CatalogueStore, take_away: Act) -> None:
    await take_away()
    with pytest.raises(StoreAway):
        await catalogue.version()
    with pytest.raises(StoreAway):
        await catalogue.snapshot()
