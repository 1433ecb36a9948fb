from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from ktms.config.gateway_dump import dump_gateway
from ktms.config.gateway_file import read_gateway
from ktms.config.secret_file import read_secret_file
from ktms.domain.access.limits import Limits
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    Catalogue,
    ChainSpec,
    ClientKeySpec,
    DollarLimitMode,
    EngineKind,
    ModelSpec,
    NodeModelSpec,
    NodeSpec,
    PolicySpec,
    PriceSpec,
    Selection,
    TargetSpec,
    TenantSpec,
    TimeoutSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.placement import Placement

words = some.text(min_size=1, max_size=12) | some.sampled_from(
    [
        "no",
        "null",
        "1e3",
        "0.15",
        "2027-01-01",
        "- x",
        "a: b",
        "#x",
        " x ",
        "'",
        '"',
        "~",
        "é",
        "qwen3:4b",
        "<<",
        "*a",
    ]
)
regions = some.none() | words
windows = some.none() | some.integers(1, 10**6)
seconds = some.none() | some.floats(0.001, 3600)
placements = some.none() | some.sampled_from(Placement)
micros = some.none() | some.integers(0, 10**15)
dollars = some.decimals(0, 1000, allow_nan=False, allow_infinity=False, places=6)
timeouts = some.builds(TimeoutSpec, seconds, seconds, seconds, seconds)
limits = some.builds(Limits, windows, windows, windows, micros, micros)


def lists(of: some.SearchStrategy[str]) -> some.SearchStrategy[tuple[str, ...]]:
    return some.lists(of, max_size=3).map(tuple)


catalogues = some.builds(
    Catalogue,
    vendors=some.lists(
        some.builds(
            VendorSpec,
            words,
            some.sampled_from(VendorKind),
            words,
            region=regions,
            timeouts=timeouts,
            headers=some.dictionaries(words, some.text(max_size=5), max_size=2),
            private=some.booleans(),
        ),
        max_size=2,
    ).map(tuple),
    models=some.lists(
        some.builds(
            ModelSpec,
            words,
            some.lists(some.builds(TargetSpec, words, words, some.none() | some.integers(0, 9)), max_size=2).map(
                tuple
            ),
            aliases=lists(words),
            context_window=windows,
            queue_timeout_ms=some.integers(0, 9999),
            placement=placements,
            placement_lock=some.booleans(),
            selection=some.sampled_from(Selection),
            cache_ttl_s=some.integers(0, 99),
            allowed_regions=some.none() | lists(words),
            timeouts=timeouts,
        ),
        max_size=2,
    ).map(tuple),
    chains=some.lists(
        some.builds(ChainSpec, words, some.dictionaries(words, lists(words), min_size=1, max_size=3), words),
        max_size=2,
    ).map(tuple),
    nodes=some.lists(
        some.builds(
            NodeSpec,
            words,
            words,
            some.lists(some.builds(NodeModelSpec, words, windows), max_size=2).map(tuple),
            engine=some.sampled_from(EngineKind),
            region=regions,
            enabled=some.booleans(),
            slots=some.integers(1, 99),
            base_weight=windows,
            cloud_model=some.none() | words,
        ),
        max_size=2,
    ).map(tuple),
    prices=some.lists(
        some.builds(
            PriceSpec,
            words,
            words,
            dollars,
            some.none() | dollars,
            some.none() | dollars,
            dollars,
            some.none() | some.integers(0, 253_402_300_799).map(float),
        ),
        max_size=2,
    ).map(tuple),
    tenants=some.lists(
        some.builds(TenantSpec, words, limits, some.none() | some.sampled_from(DollarLimitMode)), max_size=2
    ).map(tuple),
    client_keys=some.lists(
        some.builds(
            ClientKeySpec,
            words,
            words,
            models=some.none() | lists(words),
            placements=some.none() | some.lists(some.sampled_from(Placement), max_size=2).map(tuple),
            allowed_regions=some.none() | lists(words),
            placement=placements,
            placement_lock=some.booleans(),
            tier=some.none() | words,
            interactive=some.booleans(),
            limits=limits,
            cache_ttl_s=some.integers(0, 1000),
            expires_at=some.none() | some.integers(0, 10**10).map(float),
        ),
        max_size=2,
    ).map(tuple),
    policy=some.builds(
        PolicySpec,
        some.sampled_from(Placement),
        some.booleans(),
        some.booleans(),
        lists(words),
        some.floats(1, 100) | some.just(float("inf")),
        some.integers(1, 6),
    ),
)


def read_back(text: str, **environ: str) -> Catalogue:
    return read_gateway(Path("gateway.yaml"), text, environ, read_secret_file).catalogue


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(catalogues)
def test_what_is_written_reads_back_the_same(catalogue: Catalogue) -> None:
    assert read_back(dump_gateway(catalogue)) == catalogue


def test_a_secret_becomes_the_name_of_a_variable_and_is_not_written() -> None:
    catalogue = Catalogue(
        vendors=(
            VendorSpec("open.ai", VendorKind.OPENAI, "https://x", keys=(Secret("canary1"), Secret("canary2"))),
        ),
        nodes=(NodeSpec("1-mac", "http://x", (), token=Secret("canary3")),),
        client_keys=(ClientKeySpec("app", "default", secret=Secret("canary4")),),
    )
    text = dump_gateway(catalogue)
    assert "canary" not in text
    environ = {
        "OPEN_AI_KEY_1": "canary1",
        "OPEN_AI_KEY_2": "canary2",
        "_1_MAC_TOKEN": "canary3",
        "APP_SECRET": "canary4",
    }
    assert read_back(text, **environ) == catalogue


def test_fields_at_their_defaults_are_left_out() -> None:
    text = dump_gateway(Catalogue(models=(ModelSpec("a", (TargetSpec("local", "b"),)),)))
    body = text.partition("version: 1\n")[2]
    assert body == "models:\n  - name: a\n    targets:\n      - vendor: local\n        model: b\n"


def test_the_head_says_where_the_secrets_are() -> None:
    assert dump_gateway(Catalogue()).startswith("# Secrets are never exported.")


@pytest.mark.parametrize("price", ["0.15", "0.000001", "1000"])
def test_dollars_are_written_in_quotes_and_exact(price: str) -> None:
    catalogue = Catalogue(prices=(PriceSpec("a", "b", Decimal(price)),))
    assert f"input: '{price}'" in dump_gateway(catalogue) or f'input: "{price}"' in dump_gateway(catalogue)
