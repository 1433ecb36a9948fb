from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.adapters.postgres.specs import decode, encode, plain, without_secrets
from ktms.domain.access.limits import Limits
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
    Selection,
    TargetSpec,
    TenantSpec,
    TimeoutSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.domain.placement import Placement

texts = st.text(max_size=20)
counts = st.integers(0, 2**53 - 1)
seconds = st.none() | st.floats(0, 1e6)
timeouts = st.builds(TimeoutSpec, seconds, seconds, seconds, seconds)
limits = st.builds(Limits, *[st.none() | counts] * 5)
placements = st.none() | st.sampled_from(Placement)
names = st.lists(texts, max_size=3).map(tuple)

vendors = st.builds(
    VendorSpec,
    name=texts,
    kind=st.sampled_from(VendorKind),
    base_url=texts,
    region=st.none() | texts,
    keys=st.just(()),
    timeouts=timeouts,
    headers=st.dictionaries(texts, texts, max_size=3),
    private=st.booleans(),
)
models = st.builds(
    ModelSpec,
    name=texts,
    targets=st.lists(st.builds(TargetSpec, texts, texts, st.none() | counts), max_size=3).map(tuple),
    aliases=names,
    context_window=st.none() | counts,
    queue_timeout_ms=counts,
    placement=placements,
    placement_lock=st.booleans(),
    selection=st.sampled_from(Selection),
    cache_ttl_s=counts,
    allowed_regions=st.none() | names,
    timeouts=timeouts,
)
chains = st.builds(ChainSpec, name=texts, tiers=st.dictionaries(texts, names, max_size=3), default_tier=texts)
nodes = st.builds(
    NodeSpec,
    name=texts,
    url=texts,
    models=st.lists(st.builds(NodeModelSpec, texts, st.none() | counts), max_size=3).map(tuple),
    token=st.none(),
    base_weight=st.none() | counts,
    cloud_model=st.none() | texts,
)
tenants = st.builds(TenantSpec, name=texts, limits=limits)
policies = st.builds(PolicySpec, placement=st.sampled_from(Placement), allowed_regions=names, band=st.floats(1))
client_keys = st.builds(
    ClientKeySpec,
    name=texts,
    tenant=texts,
    models=st.none() | names,
    placements=st.none() | st.lists(st.sampled_from(Placement), max_size=3).map(tuple),
    placement=placements,
    limits=limits,
    expires_at=st.none() | st.floats(1, 1e18),
    secret=st.none(),
)


@given(vendors)
def test_a_vendor_comes_back_as_it_was(entry: VendorSpec) -> None:
    assert decode(VendorSpec, encode(entry), name=entry.name) == entry


@given(models)
def test_a_model_comes_back_as_it_was(entry: ModelSpec) -> None:
    assert decode(ModelSpec, encode(entry), name=entry.name) == entry


@given(chains)
def test_a_chain_comes_back_as_it_was(entry: ChainSpec) -> None:
    assert decode(ChainSpec, encode(entry), name=entry.name) == entry


@given(nodes)
def test_a_node_comes_back_as_it_was(entry: NodeSpec) -> None:
    assert decode(NodeSpec, encode(entry), name=entry.name) == entry


@given(tenants)
def test_a_tenant_comes_back_as_it_was(entry: TenantSpec) -> None:
    assert decode(TenantSpec, encode(entry), name=entry.name) == entry


@given(policies)
def test_a_policy_comes_back_as_it_was(entry: PolicySpec) -> None:
    assert decode(PolicySpec, encode(entry)) == entry


@given(client_keys)
def test_a_client_key_comes_back_as_it_was(entry: ClientKeySpec) -> None:
    assert decode(ClientKeySpec, encode(entry), name=entry.name, tenant=entry.tenant) == entry


def test_an_empty_policy_is_the_default_one() -> None:
    assert decode(PolicySpec, "{}") == PolicySpec()


def test_no_secret_is_encoded() -> None:
    secret = Secret("canary-secret-value")
    entries = (
        VendorSpec("v", VendorKind.OPENAI, "https://x", keys=(secret,)),
        NodeSpec("n", "http://x", (), token=secret),
        ClientKeySpec("k", "t", secret=secret),
    )
    for entry in entries:
        assert "canary" not in encode(entry)
        assert "canary" not in str(plain(entry))


def test_money_is_text_to_the_last_digit() -> None:
    assert plain(PriceSpec("v", "m", Decimal("0.1000000000000000000001")))["input"] == "0.1000000000000000000001"


def test_a_shown_catalogue_has_no_secrets() -> None:
    secret = Secret("canary-secret-value")
    catalogue = Catalogue(
        vendors=(VendorSpec("v", VendorKind.OPENAI, "https://x", keys=(secret,)),),
        nodes=(NodeSpec("n", "http://x", (), token=secret),),
        client_keys=(ClientKeySpec("k", "t", secret=secret),),
    )
    shown = without_secrets(catalogue)
    assert (shown.vendors[0].keys, shown.nodes[0].token, shown.client_keys[0].secret) == ((), None, None)


def test_what_cannot_be_read_is_told_with_its_place() -> None:
    with pytest.raises(CatalogueInvalid, match=r"models\.m: what is stored cannot be read: .*targets"):
        decode(ModelSpec, "{}", name="m")
