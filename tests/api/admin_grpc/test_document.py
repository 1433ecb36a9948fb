import json
from decimal import Decimal

import pytest

from ktms.api.admin_grpc.document import DocumentInvalid, decode_catalogue, encode_catalogue
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
    TargetSpec,
    TenantSpec,
    TimeoutSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.placement import Placement

WHOLE = Catalogue(
    vendors=(
        VendorSpec(
            "openai",
            VendorKind.OPENAI,
            "https://api.openai.com/v1",
            "us",
            (Secret("sk-1"), Secret("sk-2")),
            TimeoutSpec(5, 60.5, None, 600),
            {"x-team": "a"},
            private=True,
        ),
    ),
    models=(ModelSpec("a", (TargetSpec("local", "b", 3),), aliases=("c",), allowed_regions=()),),
    chains=(ChainSpec("auto", {"high": ("a", "c")}, "high"),),
    nodes=(NodeSpec("mac", "http://x", (NodeModelSpec("b", 8192),), EngineKind.VLLM, Secret("token")),),
    prices=(PriceSpec("openai", "x", Decimal("0.1500000000000000000001"), None, None, Decimal("0.6"), 86_400),),
    tenants=(TenantSpec("team", Limits(usd_per_month_micros=5), DollarLimitMode.CLOSED),),
    client_keys=(
        ClientKeySpec("app", "team", ("a",), (Placement.NODES_ONLY,), expires_at=1.5, secret=Secret("ktms_sk_x")),
    ),
    policy=PolicySpec(band=float("inf"), allowed_regions=("fr",)),
)


def document(**catalogue: object) -> bytes:
    return json.dumps({"format": 1, "catalogue": catalogue}).encode()


@pytest.mark.parametrize("catalogue", [WHOLE, Catalogue()])
def test_a_catalogue_survives_the_wire_with_its_secrets(catalogue: Catalogue) -> None:
    assert decode_catalogue(encode_catalogue(catalogue)) == catalogue


def test_the_names_on_the_wire_are_those_of_format_1() -> None:
    plain = json.loads(encode_catalogue(WHOLE))
    assert {name: sorted(entries[0]) for name, entries in plain["catalogue"].items() if name != "policy"} == {
        "vendors": ["base_url", "headers", "keys", "kind", "name", "private", "region", "timeouts"],
        "models": [
            "aliases", "allowed_regions", "cache_ttl_s", "context_window", "name", "placement", "placement_lock",
            "queue_timeout_ms", "selection", "targets", "timeouts",
        ],
        "chains": ["default_tier", "name", "tiers"],
        "nodes": [
            "base_weight", "certificate", "cloud_model", "enabled", "engine", "models", "name", "region", "slots",
            "token", "url",
        ],
        "prices": ["cache_write", "cached_input", "input", "model", "output", "valid_from", "vendor"],
        "tenants": ["dollar_limit_mode", "limits", "name"],
        "client_keys": [
            "allowed_regions", "cache_ttl_s", "dollar_limit_mode", "expires_at", "interactive", "limits", "models",
            "name", "placement", "placement_lock", "placements", "secret", "tenant", "tier",
        ],
    }  # fmt: skip
    assert sorted(plain["catalogue"]["policy"]) == [
        "allowed_regions", "attempts_max", "band", "force_cloud", "placement", "placement_lock",
    ]  # fmt: skip


def test_fields_that_are_left_out_have_their_defaults() -> None:
    decoded = decode_catalogue(document(tenants=[{"name": "team"}]))
    assert decoded == Catalogue(tenants=(TenantSpec("team"),))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "Input data was truncated"),
        (b"[]", "Expected 'object', got 'array'"),
        (b"\xff", "JSON is malformed"),
        (b'{"format": 2, "catalogue": {}}', "format 2 is not 1"),
        (b'{"format": 1}', "missing required field 'catalogue'"),
        (b'{"format": 1, "catalogue": {}, "x": 1}', "unknown field 'x'"),
        (b'{"format":1,"catalogue":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}", "nested too deeply"),
        (document(modles=[]), "catalogue.modles: unknown field; is the gateway older than this document?"),
        (document(models=[{"name": "a", "targets": [{"vendor": "b", "model": "c", "wait": 1}]}]),
         "catalogue.models[0].targets[0].wait: unknown field"),
        (document(nodes=[{"name": "a", "url": "b"}]), "missing required field 'models' - at '$.nodes[0]'"),
        (document(nodes=[{"name": "a", "url": "b", "models": [], "token": 7}]), "expected a secret as text"),
        (document(policy={"band": "wide"}), "Expected 'float', got 'str' - at '$.policy.band'"),
    ],
)  # fmt: skip
def test_what_is_no_catalogue_is_refused_with_the_field(data: bytes, said: str) -> None:
    with pytest.raises(DocumentInvalid) as invalid:
        decode_catalogue(data)
    assert said in str(invalid.value)


def test_a_secret_in_the_wrong_place_is_not_shown() -> None:
    with pytest.raises(DocumentInvalid) as invalid:
        decode_catalogue(document(nodes=[{"name": "a", "url": "b", "models": [], "slots": "canary"}]))
    assert "canary" not in str(invalid.value)
