import grpc
import pytest

from ktms.api.admin_grpc.document import decode_catalogue, encode_catalogue
from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.service import HEAVY_BYTES, PAGE_SIZE_MAX
from ktms.domain.access.actor import Role
from ktms.domain.access.key_form import KeyKind, read_key
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    Catalogue,
    ClientKeySpec,
    ModelSpec,
    TargetSpec,
    TenantSpec,
    VendorKind,
    VendorSpec,
)
from tests.api.admin_grpc.stage import Metadata, Stage, Stub, refusal

WANTED = Catalogue(
    vendors=(VendorSpec("openai", VendorKind.OPENAI, "https://api.openai.com/v1", keys=(Secret("sk-canary"),)),),
    models=(ModelSpec("gpt", (TargetSpec("openai", "gpt-4o-mini"),)),),
    tenants=(TenantSpec("team-a"),),
    client_keys=(ClientKeySpec("app-1", "team-a"),),
)


@pytest.fixture
def owner(stage: Stage) -> Metadata:
    return stage.bearer(Role.OWNER)


def applying(catalogue: Catalogue, *, dry_run: bool = False, prune: bool = False) -> admin_pb2.ApplyConfigRequest:
    return admin_pb2.ApplyConfigRequest(document=encode_catalogue(catalogue), dry_run=dry_run, prune=prune)


async def test_an_apply_tells_version_changes_and_the_keys_it_made(stub: Stub, owner: Metadata) -> None:
    answer = await stub.ApplyConfig(applying(WANTED), metadata=owner)
    assert answer.version == 1
    assert {(each.kind, each.name, each.action) for each in answer.changes} == {
        ("vendor", "openai", admin_pb2.CHANGE_ACTION_ADD),
        ("model", "gpt", admin_pb2.CHANGE_ACTION_ADD),
        ("tenant", "team-a", admin_pb2.CHANGE_ACTION_ADD),
        ("client_key", "app-1", admin_pb2.CHANGE_ACTION_ADD),
    }
    text = read_key(answer.new_keys[0].token)
    assert text is not None
    assert (answer.new_keys[0].name, text.kind) == ("app-1", KeyKind.CLIENT)


async def test_an_apply_warns_of_what_is_probably_not_meant(stub: Stub, owner: Metadata) -> None:
    answer = await stub.ApplyConfig(applying(WANTED), metadata=owner)
    assert any("has no price" in warning for warning in answer.warnings)


async def test_a_dry_run_changes_nothing_and_shows_no_token(stage: Stage, stub: Stub, owner: Metadata) -> None:
    answer = await stub.ApplyConfig(applying(WANTED, dry_run=True), metadata=owner)
    assert len(answer.changes) == 4
    assert [key.token for key in answer.new_keys if key.token] == []
    assert stage.store.version == 0


async def test_entries_that_are_not_in_the_document_stay_without_prune(
    stage: Stage, stub: Stub, owner: Metadata
) -> None:
    await stub.ApplyConfig(applying(WANTED), metadata=owner)
    answer = await stub.ApplyConfig(applying(Catalogue()), metadata=owner)
    assert list(answer.changes) == []


async def test_prune_removes_what_is_not_in_the_document(stage: Stage, stub: Stub, owner: Metadata) -> None:
    await stub.ApplyConfig(applying(WANTED), metadata=owner)
    answer = await stub.ApplyConfig(applying(Catalogue(), prune=True), metadata=owner)
    assert {each.action for each in answer.changes} == {admin_pb2.CHANGE_ACTION_REMOVE}
    assert stage.store.catalogue.models == ()


async def test_a_catalogue_that_does_not_hold_together_lists_all_complaints(
    stage: Stage, stub: Stub, owner: Metadata
) -> None:
    wrong = Catalogue(
        models=(ModelSpec("a", (TargetSpec("gone", "x"),)), ModelSpec("b", (TargetSpec("lost", "x"),))),
    )
    async with refusal() as seen:
        await stub.ApplyConfig(applying(wrong), metadata=owner)
    code, details = seen[0]
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert [line.split(":")[0] for line in details.splitlines()] == [
        "models.0.targets.0.vendor",
        "models.1.targets.0.vendor",
    ]
    assert stage.store.version == 0


async def test_a_large_document_is_read_like_a_small_one(stage: Stage, stub: Stub, owner: Metadata) -> None:
    many = Catalogue(tenants=tuple(TenantSpec(f"team-{number}") for number in range(1000)))
    assert len(encode_catalogue(many)) > HEAVY_BYTES
    await stub.ApplyConfig(applying(many), metadata=owner)
    assert len(stage.store.catalogue.tenants) == 1001


async def test_an_unreadable_document_is_refused(stub: Stub, owner: Metadata) -> None:
    async with refusal() as seen:
        await stub.ApplyConfig(admin_pb2.ApplyConfigRequest(document=b"{"), metadata=owner)
    assert seen[0][0] is grpc.StatusCode.INVALID_ARGUMENT


async def test_an_export_holds_everything_but_secrets(stage: Stage, stub: Stub, owner: Metadata) -> None:
    await stub.ApplyConfig(applying(WANTED), metadata=owner)
    answer = await stub.ExportConfig(admin_pb2.ExportConfigRequest(), metadata=stage.bearer(Role.VIEWER))
    assert b"sk-canary" not in answer.document
    exported = decode_catalogue(answer.document)
    assert exported.models == WANTED.models
    assert exported.vendors[0].keys == ()


