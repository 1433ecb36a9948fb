"""Rules that an entry must keep by itself."""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.access.key_form import KeyKind, make_key
from ktms.domain.access.limits import DOLLARS_MAX_MICROS, LIMIT_MAX, Limits
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    Catalogue,
    ChainSpec,
    ClientKeySpec,
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
from ktms.domain.catalogue_entries import CACHE_TTL_MAX_S, SLOTS_MAX, TIMEOUT_MAX_S, entry_complaints
from ktms.domain.placement import Placement

NAN, INF = float("nan"), float("inf")

VENDOR = VendorSpec("openai", VendorKind.OPENAI, "https://api.openai.com/v1", region="us", keys=(Secret("sk-1"),))
MODEL = ModelSpec("3gk-llm", (TargetSpec("local", "qwen3:4b"),), aliases=("default",))
CHAIN = ChainSpec("auto", {"medium": ("3gk-llm",)}, "medium")
NODE = NodeSpec("mac-1", "http://10.0.0.7:8790", (NodeModelSpec("qwen3:4b", 8192),), token=Secret("t"), slots=4)
PRICE = PriceSpec("openai", "gpt", input=Decimal("0.15"), output=Decimal("0.60"))
TENANT = TenantSpec("team-a", Limits(rpm=10))
KEY = ClientKeySpec("app-1", "team-a", placements=(Placement.NODES_ONLY,), placement=Placement.NODES_ONLY)

SECTION = {
    VendorSpec: "vendors",
    ModelSpec: "models",
    ChainSpec: "chains",
    NodeSpec: "nodes",
    PriceSpec: "prices",
    TenantSpec: "tenants",
    ClientKeySpec: "client_keys",
}


def wrong(entry: Any, **changes: Any) -> list[tuple[str | int, ...]]:
    """Give the paths inside the entry that are complained about once these fields are changed."""
    section = SECTION[type(entry)]
    sections: dict[str, Any] = {section: (entry, replace(entry, **changes))}
    catalogue = Catalogue(**sections)
    paths = [complaint.path for complaint in entry_complaints(catalogue)]
    assert all(path[:2] == (section, 1) for path in paths), "only the changed entry is wrong"
    return [path[2:] for path in paths]


def test_sound_entries_have_no_complaint() -> None:
    catalogue = Catalogue((VENDOR,), (MODEL,), (CHAIN,), (NODE,), (PRICE,), (TENANT,), (KEY,))

    assert list(entry_complaints(catalogue)) == []


@pytest.mark.parametrize("entry", [VENDOR, NODE, TENANT, KEY], ids=lambda entry: SECTION[type(entry)])
@pytest.mark.parametrize("name", ["", "a b", "a/b", "-a", ".a", "a" * 65, "ä", "a\n", "a,b"])
def test_a_label_is_letters_digits_and_a_few_signs(entry: Any, name: str) -> None:
    assert wrong(entry, name=name) == [("name",)]


@pytest.mark.parametrize("name", ["a", "A1", "team_a.b-c", "1" * 64])
def test_ordinary_labels_are_taken(name: str) -> None:
    assert wrong(TENANT, name=name) == []


@pytest.mark.parametrize("name", ["local", "cache"])
def test_what_stands_for_something_of_ours_is_no_vendor(name: str) -> None:
    assert wrong(VENDOR, name=name) == [("name",)]


@pytest.mark.parametrize("seconds", [-1, CACHE_TTL_MAX_S + 1])
def test_answers_are_kept_for_a_month_at_most(seconds: int) -> None:
    assert wrong(KEY, cache_ttl_s=seconds) == [("cache_ttl_s",)]
    assert wrong(KEY, cache_ttl_s=CACHE_TTL_MAX_S) == []


@pytest.mark.parametrize("name", ["", ":a", "a:", "a/", "/a", "a b", "a\r\nx", "ä", "a" * 129, "a?b"])
def test_a_public_name_has_its_form(name: str) -> None:
    assert wrong(MODEL, name=name) == [("name",)]
    assert wrong(MODEL, aliases=("ok", name)) == [("aliases", 1)]
    assert wrong(CHAIN, name=name) == [("name",)]


