"""From the catalogue to the snapshot."""

from typing import Any

import pytest

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    Catalogue,
    ChainSpec,
    EngineKind,
    ModelSpec,
    NodeModelSpec,
    NodeSpec,
    PolicySpec,
    TargetSpec,
    TimeoutSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.domain.ids import Region, VendorKeyId, VendorModel
from ktms.domain.placement import Placement
from ktms.domain.routing.compile import compile_snapshot
from ktms.domain.snapshot import Reach, Snapshot

VENDOR = VendorSpec(
    "openai",
    VendorKind.OPENAI,
    "https://API.openai.com/v1/",
    region="us",
    keys=(Secret("key-one"), Secret("key-two")),
    timeouts=TimeoutSpec(first_token_s=50.0, idle_s=20.0),
    headers={"OpenAI-Organization": "org-1"},
)
NODES = (
    NodeSpec(
        "mac-1",
        "http://10.0.0.7:8790",
        (NodeModelSpec("qwen3:latest", 8192),),
        token=Secret("node-token"),
        region="fr",
        slots=4,
        cloud_model="gpt-4o-mini",
    ),
    NodeSpec(
        "mac-2", "http://[fd00::2]:8000/v1", (NodeModelSpec("qwen3"),), engine=EngineKind.VLLM, base_weight=7
    ),
    NodeSpec("mac-3", "http://10.0.0.9", (NodeModelSpec("qwen3"),), enabled=False),
    NodeSpec("mac-4", "http://10.0.0.10", (NodeModelSpec("other"),)),
)
MODEL = ModelSpec(
    "3gk-llm",
    (TargetSpec("openai", "gpt", weight=2), TargetSpec("local", "qwen3"), TargetSpec("openai", "gpt-mini")),
    aliases=("default",),
    context_window=32_768,
    placement=Placement.CLOUD_FIRST,
    allowed_regions=("fr", "us"),
    timeouts=TimeoutSpec(idle_s=30.0),
)
CATALOGUE = Catalogue(
    vendors=(VENDOR,),
    nodes=NODES,
    models=(MODEL,),
    chains=(ChainSpec("auto", {"medium": ("default",), "turbo": ("3gk-llm",)}, "medium"),),
    policy=PolicySpec(attempts_max=3),
)


def compiled(**more: Any) -> Snapshot:
    return compile_snapshot(CATALOGUE, version=7, **more)


def test_version_and_policy_come_along() -> None:
    assert (compiled().version, compiled().policy) == (7, CATALOGUE.policy)


def test_every_name_leads_to_its_entry() -> None:
    snapshot = compiled()
    [model], [chain] = snapshot.models, snapshot.chains

    assert snapshot.names == {"3gk-llm": model, "default": model, "auto": chain}
    assert snapshot.aliases == {"default": "3gk-llm"}


def test_a_chain_holds_the_models_themselves() -> None:
    snapshot = compiled()
    [chain] = snapshot.chains

    assert chain.tiers == {"medium": snapshot.models, "turbo": snapshot.models}
    assert chain.default_tier == "medium"
    assert snapshot.tiers == {"medium", "turbo"}


def test_a_vendor_is_ready_to_be_dialled() -> None:
    [vendor] = compiled().vendors
    origin = vendor.origin

    assert (origin.scheme, origin.host, origin.port, origin.base_path) == ("https", "api.openai.com", 443, "/v1")
    assert (origin.reach, origin.key) == (Reach.PUBLIC, ("https", "api.openai.com", 443, None))
    assert (vendor.name, vendor.kind, vendor.region) == ("openai", VendorKind.OPENAI, "us")
    assert vendor.headers == (("OpenAI-Organization", "org-1"),)


def test_vendor_keys_without_ids_are_numbered() -> None:
    [vendor] = compiled().vendors

    assert [(key.id, key.secret.reveal()) for key in vendor.keys] == [
        ("openai#0", "key-one"),
        ("openai#1", "key-two"),
    ]


def test_stored_ids_of_vendor_keys_are_kept() -> None:
    ids = (VendorKeyId("id-1"), VendorKeyId("id-2"))
    [vendor] = compiled(key_ids={"openai": ids, "gone": ()}).vendors

    assert tuple(key.id for key in vendor.keys) == ids


def test_ids_that_do_not_match_the_keys_are_our_own_mistake() -> None:
    with pytest.raises(AssertionError):
        compiled(key_ids={"openai": (VendorKeyId("id-1"),)})