async def test_a_made_key_is_listed_and_its_token_is_not(stage: Stage, stub: Stub) -> None:
    operator = stage.bearer(Role.OPERATOR)
    made = await stub.CreateClientKey(admin_pb2.CreateClientKeyRequest(name="app"), metadata=operator)
    listed = await stub.ListClientKeys(admin_pb2.ListClientKeysRequest(), metadata=operator)
    assert [key.name for key in listed.keys] == ["app"]
    assert listed.keys[0].id == made.key.id
    assert made.token.encode() not in listed.SerializeToString()


async def test_a_name_in_use_is_refused(stage: Stage, stub: Stub) -> None:
    operator = stage.bearer(Role.OPERATOR)
    await stub.CreateClientKey(admin_pb2.CreateClientKeyRequest(name="app"), metadata=operator)
    async with refusal() as seen:
        await stub.CreateClientKey(admin_pb2.CreateClientKeyRequest(name="app"), metadata=operator)
    assert seen[0][0] is grpc.StatusCode.ALREADY_EXISTS


async def test_an_unknown_tenant_is_not_found(stage: Stage, stub: Stub) -> None:
    request = admin_pb2.CreateClientKeyRequest(name="app", tenant="gone")
    async with refusal() as seen:
        await stub.CreateClientKey(request, metadata=stage.bearer(Role.OPERATOR))
    assert seen[0][0] is grpc.StatusCode.NOT_FOUND


async def test_a_malformed_name_is_refused_by_its_field(stage: Stage, stub: Stub) -> None:
    async with refusal() as seen:
        await stub.CreateClientKey(admin_pb2.CreateClientKeyRequest(name=""), metadata=stage.bearer(Role.OPERATOR))
    assert seen[0][0] is grpc.StatusCode.INVALID_ARGUMENT
    assert seen[0][1].startswith("name: ")


async def test_keys_are_listed_page_by_page_oldest_first(stage: Stage, stub: Stub) -> None:
    operator = stage.bearer(Role.OPERATOR)
    for number in range(5):
        await stub.CreateClientKey(admin_pb2.CreateClientKeyRequest(name=f"app-{number}"), metadata=operator)
    pages, token = [], ""
    while True:
        request = admin_pb2.ListClientKeysRequest(page_size=2, page_token=token)
        page = await stub.ListClientKeys(request, metadata=operator)
        pages.append([key.name for key in page.keys])
        token = page.next_page_token
        if not token:
            break
    assert pages == [["app-0", "app-1"], ["app-2", "app-3"], ["app-4"]]


@pytest.mark.parametrize("size", [-1, 0, PAGE_SIZE_MAX + 1])
async def test_an_unusual_page_size_is_replaced(stage: Stage, stub: Stub, size: int) -> None:
    request = admin_pb2.ListClientKeysRequest(page_size=size)
    assert list((await stub.ListClientKeys(request, metadata=stage.bearer(Role.VIEWER))).keys) == []


async def test_a_page_of_an_unknown_key_is_not_found(stage: Stage, stub: Stub) -> None:
    async with refusal() as seen:
        request = admin_pb2.ListClientKeysRequest(page_token="gone")
        await stub.ListClientKeys(request, metadata=stage.bearer(Role.VIEWER))
    assert seen[0][0] is grpc.StatusCode.NOT_FOUND


async def test_a_key_is_revoked_once_and_for_good(stage: Stage, stub: Stub) -> None:
    operator = stage.bearer(Role.OPERATOR)
    made = await stub.CreateClientKey(admin_pb2.CreateClientKeyRequest(name="app"), metadata=operator)
    for _ in range(2):
        await stub.RevokeClientKey(admin_pb2.RevokeClientKeyRequest(id=made.key.id), metadata=operator)
    listed = await stub.ListClientKeys(admin_pb2.ListClientKeysRequest(), metadata=operator)
    assert [key.revoked for key in listed.keys] == [True]


async def test_revoking_an_unknown_key_is_not_found(stage: Stage, stub: Stub) -> None:
    async with refusal() as seen:
        request = admin_pb2.RevokeClientKeyRequest(id="gone")
        await stub.RevokeClientKey(request, metadata=stage.bearer(Role.OPERATOR))
    assert seen == [(grpc.StatusCode.NOT_FOUND, "no client key has the id gone (ktms admin keys list)")]


async def test_a_whole_key_in_place_of_its_id_is_not_repeated(stage: Stage, stub: Stub) -> None:
    token = "ktms_sk_0123456789_canary"
    async with refusal() as seen:
        request = admin_pb2.RevokeClientKeyRequest(id=token)
        await stub.RevokeClientKey(request, metadata=stage.bearer(Role.OPERATOR))
    assert "canary" not in seen[0][1]


async def test_the_versions_of_release_and_catalogue_are_told(stub: Stub, owner: Metadata) -> None:
    await stub.ApplyConfig(applying(WANTED), metadata=owner)
    answer = await stub.GetVersion(admin_pb2.GetVersionRequest(), metadata=owner)
    assert (answer.server_version, answer.catalogue_version) == ("1.2.3", 1)