@pytest.mark.parametrize("name", ["a", "qwen3:4b", "org/model-1.5_x:v2", "m:high", "a" * 128])
def test_ordinary_public_names_are_taken(name: str) -> None:
    assert wrong(MODEL, name=name) == []


@pytest.mark.parametrize("name", ["", " a", "a ", "a\n", "a\x00b", "ä", "a" * 257])
def test_a_vendors_model_name_is_printable(name: str) -> None:
    assert wrong(MODEL, targets=(TargetSpec("local", name),)) == [("targets", 0, "model")]
    assert wrong(NODE, models=(NodeModelSpec(name),)) == [("models", 0, "name")]
    assert wrong(NODE, cloud_model=name) == [("cloud_model",)]
    assert wrong(PRICE, model=name) == [("model",)]


@pytest.mark.parametrize("name", ["a", "/models/llama 3.gguf", "hf.co/org/model:Q4_K_M", "@cf/x"])
def test_ordinary_vendor_models_are_taken(name: str) -> None:
    assert wrong(NODE, models=(NodeModelSpec(name),), cloud_model=name) == []


def test_local_is_no_name_for_a_vendor() -> None:
    assert wrong(VENDOR, name="local") == [("name",)]


@pytest.mark.parametrize("kind", [VendorKind.ANTHROPIC, VendorKind.GEMINI])
def test_a_kind_that_is_not_served_yet_is_refused(kind: VendorKind) -> None:
    assert wrong(VENDOR, kind=kind) == [("kind",)]


@pytest.mark.parametrize("url", ["", "api.openai.com", "https://user:pw@host", "https://host/../v1", "http://h:0"])
def test_a_url_is_read_strictly(url: str) -> None:
    assert wrong(VENDOR, base_url=url) == [("base_url",)]
    assert wrong(NODE, url=url) == [("url",)]


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254", "http://[fe80::1]:80", "http://metadata.google.internal"]
)
def test_metadata_addresses_are_refused_even_where_private_ones_are_meant(url: str) -> None:
    assert wrong(VENDOR, base_url=url, private=True) == [("base_url",)]
    assert wrong(NODE, url=url) == [("url",)]


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "http://10.1.2.3", "http://localhost:1"])
def test_a_private_address_of_a_vendor_has_to_be_meant(url: str) -> None:
    assert wrong(VENDOR, base_url=url) == [("base_url",)]
    assert wrong(VENDOR, base_url=url, private=True) == []
    assert wrong(NODE, url=url) == []


@pytest.mark.parametrize("region", ["", "FR", "-fr", "f r", "x" * 33, "fr\n"])
def test_a_region_has_its_form(region: str) -> None:
    assert wrong(VENDOR, region=region) == [("region",)]
    assert wrong(NODE, region=region) == [("region",)]
    assert wrong(MODEL, allowed_regions=("fr", region)) == [("allowed_regions", 1)]
    assert wrong(KEY, allowed_regions=(region,)) == [("allowed_regions", 0)]


def test_an_empty_list_of_regions_allows_nothing_and_is_refused() -> None:
    assert wrong(MODEL, allowed_regions=()) == [("allowed_regions",)]
    assert wrong(KEY, allowed_regions=()) == [("allowed_regions",)]


@pytest.mark.parametrize("secret", ["", "a b", "a\r\nX: y", "ä", "x" * 4097])
def test_a_credential_fits_into_a_header(secret: str) -> None:
    assert wrong(VENDOR, keys=(Secret("ok"), Secret(secret))) == [("keys", 1)]
    assert wrong(NODE, token=Secret(secret)) == [("token",)]


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "x-api-key",
        "API-KEY",
        "Cookie",
        "Host",
        "content-length",
        "Content-Type",
        "Transfer-Encoding",
        "connection",
        "Proxy-Authorization",
        "Accept-Encoding",
        "",
        "a b",
        "a\r\nb",
        "a:b",
        "x" * 65,
    ],
)
def test_some_headers_cannot_be_given(name: str) -> None:
    assert wrong(VENDOR, headers={name: "x"}) == [("headers", name)]


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\n", "\x00", "ä", " a", "a ", "x" * 4097])
def test_a_header_value_is_one_line_of_ascii(value: str) -> None:
    assert wrong(VENDOR, headers={"X-Title": value}) == [("headers", "X-Title")]


