from dataclasses import replace

import pytest

from ktms.domain.catalogue import ModelSpec, TargetSpec
from ktms.domain.catalogue_rules import CatalogueInvalid
from tests.sim.fakes.postgres.house import CATALOGUE, House


async def test_an_applied_catalogue_is_a_fact_with_its_version() -> None:
    house = House()
    await house.operator.apply(CATALOGUE)
    assert house.journal.has("catalogue_applied", version=1, valid=True)


async def test_applying_what_is_stored_is_no_fact() -> None:
    house = House()
    assert await house.operator.apply(CATALOGUE) == await house.operator.apply(CATALOGUE) == 1
    assert sum(1 for _ in house.journal.of("catalogue_applied")) == 1


async def test_what_is_not_wanted_any_more_is_gone_and_keys_stay() -> None:
    house = House()
    await house.operator.apply(replace(CATALOGUE, models=()))
    key = await house.key()
    await house.operator.apply(CATALOGUE)
    await house.operator.apply(replace(CATALOGUE, models=()))
    assert (await house.view.catalogue.snapshot()).models == ()
    assert not (await house.view.keys.find((key.id,)))[key.id].revoked


async def test_an_invalid_document_is_refused_whole() -> None:
    house = House()
    await house.operator.apply(CATALOGUE)
    dangling = ModelSpec("other", (TargetSpec("nobody", "gpt"),))
    with pytest.raises(CatalogueInvalid):
        await house.operator.apply(replace(CATALOGUE, models=(*CATALOGUE.models, dangling)))
    assert await house.view.catalogue.version() == 1


async def test_a_spoilt_version_is_a_newer_one_and_a_fact() -> None:
    house = House()
    await house.operator.apply(CATALOGUE)
    assert await house.operator.spoil() == 2
    assert house.journal.has("catalogue_applied", version=2, valid=False)


async def test_mending_gives_a_newer_version_that_compiles() -> None:
    house = House()
    await house.operator.apply(CATALOGUE)
    await house.operator.spoil()
    await house.operator.spoil()
    assert await house.operator.mend() == 4
    assert (await house.view.catalogue.snapshot()).version == 4


async def test_mending_what_is_sound_changes_nothing() -> None:
    house = House()
    await house.operator.apply(CATALOGUE)
    assert await house.operator.mend() == 1


async def test_a_made_key_and_a_revoked_one_are_facts() -> None:
    house = House()
    key = await house.key()
    await house.operator.revoke(key.id)
    assert house.journal.has("key_made", key=key.id, name="app")
    assert house.journal.has("key_revoked", key=key.id, heard=True)


async def test_a_key_that_nobody_made_is_not_revoked() -> None:
    house = House()
    key = await House().key()
    assert not await house.operator.revoke(key.id)
    assert not house.journal.has("key_revoked")


async def test_every_secret_is_told_once() -> None:
    house = House()
    await house.operator.apply(CATALOGUE)
    await house.operator.apply(replace(CATALOGUE, models=()))
    await house.key()
    assert [fact.text("what") for fact in house.journal.of("secret")] == ["vendor_key", "client_key"]
