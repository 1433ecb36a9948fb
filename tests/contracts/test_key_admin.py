"""Contract of `ktms/ports/key_admin.py`: one suite for every implementation."""

from collections.abc import Awaitable, Callable

import pytest

from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.key_form import KeyKind, digest_of, make_key, read_key
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue, ClientKeySpec
from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.domain.ids import KeyId
from ktms.ports.catalogue import StoreAway
from ktms.ports.config_store import ConfigStore
from ktms.ports.entropy import Entropy
from ktms.ports.key_admin import KeyAdmin, NameTaken, UnknownTenant


async def test_a_created_key_is_stored_as_the_digest_of_its_token(admin: KeyAdmin, actor: Actor) -> None:
    key, token = await admin.create(ClientKeySpec("app", "default"), actor=actor)
    text = read_key(token)
    assert text is not None
    assert (text.kind, text.id, key.digest) == (KeyKind.CLIENT, key.id, digest_of(token))
    assert [found.name for found in await admin.list()] == ["app"]


async def test_two_created_keys_differ(admin: KeyAdmin, actor: Actor) -> None:
    _, first = await admin.create(ClientKeySpec("a", "default"), actor=actor)
    _, second = await admin.create(ClientKeySpec("b", "default"), actor=actor)
    assert first != second


async def test_a_given_token_is_used(admin: KeyAdmin, actor: Actor, entropy: Entropy) -> None:
    given = make_key(KeyKind.CLIENT, entropy.token_bytes)
    _, token = await admin.create(ClientKeySpec("app", "default", secret=Secret(given)), actor=actor)
    assert token == given


async def test_a_given_token_in_use_is_refused(admin: KeyAdmin, actor: Actor, entropy: Entropy) -> None:
    given = Secret(make_key(KeyKind.CLIENT, entropy.token_bytes))
    await admin.create(ClientKeySpec("app", "default", secret=given), actor=actor)
    with pytest.raises(NameTaken, match="given token"):
        await admin.create(ClientKeySpec("other", "default", secret=given), actor=actor)


async def test_the_name_of_a_live_key_is_taken(admin: KeyAdmin, actor: Actor) -> None:
    await admin.create(ClientKeySpec("app", "default"), actor=actor)
    with pytest.raises(NameTaken, match="app"):
        await admin.create(ClientKeySpec("app", "default"), actor=actor)


async def test_the_name_of_a_revoked_key_is_free_again(admin: KeyAdmin, actor: Actor) -> None:
    first, _ = await admin.create(ClientKeySpec("app", "default"), actor=actor)
    await admin.revoke(first.id, actor=actor)
    second, _ = await admin.create(ClientKeySpec("app", "default"), actor=actor)
    assert [(key.id, key.revoked) for key in await admin.list()] == [(first.id, True), (second.id, False)]


async def test_an_unknown_tenant_is_refused(admin: KeyAdmin, actor: Actor) -> None:
    with pytest.raises(UnknownTenant, match="nobody"):
        await admin.create(ClientKeySpec("app", "nobody"), actor=actor)


async def test_a_key_for_a_model_that_is_not_there_is_refused(admin: KeyAdmin, actor: Actor) -> None:
    with pytest.raises(CatalogueInvalid, match="there is no model"):
        await admin.create(ClientKeySpec("app", "default", models=("nothing",)), actor=actor)


async def test_a_created_key_is_part_of_the_export(admin: KeyAdmin, config: ConfigStore, actor: Actor) -> None:
    spec = ClientKeySpec("app", "default", interactive=True)
    await admin.create(spec, actor=actor)
    assert (await config.export()).client_keys == (spec,)


async def test_a_revoked_key_is_no_part_of_the_export(admin: KeyAdmin, config: ConfigStore, actor: Actor) -> None:
    key, _ = await admin.create(ClientKeySpec("app", "default"), actor=actor)
    await admin.revoke(key.id, actor=actor)
    assert (await config.export()).client_keys == ()
    await config.apply(Catalogue(), actor=actor, prune=True, dry_run=False)


async def test_revoking_twice_is_harmless_and_nothing_is_false(admin: KeyAdmin, actor: Actor) -> None:
    key, _ = await admin.create(ClientKeySpec("app", "default"), actor=actor)
    assert await admin.revoke(key.id, actor=actor)
    assert await admin.revoke(key.id, actor=actor)
    assert not await admin.revoke(KeyId("0000000000"), actor=actor)


async def test_the_first_owner_is_stored_once(admin: KeyAdmin, entropy: Entropy) -> None:
    first, second = (make_key(KeyKind.ADMIN, entropy.token_bytes) for _ in range(2))
    assert await admin.bootstrap(first)
    assert not await admin.bootstrap(second)
    text, refused = read_key(first), read_key(second)
    assert text is not None
    assert refused is not None
    found = await admin.find_admin(text.id)
    assert found is not None
    assert (found.digest, found.role, found.revoked) == (digest_of(first), Role.OWNER, False)
    assert await admin.find_admin(refused.id) is None


async def test_a_client_key_is_no_bootstrap_key(admin: KeyAdmin, entropy: Entropy) -> None:
    token = make_key(KeyKind.CLIENT, entropy.token_bytes)
    with pytest.raises(ValueError, match="not a complete admin key") as told:
        await admin.bootstrap(token)
    assert token not in str(told.value)


async def test_a_store_that_is_away_says_so(
    admin: KeyAdmin, actor: Actor, take_away: Callable[[], Awaitable[None]]
) -> None:
    await take_away()
    with pytest.raises(StoreAway):
        await admin.list()
    with pytest.raises(StoreAway):
        await admin.create(ClientKeySpec("app", "default"), actor=actor)
    with pytest.raises(StoreAway):
        await admin.find_admin(KeyId("0000000000"))