@pytest.mark.parametrize("value", ["", "a", "a b", "x" * 4096])
def test_ordinary_headers_are_taken(value: str) -> None:
    assert wrong(VENDOR, headers={"OpenAI-Organization": value}) == []


def test_headers_are_few() -> None:
    assert wrong(VENDOR, headers={f"X-{number}": "" for number in range(33)}) == [("headers",)]


@pytest.mark.parametrize("timer", ["connect_s", "first_token_s", "idle_s", "total_s"])
@pytest.mark.parametrize("seconds", [0.0, -1.0, NAN, INF, TIMEOUT_MAX_S + 1])
def test_a_timer_is_a_positive_number_within_reason(timer: str, seconds: float) -> None:
    assert wrong(VENDOR, timeouts=TimeoutSpec(**{timer: seconds})) == [("timeouts", timer)]
    assert wrong(MODEL, timeouts=TimeoutSpec(**{timer: seconds})) == [("timeouts", timer)]


def test_ordinary_timers_are_taken() -> None:
    assert wrong(VENDOR, timeouts=TimeoutSpec(0.1, 60, 60, TIMEOUT_MAX_S)) == []


def test_a_model_without_targets_is_refused() -> None:
    assert wrong(MODEL, targets=()) == [("targets",)]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"context_window": 0}, ("context_window",)),
        ({"context_window": 10**9 + 1}, ("context_window",)),
        ({"queue_timeout_ms": -1}, ("queue_timeout_ms",)),
        ({"queue_timeout_ms": 600_001}, ("queue_timeout_ms",)),
        ({"cache_ttl_s": -1}, ("cache", "ttl_s")),
        ({"targets": (TargetSpec("openai", "x", weight=0),)}, ("targets", 0, "weight")),
        ({"targets": (TargetSpec("openai", "x", weight=10_001),)}, ("targets", 0, "weight")),
    ],
)
def test_numbers_of_a_model_have_ranges(changes: dict[str, Any], path: tuple[str | int, ...]) -> None:
    assert wrong(MODEL, **changes) == [path]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"slots": 0}, ("slots",)),
        ({"slots": SLOTS_MAX + 1}, ("slots",)),
        ({"base_weight": 0}, ("base_weight",)),
        ({"models": (NodeModelSpec("x", 0),)}, ("models", 0, "context_window")),
    ],
)
def test_numbers_of_a_node_have_ranges(changes: dict[str, Any], path: tuple[str | int, ...]) -> None:
    assert wrong(NODE, **changes) == [path]


@given(st.integers(min_value=1, max_value=SLOTS_MAX))
def test_any_sensible_number_of_slots_is_taken(slots: int) -> None:
    assert wrong(NODE, slots=slots) == []


def test_a_chain_needs_a_tier() -> None:
    assert wrong(CHAIN, tiers={}) == [("tiers",)]


def test_the_default_tier_is_one_of_the_tiers() -> None:
    assert wrong(CHAIN, default_tier="high") == [("default_tier",)]


def test_a_tier_needs_a_model() -> None:
    assert wrong(CHAIN, tiers={"medium": ("a",), "low": ()}) == [("tiers", "low")]


@pytest.mark.parametrize("tier", ["", "High", "a b", "nodes-only", "cloud_first", "a:b", "x" * 33])
def test_a_tier_is_a_word_of_its_own(tier: str) -> None:
    assert wrong(CHAIN, tiers={"medium": ("a",), tier: ("a",)}) == [("tiers", tier)]


@pytest.mark.parametrize("name", ["input", "cached_input", "cache_write", "output"])
@pytest.mark.parametrize("amount", ["-0.01", "NaN", "Infinity", "0.0000001"])
def test_a_price_is_an_amount(name: str, amount: str) -> None:
    assert wrong(PRICE, **{name: Decimal(amount)}) == [(name,)]


