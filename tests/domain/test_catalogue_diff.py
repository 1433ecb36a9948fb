"""Differences between two catalogues."""

from dataclasses import fields, replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    VendorKind,
    VendorSpec,
)
from ktms.domain.catalogue_diff import Change, diff, entry_name, merge

VENDOR = VendorSpec("openai", VendorKind.OPENAI, "https://api.openai.com/v1", keys=(Secret("sk-one"),))
NODE = NodeSpec("mac-1", "http://10.0.0.7", (NodeModelSpec("x"),), token=Secret("token-one"))
KEY = ClientKeySpec("app-1", "team-a", secret=Secret("secret-one"))
FULL = Catalogue(
    vendors=(VENDOR,),
    models=(ModelSpec("m", (TargetSpec("local", "x"),)),),
    chains=(ChainSpec("auto", {"medium": ("m",)}, "medium"),),
    nodes=(NODE,),
    prices=(PriceSpec("openai", "mini", input=Decimal("0.15")),),
    tenants=(TenantSpec("team-a"),),
    client_keys=(KEY,),
)
BARE = replace(
    FULL,
    vendors=(replace(VENDOR, keys=()),),
    nodes=(replace(NODE, token=None),),
    client_keys=(replace(KEY, secret=None),),
)
NAMES = [
    ("tenant", "team-a"),
    ("vendor", "openai"),
    ("node", "mac-1"),
    ("model", "m"),
    ("chain", "auto"),
    ("price", "openai/mini"),
    ("client_key", "app-1"),
]


def test_the_same_catalogue_is_no_difference() -> None:
    assert diff(FULL, FULL, prune=True) == ()


def test_everything_new_is_added() -> None:
    assert diff(Catalogue(), FULL, prune=False) == tuple(Change("add", kind, name) for kind, name in NAMES)


def test_without_pruning_nothing_is_removed() -> None:
    assert diff(FULL, Catalogue(), prune=False) == ()
    assert merge(FULL, Catalogue(), prune=False) == FULL


def test_pruning_removes_what_is_not_wanted() -> None:
    assert diff(FULL, Catalogue(), prune=True) == tuple(Change("remove", kind, name) for kind, name in NAMES)
    assert merge(FULL, Catalogue(), prune=True) == Catalogue()


def test_the_default_tenant_is_never_removed() -> None:
    stored = Catalogue(tenants=(TenantSpec("default"), TenantSpec("team-a")))

    assert diff(stored, Catalogue(), prune=True) == (Change("remove", "tenant", "team-a"),)
    assert merge(stored, Catalogue(), prune=True).tenants == (TenantSpec("default"),)


@pytest.mark.parametrize(
    ("section", "changes", "kind", "name"),
    [
        ("vendors", {"region": "us", "private": True}, "vendor", "openai"),
        ("models", {"placement_lock": True}, "model", "m"),
        ("chains", {"default_tier": "high"}, "chain", "auto"),
        ("nodes", {"slots": 9, "enabled": False}, "node", "mac-1"),
        ("prices", {"output": Decimal(1)}, "price", "openai/mini"),
        ("client_keys", {"interactive": True}, "client_key", "app-1"),
    ],
)
def test_a_change_names_the_fields(section: str, changes: dict[str, Any], kind: str, name: str) -> None:
    [entry] = getattr(FULL, section)
    sections: dict[str, Any] = {section: (replace(entry, **changes),)}
    wanted = replace(FULL, **sections)

    [change] = diff(FULL, wanted, prune=False)

    assert (change.action, change.kind, change.name) == ("change", kind, name)
    assert set(change.fields) == set(changes)


def test_another_spelling_of_an_amount_is_no_change() -> None:
    wanted = replace(FULL, prices=(PriceSpec("openai", "mini", input=Decimal("0.150")),))

    assert diff(FULL, wanted, prune=False) == ()


def test_a_changed_policy_names_its_settings() -> None:
    wanted = replace(FULL, policy=PolicySpec(band=2.0, force_cloud=True))

    assert diff(FULL, wanted, prune=False) == (Change("change", "policy", "policy", ("force_cloud", "band")),)
    assert merge(FULL, wanted, prune=False).policy == wanted.policy