def test_a_private_vendor_and_one_without_region_say_so() -> None:
    vendor = VendorSpec("lan", VendorKind.OPENAI, "http://10.0.0.5:8000", private=True)
    [found] = compile_snapshot(Catalogue(vendors=(vendor,)), version=1).vendors

    assert (found.origin.reach, found.region) == (Reach.PRIVATE, None)


def test_only_enabled_nodes_are_there() -> None:
    assert [node.name for node in compiled().nodes] == ["mac-1", "mac-2", "mac-4"]


def test_a_node_keeps_what_was_declared() -> None:
    node = compiled().nodes[0]

    assert (node.origin.reach, node.engine, node.region, node.slots) == (Reach.NODE, EngineKind.AGENT, "fr", 4)
    assert node.token == Secret("node-token")
    assert (node.windows, node.cloud_model) == ({"qwen3:latest": 8192}, "gpt-4o-mini")


def test_a_nodes_weight_is_its_slots_unless_given() -> None:
    assert [node.base_weight for node in compiled().nodes] == [4, 7, 1]


def test_an_ipv6_node_is_kept_without_brackets() -> None:
    origin = compiled().nodes[1].origin

    assert (origin.host, origin.port, origin.base_path) == ("fd00::2", 8000, "/v1")


def test_a_local_target_has_the_enabled_nodes_that_serve_it_with_or_without_the_default_tag() -> None:
    [target] = compiled().models[0].local

    assert (target.vendor_model, [node.name for node in target.nodes]) == ("qwen3", ["mac-1", "mac-2"])


def test_cloud_targets_keep_their_order_and_weights() -> None:
    targets = compiled().models[0].cloud

    assert [(target.id, target.weight) for target in targets] == [("openai/gpt", 2), ("openai/gpt-mini", None)]


def test_a_models_timers_are_laid_over_its_vendors() -> None:
    assert compiled().models[0].cloud[0].timeouts == TimeoutSpec(first_token_s=50.0, idle_s=30.0)


def test_a_model_keeps_what_was_declared() -> None:
    model = compiled().models[0]

    assert (model.context_window, model.queue_timeout_ms, model.cache_ttl_s) == (32_768, 2000, 0)
    assert (model.placement, model.placement_lock) == (Placement.CLOUD_FIRST, False)
    assert model.allowed_regions == frozenset({Region("fr"), Region("us")})


def test_a_model_without_regions_of_its_own_has_none() -> None:
    plain = compile_snapshot(Catalogue(models=(ModelSpec("m", (TargetSpec("local", "x"),)),)), version=1)

    assert plain.models[0].allowed_regions is None


def test_a_snapshot_cannot_be_changed_through_its_maps() -> None:
    snapshot = compiled()

    for names in (snapshot.names, snapshot.aliases, snapshot.chains[0].tiers, snapshot.nodes[0].windows):
        with pytest.raises(TypeError):
            names["x"] = None  # type: ignore[index]  # exactly this must fail at run time too


def test_an_empty_catalogue_compiles() -> None:
    snapshot = compile_snapshot(Catalogue(), version=1)

    assert not snapshot.names
    assert snapshot.tiers == {"low", "medium", "high"}


def test_what_has_a_complaint_does_not_compile() -> None:
    broken = Catalogue(models=(ModelSpec("m", ()), ModelSpec("m", (TargetSpec("nobody", "x"),))))

    with pytest.raises(CatalogueInvalid) as caught:
        compile_snapshot(broken, version=1)

    assert {complaint.path for complaint in caught.value.complaints} == {
        ("models", 0, "targets"),
        ("models", 1, "name"),
        ("models", 1, "targets", 0, "vendor"),
    }


@pytest.mark.parametrize("kind", [VendorKind.ANTHROPIC, VendorKind.GEMINI])
def test_a_vendor_kind_that_is_not_served_does_not_compile(kind: VendorKind) -> None:
    with pytest.raises(CatalogueInvalid, match="not served yet"):
        compile_snapshot(Catalogue(vendors=(VendorSpec("v", kind, "https://v.example"),)), version=1)


def test_what_a_node_names_for_the_cloud_stands_in_at_the_models_vendors() -> None:
    [model] = compiled().models

    assert list(model.stand_ins) == ["gpt-4o-mini"]
    [stand_in] = model.stand_ins[VendorModel("gpt-4o-mini")]
    assert (stand_in.id, stand_in.vendor, stand_in.vendor_model) == (
        "openai/gpt-4o-mini",
        model.cloud[0].vendor,
        "gpt-4o-mini",
    )
    assert (stand_in.weight, stand_in.timeouts) == (model.cloud[0].weight, model.cloud[0].timeouts)
