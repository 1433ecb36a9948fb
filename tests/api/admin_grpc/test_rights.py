from collections.abc import Sequence

import grpc
import pytest

from ktms.adapters.memory.key_admin import MemoryKeyAdmin
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.system.entropy import SystemEntropy
from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.rights import NO_VALID_KEY, ROLE_NEEDED, authenticate
from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.client_key import AdminKey
from ktms.domain.access.key_form import KeyKind, make_key, read_key
from ktms.ports.catalogue import StoreAway
from tests.api.admin_grpc.stage import Stage, Stub, Told, ask, refusal

METHODS = [method.name for method in admin_pb2.DESCRIPTOR.services_by_name["AdminService"].methods]

PASSED = {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND}
"""What an empty request can end in once the door has let it in."""


def test_every_method_of_the_protocol_has_a_role() -> None:
    assert set(ROLE_NEEDED) == set(METHODS)


async def status(channel: grpc.aio.Channel, name: str, metadata: Sequence[tuple[str, str]]) -> grpc.StatusCode:
    """Call a method with an empty request."""
    return (await ask(channel, f"/ktms.admin.v1.AdminService/{name}", b"", metadata))[0]


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("name", METHODS)
async def test_each_role_may_call_exactly_what_the_table_says(
    stage: Stage, channel: grpc.aio.Channel, name: str, role: Role
) -> None:
    found = await status(channel, name, stage.bearer(role))
    allowed = list(Role).index(role) >= list(Role).index(ROLE_NEEDED[name])
    assert (found in PASSED) if allowed else (found is grpc.StatusCode.PERMISSION_DENIED)


@pytest.mark.parametrize("name", METHODS)
async def test_no_method_answers_without_a_key(channel: grpc.aio.Channel, name: str) -> None:
    assert await status(channel, name, ()) is grpc.StatusCode.UNAUTHENTICATED


async def test_all_bad_keys_are_told_the_same(stage: Stage, channel: grpc.aio.Channel) -> None:
    unknown = make_key(KeyKind.ADMIN, SystemEntropy().token_bytes)
    client = make_key(KeyKind.CLIENT, SystemEntropy().token_bytes)
    good = stage.tokens[Role.OWNER]
    wrong = [f"Bearer {each}" for each in (unknown, client, good[:-1], good[:-1] + "_", "")]
    told: set[Told] = set()
    for value in [*wrong, good, f"Basic {good}"]:
        told.add(await ask(channel, "/ktms.admin.v1.AdminService/GetVersion", b"", (("authorization", value),)))
    assert told == {(grpc.StatusCode.UNAUTHENTICATED, NO_VALID_KEY)}


async def test_a_refusal_of_a_role_names_both_roles(stage: Stage, stub: Stub) -> None:
    async with refusal() as seen:
        await stub.ApplyConfig(admin_pb2.ApplyConfigRequest(), metadata=stage.bearer(Role.VIEWER))
    assert seen == [(grpc.StatusCode.PERMISSION_DENIED, "ApplyConfig needs the role owner, this key has viewer")]


class Keys:
    """A store with one owner's key."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.token = make_key(KeyKind.ADMIN, SystemEntropy().token_bytes)
        text = read_key(self.token)
        assert text is not None
        self.text = text
        self.admin = MemoryKeyAdmin(self.store, SystemEntropy())

    def keep(self, *, digest: bytes | None = None, revoked: bool = False) -> None:
        key = AdminKey(self.text.id, digest or self.text.digest, "me", Role.OWNER.value, revoked)
        self.store.admin_keys.append(key)


@pytest.fixture
def keys() -> Keys:
    return Keys()


async def test_a_good_key_gives_its_name_and_role(keys: Keys) -> None:
    keys.keep()
    actor = await authenticate((("authorization", f"bearer {keys.token}"),), keys.admin)
    assert actor == Actor("me", Role.OWNER)


async def test_a_revoked_key_gives_nobody(keys: Keys) -> None:
    keys.keep(revoked=True)
    assert await authenticate((("authorization", f"Bearer {keys.token}"),), keys.admin) is None


async def test_a_key_of_the_same_id_and_another_secret_gives_nobody(keys: Keys) -> None:
    keys.keep(digest=b"x" * 32)
    assert await authenticate((("authorization", f"Bearer {keys.token}"),), keys.admin) is None


async def test_two_keys_at_once_give_nobody(keys: Keys) -> None:
    keys.keep()
    line = ("authorization", f"Bearer {keys.token}")
    assert await authenticate((line, line), keys.admin) is None


async def test_a_binary_value_gives_nobody(keys: Keys) -> None:
    keys.keep()
    assert await authenticate((("authorization", f"Bearer {keys.token}".encode()),), keys.admin) is None


async def test_a_typing_error_is_refused_without_asking_the_store(keys: Keys) -> None:
    keys.store.away = True
    assert await authenticate((("authorization", f"Bearer {keys.token[:-1]}"),), keys.admin) is None


async def test_a_store_that_is_away_is_no_refusal(keys: Keys) -> None:
    keys.store.away = True
    with pytest.raises(StoreAway):
        await authenticate((("authorization", f"Bearer {keys.token}"),), keys.admin)
