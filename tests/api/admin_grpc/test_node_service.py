import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from ktms.adapters.memory.node_registry import MemoryNodeRegistry
from ktms.adapters.system.entropy import SystemEntropy
from ktms.api.admin_grpc.document import encode_catalogue
from ktms.api.admin_grpc.gen import admin_pb2
from ktms.domain.access.actor import Role
from ktms.domain.access.key_form import KeyKind, read_key
from ktms.domain.access.secret import Secret
from ktms.domain.announcement import ANNOUNCE_FORGOTTEN_S
from ktms.domain.capacity.fleet_status import FleetStatus, NodeStatus, QueueStatus, SeatStatus
from ktms.domain.catalogue import (
    Catalogue,
    ChainSpec,
    ModelSpec,
    NodeModelSpec,
    NodeSpec,
    PolicySpec,
    TargetSpec,
)
from ktms.domain.ids import KeyId, ModelName, NodeName, VendorModel
from ktms.domain.placement import Placement
from tests.api.admin_grpc.stage import Metadata, Stage, Stub, refusal
from tests.domain.announcements import SAID

DECLARED = NodeSpec("by-hand", "http://10.0.0.8:1", (NodeModelSpec("qwen3:4b", 4096),), token=Secret("canary"))
WANTED = Catalogue(
    nodes=(DECLARED,),
    models=(
        ModelSpec(
            "small",
            (TargetSpec("local", "qwen3:4b"),),
            aliases=("default",),
            context_window=8192,
            placement=Placement.NODES_ONLY,
            placement_lock=True,
            allowed_regions=("fr",),
        ),
        ModelSpec("nowhere", (TargetSpec("local", "absent"),)),
    ),
    chains=(ChainSpec("auto", {"high": ("small", "nowhere"), "low": ("small",)}, "low"),),
)
SMALL = Catalogue(models=(ModelSpec("small", (TargetSpec("local", "qwen3:4b"),)),))


@pytest.fixture
def operator(stage: Stage) -> Metadata:
    return stage.bearer(Role.OPERATOR)


@pytest.fixture
def viewer(stage: Stage) -> Metadata:
    return stage.bearer(Role.VIEWER)


async def apply(stage: Stage, stub: Stub, catalogue: Catalogue = WANTED) -> admin_pb2.ApplyConfigResponse:
    request = admin_pb2.ApplyConfigRequest(document=encode_catalogue(catalogue))
    return await stub.ApplyConfig(request, metadata=stage.bearer(Role.OWNER))


async def join(stage: Stage, stub: Stub, name: str, *models: str) -> None:
    request = admin_pb2.IssueNodeKeyRequest(name=name, models=models)
    made = await stub.IssueNodeKey(request, metadata=stage.bearer(Role.OPERATOR))
    registry = MemoryNodeRegistry(stage.store, SystemEntropy(), stage.clock)
    await registry.announce(KeyId(made.key_id), SAID)


async def test_a_node_key_is_made_and_audited(stage: Stage, stub: Stub, operator: Metadata) -> None:
    request = admin_pb2.IssueNodeKeyRequest(name="mac-1", models=["qwen3:4b"], region="fr")
    made = await stub.IssueNodeKey(request, metadata=operator)
    text = read_key(made.token)
    assert text is not None
    assert (text.kind, text.id) == (KeyKind.NODE, made.key_id)
    assert [(each.actor.name, each.action, each.subject) for each in stage.store.audit] == [
        ("the-operator", "issue_node_key", "node mac-1")
    ]


async def test_a_second_live_key_for_a_node_is_refused(stub: Stub, operator: Metadata) -> None:
    await stub.IssueNodeKey(admin_pb2.IssueNodeKeyRequest(name="mac-1"), metadata=operator)
    async with refusal() as seen:
        await stub.IssueNodeKey(admin_pb2.IssueNodeKeyRequest(name="mac-1"), metadata=operator)
    assert seen == [
        (
            grpc.StatusCode.ALREADY_EXISTS,
            "this node has a live key: revoke it first (ktms admin nodes revoke-key NAME)",
        )
    ]


async def test_a_name_that_cannot_be_is_refused_by_its_field(stub: Stub, operator: Metadata) -> None:
    async with refusal() as seen:
        await stub.IssueNodeKey(admin_pb2.IssueNodeKeyRequest(name="a b", models=[""]), metadata=operator)
    code, details = seen[0]
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert [line.partition(":")[0] for line in details.splitlines()] == ["name", "models.0.name"]


async def test_a_key_is_revoked_once(stage: Stage, stub: Stub, operator: Metadata) -> None:
    await join(stage, stub, "mac-1")
    await stub.RevokeNodeKey(admin_pb2.RevokeNodeKeyRequest(name="mac-1"), metadata=operator)
    async with refusal() as seen:
        await stub.RevokeNodeKey(admin_pb2.RevokeNodeKeyRequest(name="mac-1"), metadata=operator)
    assert seen == [(grpc.StatusCode.NOT_FOUND, "node mac-1 has no live key")]