def test_a_price_begins_at_a_moment() -> None:
    assert wrong(PRICE, valid_from=NAN) == [("valid_from",)]
    assert wrong(PRICE, valid_from=1_785_542_400.0) == []


@pytest.mark.parametrize("limit", ["rpm", "tpm", "concurrent", "usd_per_day_micros", "usd_per_month_micros"])
def test_a_limit_is_neither_negative_nor_a_slip_of_the_keyboard(limit: str) -> None:
    path = ("limits", limit.removesuffix("_micros"))

    assert wrong(TENANT, limits=Limits(**{limit: -1})) == [path]
    assert wrong(KEY, limits=Limits(**{limit: -1})) == [path]
    assert wrong(KEY, limits=Limits(**{limit: 0})) == []
    most = DOLLARS_MAX_MICROS if limit.endswith("_micros") else LIMIT_MAX
    assert wrong(KEY, limits=Limits(**{limit: most})) == []
    assert wrong(KEY, limits=Limits(**{limit: most + 1})) == [path]


def test_a_key_may_use_some_placement() -> None:
    assert wrong(KEY, placements=(), placement=None) == [("placements",)]


def test_a_keys_default_is_among_its_placements() -> None:
    assert wrong(KEY, placement=Placement.CLOUD_ONLY) == [("placement",)]
    assert wrong(KEY, placement=Placement.CLOUD_ONLY, placements=None) == []


@pytest.mark.parametrize("moment", [NAN, INF, 0.0, -1.0])
def test_an_expiry_is_a_moment(moment: float) -> None:
    assert wrong(KEY, expires_at=moment) == [("expires_at",)]


def entropy(count: int) -> bytes:
    return bytes(range(count))


@pytest.mark.parametrize(
    "secret", ["", "secret", make_key(KeyKind.ADMIN, entropy), make_key(KeyKind.CLIENT, entropy)[:-1]]
)
def test_a_given_key_has_the_form_of_one(secret: str) -> None:
    assert wrong(KEY, secret=Secret(secret)) == [("secret",)]


def test_a_given_key_of_the_right_form_is_taken() -> None:
    assert wrong(KEY, secret=Secret(make_key(KeyKind.CLIENT, entropy)), expires_at=2e9) == []


def policy_paths(policy: PolicySpec) -> Iterable[tuple[str | int, ...]]:
    return [complaint.path for complaint in entry_complaints(Catalogue(policy=policy))]


@pytest.mark.parametrize("band", [0.99, 0.0, -1.0, NAN, -INF])
def test_a_band_is_one_or_more(band: float) -> None:
    assert policy_paths(PolicySpec(band=band)) == [("policy", "band")]


@pytest.mark.parametrize("band", [1.0, 1.25, INF])
def test_ordinary_bands_and_none_at_all_are_taken(band: float) -> None:
    assert policy_paths(PolicySpec(band=band)) == []


@pytest.mark.parametrize("attempts_max", [0, 7])
def test_attempts_are_one_to_six(attempts_max: int) -> None:
    assert policy_paths(PolicySpec(attempts_max=attempts_max)) == [("policy", "attempts_max")]


def test_regions_of_the_policy_have_their_form() -> None:
    assert policy_paths(PolicySpec(allowed_regions=("fr", "EU"))) == [("policy", "allowed_regions", 1)]


@given(st.text(min_size=1, max_size=40))
def test_no_complaint_repeats_a_secret(text: str) -> None:
    secret = "s3cr3t-hunter2 " + text
    catalogue = Catalogue(
        vendors=(replace(VENDOR, keys=(Secret(secret),), base_url=f"https://u:{secret}@h"),),
        nodes=(replace(NODE, token=Secret(secret), url=f"https://u:{secret}@h"),),
        client_keys=(replace(KEY, secret=Secret(secret)),),
    )

    found = list(entry_complaints(catalogue))

    assert len(found) == 5
    assert not any("s3cr3t" in str(complaint) for complaint in found)
