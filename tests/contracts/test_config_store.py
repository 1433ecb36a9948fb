"""Contract of `ktms/ports/config_store.py`: one suite for every implementation."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from ktms.domain.access.actor import Actor
from ktms.domain.access.key_form import KeyKind, make_key, read_key
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    Catalogue,
    ClientKeySpec,
    ModelSpec,
    PolicySpec,
    TargetSpec,
    TenantSpec,
    VendorSpec,
)
from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.ports.catalogue import CatalogueStore, StoreAway
from ktms.ports.config_store import Applied, ConfigStore
from ktms.ports.entropy import Entropy
from ktms.ports.key_admin import KeyAdmin
from ktms.ports.key_store import KeyStore

Apply = Callable[..., Awaitable[Applied]]


@pytest.fixture
def apply(config: ConfigStore, actor: Actor) -> Apply:
    async def run(wanted: Catalogue, *, prune: bool = False, dry_run: bool = False) -> Applied:
        return await config.apply(wanted, actor=actor, prune=prune, dry_run=dry_run)

    return run


def shown(catalogue: Catalogue) -> Catalogue:
    """The catalogue as an export shows it: no secrets, and the tenant that is always there."""
    return replace(
        catalogue,
        vendors=tuple(replace(vendor, keys=()) for vendor in catalogue.vendors),
        nodes=tuple(replace(node, token=None) for node in catalogue.nodes),
        client_keys=tuple(replace(key, secret=None) for key in catalogue.client_keys),
        tenants=(*catalogue.tenants, TenantSpec("default")),
    )


def kinds(applied: Applied) -> list[tuple[str, str, str]]:
    return [(change.action, change.kind, change.name) for change in applied.changes]


async def test_a_fresh_store_exports_nothing_but_the_default_tenant(config: ConfigStore) -> None:
    assert await config.export() == Catalogue(tenants=(TenantSpec("default"),))


async def test_an_export_gives_back_all_that_was_applied_but_secrets(
    config: ConfigStore, apply: Apply, everything: Catalogue
) -> None:
    await apply(everything)
    assert await config.export() == shown(everything)


async def test_every_effective_apply_raises_the_version_by_one(apply: Apply, everything: Catalogue) -> None:
    assert (await apply(everything)).version == 1
    assert (await apply(replace(everything, policy=PolicySpec()))).version == 2


async def test_applying_the_same_twice_changes_nothing(apply: Apply, everything: Catalogue) -> None:
    await apply(everything)
    again = await apply(everything)
    assert (again.version, list(again.changes), list(again.new_keys)) == (1, [], [])


async def test_applying_an_export_changes_nothing(
    config: ConfigStore, apply: Apply, everything: Catalogue
) -> None:
    await apply(everything)
    again = await apply(await config.export(), prune=True)
    assert (again.version, list(again.changes)) == (1, [])


async def test_a_dry_run_tells_the_changes_and_stores_nothing(
    config: ConfigStore, apply: Apply, everything: Catalogue
) -> None:
    told = await apply(everything, dry_run=True)
    assert ("add", "client_key", "app-1") in kinds(told)
    assert told.version == 0
    assert list(told.new_keys) == []
    assert await config.export() == Catalogue(tenants=(TenantSpec("default"),))


async def test_without_pruning_what_is_not_wanted_stays(
    config: ConfigStore, apply: Apply, everything: Catalogue
) -> None:
    await apply(everything)
    applied = await apply(Catalogue(models=(ModelSpec("extra", (TargetSpec("openai", "o3"),)),)))
    assert ("add", "model", "extra") in kinds(applied)
    assert [model.name for model in (await config.export()).models] == ["extra", "small", "large"]


async def test_a_new_price_leaves_the_older_ones_unless_they_are_pruned(
    config: ConfigStore, apply: Apply, everything: Catalogue
) -> None:
    await apply(everything)
    always, begun, *_ = everything.prices
    raised = replace(begun, input=Decimal(1))
    later = replace(always, input=Decimal(9), valid_from=1_900_000_000)
    changes = kinds(await apply(replace(everything, prices=(later, raised))))
    assert [(action, name) for action, _, name in changes] == [
        ("add", "openai/gpt-4o-mini from 2030-03-17T17:46:40Z"),
        ("change", "openai/gpt-4o-mini from 2026-08-01"),
    ]
    kept = [price for price in everything.prices if price != begun]
    assert (await config.export()).prices == (later, raised, *kept)
    await apply(replace(everything, prices=(later,)), prune=True)
    assert (await config.export()).prices == (later,)


async def test_pruning_removes_all_that_is_not_wanted(
    config: ConfigStore, apply: Apply, everything: Catalogue
) -> None:
    await apply(everything)
    applied = await apply(Catalogue(), prune=True)
    assert {change.action for change in applied.changes if change.kind != "policy"} == {"remove"}
    assert await config.export() == Catalogue(tenants=(TenantSpec("default"),))


async def test_a_removed_tenant_can_come_back(config: ConfigStore, apply: Apply, everything: Catalogue) -> None:
    await apply(everything)
    await apply(Catalogue(), prune=True)
    await apply(everything)
    assert await config.export() == shown(everything)


async def test_a_made_key_is_shown_once_and_verifies(apply: Apply, keys: KeyStore, everything: Catalogue) -> None:
    (made,) = (await apply(everything)).new_keys
    text = read_key(made.token)
    assert made.name == "app-1"
    assert text is not None
    assert text.kind is KeyKind.CLIENT
    found = (await keys.find([text.id]))[text.id]
    assert (found.digest, found.name, found.tenant, found.revoked) == (text.digest, "app-1", "team-a", False)


async def test_a_given_key_is_stored_and_not_shown(apply: Apply, keys: KeyStore, entropy: Entropy) -> None:
    token = make_key(KeyKind.CLIENT, entropy.token_bytes)
    applied = await apply(Catalogue(client_keys=(ClientKeySpec("app", "default", secret=Secret(token)),)))
    text = read_key(token)
    assert text is not None
    assert list(applied.new_keys) == []
    assert (await keys.find([text.id]))[text.id].digest == text.digest


async def test_giving_the_stored_key_again_changes_nothing(apply: Apply, entropy: Entropy) -> None:
    spec = ClientKeySpec("app", "default", secret=Secret(make_key(KeyKind.CLIENT, entropy.token_bytes)))
    await apply(Catalogue(client_keys=(spec,)))
    assert list((await apply(Catalogue(client_keys=(spec,)))).changes) == []


async def test_giving_another_key_revokes_the_stored_one(apply: Apply, keys: KeyStore, entropy: Entropy) -> None:
    first, second = (make_key(KeyKind.CLIENT, entropy.token_bytes) for _ in range(2))
    for token in (first, second):
        await apply(Catalogue(client_keys=(ClientKeySpec("app", "default", secret=Secret(token)),)))
    ids = [text.id for text in (read_key(first), read_key(second)) if text]
    found = await keys.find(ids)
    assert [found[key_id].revoked for key_id in ids] == [True, False]


async def test_a_key_of_somebody_else_or_a_revoked_one_is_refused(apply: Apply, entropy: Entropy) -> None:
    token = Secret(make_key(KeyKind.CLIENT, entropy.token_bytes))
    await apply(Catalogue(client_keys=(ClientKeySpec("app", "default", secret=token),)))
    taken = Catalogue(client_keys=(ClientKeySpec("other", "default", secret=token),))
    with pytest.raises(CatalogueInvalid, match="belongs to another client key"):
        await apply(taken)
    await apply(Catalogue(), prune=True)
    with pytest.raises(CatalogueInvalid, match="was revoked for good"):
        await apply(taken)


async def test_changing_what_a_key_may_do_keeps_its_token(
    apply: Apply, keys: KeyStore, everything: Catalogue
) -> None:
    (made,) = (await apply(everything)).new_keys
    wider = replace(everything.client_keys[0], models=None)
    applied = await apply(replace(everything, client_keys=(wider,)))
    text = read_key(made.token)
    assert text is not None
    assert list(applied.new_keys) == []
    found = (await keys.find([text.id]))[text.id]
    assert (found.models, found.revoked) == (None, False)


async def test_a_pruned_key_is_revoked_not_forgotten(
    apply: Apply, keys: KeyStore, admin: KeyAdmin, everything: Catalogue
) -> None:
    (made,) = (await apply(everything)).new_keys
    await apply(replace(everything, client_keys=()), prune=True)
    text = read_key(made.token)
    assert text is not None
    assert (await keys.find([text.id]))[text.id].revoked
    assert [key.revoked for key in await admin.list()] == [True]


async def test_secrets_that_are_not_given_are_kept(
    config: ConfigStore, apply: Apply, catalogue: CatalogueStore, everything: Catalogue
) -> None:
    await apply(everything)
    await apply(replace(await config.export(), policy=PolicySpec()))
    snapshot = await catalogue.snapshot()
    assert [key.secret.reveal() for key in snapshot.vendors[0].keys] == [
        "sk-first-vendor-key",
        "sk-second-vendor-key",
    ]
    assert snapshot.nodes[0].token == Secret("node-token-number-1")


async def test_given_secrets_replace_the_stored_ones(
    apply: Apply, catalogue: CatalogueStore, everything: Catalogue
) -> None:
    await apply(everything)
    vendor = replace(everything.vendors[0], keys=(Secret("sk-second-vendor-key"), Secret("sk-third-vendor-key")))
    node = replace(everything.nodes[0], token=Secret("node-token-number-2"))
    before = (await catalogue.snapshot()).vendors[0].keys
    await apply(replace(everything, vendors=(vendor, everything.vendors[1]), nodes=(node, everything.nodes[1])))
    after = await catalogue.snapshot()
    assert [key.secret.reveal() for key in after.vendors[0].keys] == [
        "sk-second-vendor-key",
        "sk-third-vendor-key",
    ]
    assert after.vendors[0].keys[0].id == before[1].id
    assert after.nodes[0].token == Secret("node-token-number-2")


async def test_a_result_that_would_not_compile_changes_nothing(
    config: ConfigStore, apply: Apply, everything: Catalogue
) -> None:
    await apply(everything)
    broken = ModelSpec("broken", (TargetSpec("nowhere", "x"),))
    with pytest.raises(CatalogueInvalid, match="there is no vendor 'nowhere'"):
        await apply(replace(everything, policy=PolicySpec(), models=(*everything.models, broken)))
    assert await config.export() == shown(everything)


async def test_changes_name_fields_and_never_a_secret(apply: Apply, everything: Catalogue) -> None:
    await apply(everything)
    vendor: VendorSpec = replace(everything.vendors[0], region="eu", keys=(Secret("sk-new-and-secret"),))
    (change,) = (await apply(replace(everything, vendors=(vendor, everything.vendors[1])))).changes
    assert (change.action, change.kind, change.name, set(change.fields)) == (
        "change",
        "vendor",
        "openai",
        {"region", "keys"},
    )
    assert "sk-new" not in repr(change)


async def test_a_store_that_is_away_says_so(
    config: ConfigStore, apply: Apply, take_away: Callable[[], Awaitable[None]]
) -> None:
    await take_away()
    with pytest.raises(StoreAway):
        await config.export()
    with pytest.raises(StoreAway):
        await apply(Catalogue())