async def test_nodes_are_listed_with_what_was_declared_and_announced(
    stage: Stage, stub: Stub, operator: Metadata, viewer: Metadata
) -> None:
    await apply(stage, stub)
    await join(stage, stub, "mac-1", "qwen3:4b")
    await stub.IssueNodeKey(admin_pb2.IssueNodeKeyRequest(name="awaited", region="us"), metadata=operator)
    by_hand, mac, awaited = (await stub.ListNodes(admin_pb2.ListNodesRequest(), metadata=viewer)).nodes
    assert (by_hand.name, by_hand.declared.url, by_hand.key_id) == ("by-hand", "http://10.0.0.8:1", "")
    assert not by_hand.HasField("announced")
    assert (mac.name, mac.announced.url, mac.announced.engine_version) == ("mac-1", SAID.url, "0.32.1")
    assert (mac.announced.engine, mac.announced.slots, mac.announced.epoch_ms) == ("ollama", 4, SAID.epoch_ms)
    assert [(each.name, each.ignored) for each in mac.announced.models] == [("qwen3:4b", False), ("llama3", True)]
    assert [each.HasField("loaded") for each in mac.announced.models] == [True, False]
    assert (mac.heard_at.seconds, mac.silent) == (int(stage.clock.wall()), False)
    assert (awaited.region, list(awaited.permitted_models), awaited.HasField("heard_at")) == ("us", [], False)


async def test_an_apply_knows_what_joined_nodes_serve(stage: Stage, stub: Stub) -> None:
    await join(stage, stub, "mac-1")
    assert list((await apply(stage, stub, SMALL)).warnings) == []


async def test_an_apply_says_that_a_node_may_yet_announce_a_model(stage: Stage, stub: Stub) -> None:
    [warning] = (await apply(stage, stub, SMALL)).warnings
    assert warning == "model small: no enabled node serves qwen3:4b yet; one that announces it will"


async def test_no_listing_holds_a_token(stage: Stage, stub: Stub, viewer: Metadata) -> None:
    await apply(stage, stub)
    await join(stage, stub, "mac-1")
    answer = await stub.ListNodes(admin_pb2.ListNodesRequest(), metadata=viewer)
    assert b"canary" not in answer.SerializeToString()


async def test_a_node_that_missed_three_announcements_is_silent(
    stage: Stage, stub: Stub, viewer: Metadata
) -> None:
    await join(stage, stub, "mac-1")
    stage.clock.advance(ANNOUNCE_FORGOTTEN_S + 1)
    (node,) = (await stub.ListNodes(admin_pb2.ListNodesRequest(), metadata=viewer)).nodes
    assert node.silent


async def test_a_node_is_switched_off(stage: Stage, stub: Stub, operator: Metadata, viewer: Metadata) -> None:
    await apply(stage, stub)
    await stub.SetNodeEnabled(admin_pb2.SetNodeEnabledRequest(name="by-hand", enabled=False), metadata=operator)
    (node,) = (await stub.ListNodes(admin_pb2.ListNodesRequest(), metadata=viewer)).nodes
    assert not node.enabled
    assert stage.store.audit[-1].action == "set_node_enabled"


async def test_an_unknown_node_is_not_switched(stub: Stub, operator: Metadata) -> None:
    async with refusal() as seen:
        await stub.SetNodeEnabled(admin_pb2.SetNodeEnabledRequest(name="gone", enabled=True), metadata=operator)
    assert seen == [(grpc.StatusCode.NOT_FOUND, "there is no node gone")]


async def test_a_key_in_place_of_a_node_s_name_is_not_repeated(stub: Stub, operator: Metadata) -> None:
    async with refusal() as seen:
        await stub.RevokeNodeKey(admin_pb2.RevokeNodeKeyRequest(name="ktms_node_canary"), metadata=operator)
    assert "canary" not in seen[0][1]


async def test_the_policy_is_shown_as_it_is_stored(stage: Stage, stub: Stub, viewer: Metadata) -> None:
    policy = PolicySpec(
        placement=Placement.CLOUD_FIRST,
        placement_lock=True,
        force_cloud=True,
        allowed_regions=("fr", "eu"),
        band=float("inf"),
        attempts_max=3,
    )
    await apply(stage, stub, Catalogue(policy=policy))
    answer = await stub.GetPolicy(admin_pb2.GetPolicyRequest(), metadata=viewer)
    shown = answer.policy
    assert (shown.placement, shown.placement_lock, shown.force_cloud) == (
        admin_pb2.PLACEMENT_CLOUD_FIRST,
        True,
        True,
    )
    assert (list(shown.allowed_regions), shown.band, shown.attempts_max) == (["fr", "eu"], float("inf"), 3)
    assert answer.version == 1


def setting(*names: str, **members: object) -> admin_pb2.SetPolicyRequest:
    policy = admin_pb2.Policy(**members)  # type: ignore[arg-type]  # the constructor checks
    return admin_pb2.SetPolicyRequest(policy=policy, update_mask=FieldMask(paths=names))