def test_secrets_that_are_not_given_are_kept() -> None:
    assert diff(FULL, BARE, prune=False) == ()
    assert merge(FULL, BARE, prune=False) == FULL


def test_given_secrets_are_a_change_where_the_stored_ones_are_not_shown() -> None:
    assert diff(BARE, FULL, prune=False) == (
        Change("change", "vendor", "openai", ("keys",)),
        Change("change", "node", "mac-1", ("token",)),
        Change("change", "client_key", "app-1", ("secret",)),
    )
    assert merge(BARE, FULL, prune=False) == FULL


def test_a_given_secret_replaces_the_stored_one() -> None:
    wanted = replace(FULL, vendors=(replace(VENDOR, keys=(Secret("sk-two"), Secret("sk-three"))),))

    assert diff(FULL, wanted, prune=False) == (Change("change", "vendor", "openai", ("keys",)),)
    assert merge(FULL, wanted, prune=False).vendors == wanted.vendors


def test_wanted_entries_come_first_and_stored_ones_after_them() -> None:
    stored = Catalogue(tenants=tuple(TenantSpec(name) for name in ("a", "b", "c")))
    wanted = Catalogue(tenants=tuple(TenantSpec(name) for name in ("d", "b")))

    assert [one.name for one in merge(stored, wanted, prune=False).tenants] == ["d", "b", "a", "c"]
    assert [one.name for one in merge(stored, wanted, prune=True).tenants] == ["d", "b"]


def test_a_new_price_stands_beside_the_older_ones_unless_they_are_pruned() -> None:
    newer = PriceSpec("openai", "mini", Decimal(1), valid_from=86_400)
    wanted = replace(FULL, prices=(newer,))

    assert diff(FULL, wanted, prune=False) == (Change("add", "price", "openai/mini from 1970-01-02"),)
    assert merge(FULL, wanted, prune=False).prices == (newer, *FULL.prices)
    assert merge(FULL, wanted, prune=True).prices == (newer,)


def test_a_price_is_told_apart_by_vendor_model_and_beginning() -> None:
    assert entry_name(PriceSpec("openai", "mini")) == "openai/mini"
    assert entry_name(PriceSpec("openai", "mini", valid_from=0)) == "openai/mini from 1970-01-01"
    assert entry_name(TenantSpec("team-a")) == "team-a"


TENANTS = st.lists(
    st.builds(TenantSpec, st.sampled_from("abcd")), max_size=4, unique_by=lambda tenant: tenant.name
).map(tuple)
NODES = st.lists(
    st.builds(
        NodeSpec,
        st.sampled_from("abcd"),
        st.just("http://10.0.0.7"),
        st.just(()),
        token=st.none() | st.sampled_from([Secret("t1"), Secret("t2")]),
        slots=st.integers(1, 2),
    ),
    max_size=4,
    unique_by=lambda node: node.name,
).map(tuple)
CATALOGUES = st.builds(Catalogue, tenants=TENANTS, nodes=NODES)


@given(CATALOGUES, CATALOGUES, st.booleans())
def test_applying_twice_changes_nothing_more(stored: Catalogue, wanted: Catalogue, prune: bool) -> None:
    merged = merge(stored, wanted, prune=prune)

    assert diff(merged, wanted, prune=prune) == ()
    assert merge(merged, wanted, prune=prune) == merged


@given(CATALOGUES, CATALOGUES, st.booleans())
def test_no_difference_means_that_nothing_changes(stored: Catalogue, wanted: Catalogue, prune: bool) -> None:
    merged = merge(stored, wanted, prune=prune)

    same = all(
        sorted(map(repr, getattr(merged, section.name))) == sorted(map(repr, getattr(stored, section.name)))
        for section in fields(Catalogue)
        if section.name != "policy"
    )
    assert not (diff(stored, wanted, prune=prune) == () and not same)


@given(CATALOGUES, CATALOGUES, st.booleans())
def test_no_change_shows_a_secret(stored: Catalogue, wanted: Catalogue, prune: bool) -> None:
    told = repr(diff(stored, wanted, prune=prune))

    assert "t1" not in told
    assert "t2" not in told
