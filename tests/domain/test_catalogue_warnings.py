"""What compiles but is probably not meant."""

from dataclasses import replace
from typing import Any

import pytest

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    Catalogue,
    ClientKeySpec,
    EngineKind,
    ModelSpec,
    NodeModelSpec,
    NodeSpec,
    PolicySpec,
    PriceSpec,
    TargetSpec,
    TenantSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.catalogue_warnings import warnings

VENDOR = VendorSpec("openai", VendorKind.OPENAI, "https://api.openai.com/v1", keys=(Secret("sk-hidden-1234"),))
NODE = NodeSpec("mac-1", "http://10.0.0.7:8790", (NodeModelSpec("qwen3:latest"),))
MODEL = ModelSpec("m", (TargetSpec("local", "qwen3"), TargetSpec("openai", "mini")))
SOUND = Catalogue(
    vendors=(VENDOR,),
    models=(MODEL,),
    nodes=(NODE,),
    prices=(PriceSpec("openai", "mini"),),
    tenants=(TenantSpec("team-a"),),
    client_keys=(ClientKeySpec("app-1", "team-a"),),
)


def told(**changes: Any) -> tuple[str, ...]:
    return warnings(replace(SOUND, **changes))


def test_a_sound_catalogue_gives_no_warning() -> None:
    assert told() == ()


def test_a_vendor_without_a_key_is_named() -> None:
    [text] = told(vendors=(replace(VENDOR, keys=()),))

    assert text.startswith("vendor openai: no key")


def test_a_private_vendor_may_do_without_a_key_and_without_encryption() -> None:
    assert told(vendors=(replace(VENDOR, keys=(), private=True),)) == ()
    assert told(vendors=(replace(VENDOR, base_url="http://10.0.0.5", private=True),)) == ()


def test_keys_that_travel_in_the_clear_are_named() -> None:
    [text] = told(vendors=(replace(VENDOR, base_url="HTTP://api.openai.com/v1"),))

    assert text.startswith("vendor openai: its keys travel unencrypted")
    assert "hidden" not in text


def test_a_target_without_a_price_is_named() -> None:
    [text] = told(prices=())

    assert text == "model m: target openai/mini has no price, its use costs 0"


def test_a_vendor_model_that_stands_in_for_a_node_needs_a_price_too() -> None:
    nodes = (replace(NODE, cloud_model="large"), replace(NODE, name="mac-2", url="http://m2", cloud_model="large"))
    [text] = told(nodes=nodes)

    assert text == "model m: target openai/large has no price, its use costs 0"
    assert told(nodes=nodes, prices=(PriceSpec("openai", "mini"), PriceSpec("openai", "large"))) == ()


def test_a_price_of_what_nobody_is_asked_for_is_named_once() -> None:
    unused = PriceSpec("openai", "unused")
    [text] = told(prices=(*SOUND.prices, unused, replace(unused, valid_from=0)))

    assert text == "price openai/unused: no model names this target, so nothing is charged by it"


@pytest.mark.parametrize("name", ["qwen3", "qwen3:latest", "unasked"])
def test_the_model_of_a_node_may_have_a_price_of_electricity(name: str) -> None:
    node = replace(NODE, models=(*NODE.models, NodeModelSpec("unasked:latest")))

    assert told(nodes=(node,), prices=(*SOUND.prices, PriceSpec("local", name))) == ()


def test_the_model_of_no_node_needs_no_price_of_electricity() -> None:
    [text] = told(prices=(*SOUND.prices, PriceSpec("local", "absent")))

    assert text.startswith("price local/absent: no model")


@pytest.mark.parametrize(
    "nodes", [(), (replace(NODE, enabled=False),), (replace(NODE, models=(NodeModelSpec("x"),)),)]
)
def test_a_model_no_node_serves_is_named(nodes: tuple[NodeSpec, ...]) -> None:
    [text] = told(nodes=nodes)

    assert text == "model m: no enabled node serves qwen3 yet; one that announces it will"


def test_a_model_that_another_node_serves_is_not_named() -> None:
    assert warnings(replace(SOUND, nodes=()), (NODE,)) == ()


def test_a_model_is_named_where_the_other_node_is_switched_off() -> None:
    [text] = warnings(replace(SOUND, nodes=()), (replace(NODE, enabled=False),))

    assert text.startswith("model m: no enabled node")


def test_mixed_weights_are_named() -> None:
    targets = (TargetSpec("openai", "mini", weight=1), TargetSpec("openai", "mini2"))
    [text] = told(
        models=(replace(MODEL, targets=targets),),
        prices=(PriceSpec("openai", "mini"), PriceSpec("openai", "mini2")),
    )

    assert text.startswith("model m: targets without a weight")


def test_a_bare_engine_without_models_is_named() -> None:
    nodes = (NODE, NodeSpec("gpu-1", "http://10.0.0.8", (), engine=EngineKind.VLLM))
    [text] = told(nodes=nodes)

    assert text.startswith("node gpu-1: serves no model")


def test_an_agent_may_announce_its_models_later() -> None:
    assert told(nodes=(NODE, NodeSpec("gpu-1", "http://10.0.0.8", ()))) == ()


def test_a_node_that_is_switched_off_adds_no_slots_to_its_neighbour() -> None:
    assert told(nodes=(NODE, replace(NODE, name="mac-2", enabled=False))) == ()


def test_two_nodes_with_one_url_are_named() -> None:
    [text] = told(nodes=(NODE, replace(NODE, name="mac-2", url="HTTP://10.0.0.7:8790/")))

    assert text.startswith("node mac-2: has the URL of node mac-1")


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": PolicySpec(allowed_regions=("fr",))},
        {"models": (replace(MODEL, allowed_regions=("fr",)),)},
        {"client_keys": (replace(SOUND.client_keys[0], allowed_regions=("fr",)),)},
    ],
)
def test_places_without_a_region_are_named_once_regions_matter(changes: dict[str, Any]) -> None:
    vendor, node = told(**changes)

    assert vendor.startswith("vendor openai: has no region")
    assert node.startswith("node mac-1: has no region")