async def test_only_the_settings_in_the_mask_change(stage: Stage, stub: Stub, operator: Metadata) -> None:
    await apply(stage, stub, Catalogue(policy=PolicySpec(allowed_regions=("fr",))))
    answer = await stub.SetPolicy(setting("force_cloud", force_cloud=True, attempts_max=9), metadata=operator)
    assert (answer.policy.force_cloud, list(answer.policy.allowed_regions), answer.version) == (True, ["fr"], 2)
    assert stage.store.catalogue.policy == PolicySpec(allowed_regions=("fr",), force_cloud=True)
    assert (stage.store.audit[-1].action, stage.store.audit[-1].actor.name) == ("set_policy", "the-operator")


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (setting(), "update_mask: name the settings to change"),
        (setting("force"), "force: is no setting"),
        (setting("placement"), "placement: unknown placement 0"),
        (setting("band", band=float("nan")), "band: must be 1 or more"),
        (setting("attempts_max", attempts_max=7), "attempts_max: must be 1 to 6"),
    ],
)
async def test_a_setting_that_cannot_be_is_refused(
    stub: Stub, operator: Metadata, request_: admin_pb2.SetPolicyRequest, said: str
) -> None:
    async with refusal() as seen:
        await stub.SetPolicy(request_, metadata=operator)
    assert seen[0][0] is grpc.StatusCode.INVALID_ARGUMENT
    assert seen[0][1].startswith(said)


async def test_models_are_listed_with_the_nodes_that_serve_them(
    stage: Stage, stub: Stub, viewer: Metadata
) -> None:
    await apply(stage, stub)
    await join(stage, stub, "mac-1")
    small, nowhere = (await stub.ListModels(admin_pb2.ListModelsRequest(), metadata=viewer)).models
    assert (small.name, list(small.aliases), small.context_window) == ("small", ["default"], 8192)
    assert (small.placement, small.placement_lock) == (admin_pb2.PLACEMENT_NODES_ONLY, True)
    assert [(each.vendor, each.model, each.HasField("weight")) for each in small.targets] == [
        ("local", "qwen3:4b", False)
    ]
    assert (list(small.nodes), list(nowhere.nodes)) == (["by-hand", "mac-1"], [])
    assert (nowhere.placement, nowhere.HasField("context_window")) == (admin_pb2.PLACEMENT_UNSPECIFIED, False)


async def test_chains_are_listed_tier_by_tier(stage: Stage, stub: Stub, viewer: Metadata) -> None:
    await apply(stage, stub)
    (auto,) = (await stub.ListChains(admin_pb2.ListChainsRequest(), metadata=viewer)).chains
    tiers = {tier.name: list(tier.models) for tier in auto.tiers}
    assert (auto.name, auto.default_tier, tiers) == (
        "auto",
        "low",
        {"high": ["small", "nowhere"], "low": ["small"]},
    )


async def test_the_live_view_is_that_of_the_replica_asked(stage: Stage, stub: Stub, viewer: Metadata) -> None:
    seats = (
        SeatStatus(VendorModel("qwen3:4b"), 8192, cold=False, speed=1.5, decode_tokens_per_s=42.0, samples=7),
        SeatStatus(VendorModel("llama3"), None, cold=True, speed=1.0),
    )
    node = NodeStatus(NodeName("mac-1"), "ollama", "suspect", draining=True, busy=3, slots=4, seats=seats)
    told = NodeStatus(
        NodeName("vllm-1"), "vllm", "healthy", draining=False, busy=1, slots=8, engine_calls=5, kv_used=0.5
    )
    queues = (
        QueueStatus(ModelName("small"), 2, 4, 3, 1.5, 0.25),
        QueueStatus(ModelName("nowhere"), 0, 0, 0, 0.0, None),
    )
    stage.fleet = FleetStatus(known=True, nodes=(node, told), queues=queues)
    answer = await stub.GetFleet(admin_pb2.GetFleetRequest(), metadata=viewer)
    assert answer.known
    shown, other = answer.nodes
    assert (other.engine_calls, other.kv_used) == (5, 0.5)
    assert (shown.HasField("engine_calls"), shown.HasField("kv_used")) == (False, False)
    assert (shown.health, shown.draining, shown.busy, shown.slots) == ("suspect", True, 3, 4)
    assert [(each.model, each.cold, each.speed) for each in shown.seats] == [
        ("qwen3:4b", False, 1.5),
        ("llama3", True, 1.0),
    ]
    assert [each.HasField("decode_tokens_per_s") for each in shown.seats] == [True, False]
    assert [(each.model, each.waiting, each.HasField("forecast_s")) for each in answer.queues] == [
        ("small", 2, True),
        ("nowhere", 0, False),
    ]


async def test_a_replica_without_redis_says_that_its_counts_are_old(stub: Stub, viewer: Metadata) -> None:
    assert not (await stub.GetFleet(admin_pb2.GetFleetRequest(), metadata=viewer)).known


async def test_without_the_database_nothing_is_changed(stage: Stage, stub: Stub, operator: Metadata) -> None:
    stage.store.away = True
    async with refusal() as seen:
        await stub.GetPolicy(admin_pb2.GetPolicyRequest(), metadata=operator)
    assert seen[0][0] is grpc.StatusCode.UNAVAILABLE
