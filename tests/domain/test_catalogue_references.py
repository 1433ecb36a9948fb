"""Rules between entries of a catalogue."""

from dataclasses import replace
from typing import Any

import pytest

from ktms.domain.access.key_form import KeyKind, make_key
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    Catalogue,
    ChainSpec,
    ClientKeySpec,
    ModelSpec,
    NodeModelSpec,
    NodeSpec,
    PriceSpec,
    TargetSpec,
    TenantSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.catalogue_references import reference_complaints

LOCAL = (TargetSpec("local", "qwen3:4b"),)

SOUND = Catalogue(
    vendors=(VendorSpec("openai", VendorKind.OPENAI, "https://api.openai.com/v1"),),
    models=(
        ModelSpec("small", (*LOCAL, TargetSpec("openai", "mini", weight=1)), aliases=("default",)),
        ModelSpec("big", LOCAL),
    ),
    chains=(ChainSpec("auto", {"medium": ("small",), "high": ("big", "default")}, "medium"),),
    nodes=(NodeSpec("mac-1", "http://10.0.0.7", (NodeModelSpec("qwen3:4b"),)),),
    prices=(PriceSpec("openai", "mini"), PriceSpec("local", "qwen3:4b")),
    tenants=(TenantSpec("team-a"),),
    client_keys=(
        ClientKeySpec("app-1", "team-a", models=("small", "default", "auto"), tier="high"),
        ClientKeySpec("app-2", "default"),
    ),
)


def wrong(**changes: Any) -> list[tuple[str | int, ...]]:
    return [complaint.path for complaint in reference_complaints(replace(SOUND, **changes))]


def test_a_sound_catalogue_has_no_complaint() -> None:
    assert wrong() == []


@pytest.mark.parametrize("section", ["vendors", "nodes", "tenants", "client_keys"])
def test_a_name_given_twice_is_refused(section: str) -> None:
    entries = getattr(SOUND, section)

    assert wrong(**{section: (*entries, entries[0])}) == [(section, len(entries), "name")]


def test_a_price_given_twice_is_refused() -> None:
    assert wrong(prices=(*SOUND.prices, SOUND.prices[0])) == [("prices", 2)]


def test_a_price_given_twice_under_both_spellings_of_a_nodes_model_is_refused() -> None:
    assert wrong(prices=(PriceSpec("local", "qwen3"), PriceSpec("local", "qwen3:latest"))) == [("prices", 1)]


def test_one_target_has_one_price_for_each_beginning() -> None:
    first, second = (PriceSpec("openai", "mini", valid_from=at_s) for at_s in (0.0, 86_400.0))
    assert wrong(prices=(*SOUND.prices, first, second)) == []
    assert wrong(prices=(*SOUND.prices, first, second, second)) == [("prices", 4)]


@pytest.mark.parametrize(
    ("models", "chains", "path"),
    [
        ((ModelSpec("small", LOCAL),), (), ("models", 2, "name")),
        ((ModelSpec("default", LOCAL),), (), ("models", 2, "name")),
        ((ModelSpec("new", LOCAL, aliases=("small",)),), (), ("models", 2, "aliases", 0)),
        ((ModelSpec("new", LOCAL, aliases=("new",)),), (), ("models", 2, "aliases", 0)),
        ((ModelSpec("new", LOCAL, aliases=("x", "x")),), (), ("models", 2, "aliases", 1)),
        ((), (ChainSpec("auto", {"medium": ("big",)}, "medium"),), ("chains", 1, "name")),
        ((ModelSpec("auto", LOCAL),), (), ("chains", 0, "name")),
    ],
)
def test_a_public_name_means_one_thing(
    models: tuple[ModelSpec, ...], chains: tuple[ChainSpec, ...], path: tuple[str | int, ...]
) -> None:
    found = wrong(models=(*SOUND.models, *models), chains=(*SOUND.chains, *chains))

    assert path in found


@pytest.mark.parametrize("name", ["small:high", "auto:medium", "default:nodes-only", "auto:high:nodes-only"])
def test_a_name_that_would_also_mean_another_with_a_suffix_is_refused(name: str) -> None:
    assert wrong(models=(*SOUND.models, ModelSpec(name, LOCAL))) == [("models", 2, "name")]


@pytest.mark.parametrize("name", ["tiny:high", "small:4b", "small:low", "small:high:x", "tiny:nodes-only"])
def test_a_suffix_word_alone_makes_no_name_ambiguous(name: str) -> None:
    assert wrong(models=(*SOUND.models, ModelSpec(name, LOCAL))) == []


def test_a_target_names_a_vendor() -> None:
    models = (ModelSpec("m", (TargetSpec("nobody", "x"),)),)

    assert wrong(models=(*SOUND.models, *models)) == [("models", 2, "targets", 0, "vendor")]


def test_a_weight_means_nothing_for_local() -> None:
    models = (ModelSpec("m", (TargetSpec("local", "x", weight=2),)),)

    assert wrong(models=(*SOUND.models, *models)) == [("models", 2, "targets", 0, "weight")]


def test_a_target_stands_once_in_a_model() -> None:
    models = (ModelSpec("m", (*LOCAL, TargetSpec("openai", "x"), TargetSpec("openai", "x", weight=3))),)

    assert wrong(models=(*SOUND.models, *models)) == [("models", 2, "targets", 2)]


@pytest.mark.parametrize(
    ("tiers", "path"),
    [
        ({"medium": ("nobody",)}, ("chains", 0, "tiers", "medium", 0)),
        ({"medium": ("small", "auto")}, ("chains", 0, "tiers", "medium", 1)),
        ({"medium": ("small", "big", "small")}, ("chains", 0, "tiers", "medium", 2)),
    ],
)
def test_a_tier_holds_models_each_once(tiers: dict[str, tuple[str, ...]], path: tuple[str | int, ...]) -> None:
    assert wrong(chains=(ChainSpec("auto", tiers, "medium"),), client_keys=()) == [path]


def test_a_price_is_for_a_vendor() -> None:
    assert wrong(prices=(PriceSpec("nobody", "x"),)) == [("prices", 0, "vendor")]


@pytest.mark.parametrize("second", ["qwen3", "qwen3:latest"])
def test_a_node_serves_a_model_once(second: str) -> None:
    node = NodeSpec("mac-2", "http://10.0.0.8", (NodeModelSpec("qwen3"), NodeModelSpec(second)))

    assert wrong(nodes=(node,)) == [("nodes", 0, "models", 1, "name")]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"tenant": "nobody"}, ("tenant",)),
        ({"models": ("small", "nothing")}, ("models", 1)),
        ({"tier": "ultra"}, ("tier",)),
    ],
)
def test_a_client_key_refers_to_what_is_there(changes: dict[str, Any], path: tuple[str | int, ...]) -> None:
    key = replace(SOUND.client_keys[0], **changes)

    assert wrong(client_keys=(key,)) == [("client_keys", 0, *path)]


def test_a_key_text_belongs_to_one_client_key() -> None:
    secret = Secret(make_key(KeyKind.CLIENT, lambda count: bytes(range(count))))
    keys = (
        replace(SOUND.client_keys[0], secret=secret),
        SOUND.client_keys[1],
        replace(SOUND.client_keys[0], name="app-3", secret=secret),
    )

    assert wrong(client_keys=keys) == [("client_keys", 2, "secret")]
