from typing import Any

import pytest

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.messages import (
    ACTIONS,
    MODES,
    PLACEMENTS,
    MessageInvalid,
    change_message,
    change_of,
    key_message,
    placement_name,
    request_for,
    spec_of,
)
from ktms.domain.access.client_key import ClientKey
from ktms.domain.access.limits import Limits
from ktms.domain.catalogue import ClientKeySpec, DollarLimitMode
from ktms.domain.catalogue_diff import Change
from ktms.domain.ids import KeyId, Region, TenantName
from ktms.domain.placement import Placement

WHOLE = ClientKeySpec(
    name="app",
    tenant="team",
    models=("a", "b"),
    placements=(Placement.NODES_ONLY, Placement.NODES_FIRST),
    allowed_regions=("fr",),
    placement=Placement.NODES_ONLY,
    placement_lock=True,
    tier="high",
    interactive=True,
    limits=Limits(0, 2, 3, 4, 5),
    dollar_limit_mode=DollarLimitMode.CLOSED,
    cache_ttl_s=60,
    expires_at=1_800_000_000.5,
)


def test_every_value_of_the_domain_has_its_number() -> None:
    assert set(PLACEMENTS) == set(Placement)
    assert set(MODES) == set(DollarLimitMode)


@pytest.mark.parametrize("spec", [WHOLE, ClientKeySpec("app", "default")])
def test_a_wanted_key_survives_the_wire(spec: ClientKeySpec) -> None:
    assert spec_of(request_for(spec)) == spec


def test_a_request_without_a_tenant_means_the_default_one() -> None:
    assert spec_of(admin_pb2.CreateClientKeyRequest(name="app")) == ClientKeySpec("app", "default")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"placement": 99}, "placement: unknown placement 99"),
        ({"placements": [99]}, "placements: unknown placement 99"),
        ({"placements": [0]}, "placements: unknown placement 0"),
        ({"dollar_limit_mode": 9}, "dollar_limit_mode: unknown mode 9"),
        ({"expires_at": {"seconds": -1}}, "expires_at: not a date"),
        ({"expires_at": {"seconds": 1, "nanos": -1}}, "expires_at: not a date"),
        ({"expires_at": {"seconds": 2**62}}, "expires_at: not a date"),
    ],
)
def test_a_value_that_means_nothing_is_refused_with_its_field(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(MessageInvalid, match=said):
        spec_of(admin_pb2.CreateClientKeyRequest(name="app", **fields))


def test_a_stored_key_is_written_without_its_digest_and_in_a_fixed_order() -> None:
    key = ClientKey(
        KeyId("id"),
        b"d" * 32,
        "app",
        TenantName("team"),
        models=frozenset({"b", "a"}),
        placements=frozenset(Placement),
        allowed_regions=frozenset({Region("fr"), Region("eu")}),
        limits=Limits(rpm=0),
        expires_at=2.5,
    )
    message = key_message(key)
    assert b"d" * 32 not in message.SerializeToString()
    assert (list(message.models), list(message.allowed_regions)) == (["a", "b"], ["eu", "fr"])
    assert list(message.placements) == [1, 2, 3, 4]
    assert (message.limits.HasField("rpm"), message.limits.HasField("tpm")) == (True, False)
    assert (message.expires_at.seconds, message.expires_at.nanos) == (2, 500_000_000)


@pytest.mark.parametrize(
    ("models", "every", "listed"), [(None, True, []), (frozenset(), False, []), (frozenset({"a"}), False, ["a"])]
)
def test_no_restriction_and_nothing_allowed_are_told_apart(
    models: frozenset[str] | None, every: bool, listed: list[str]
) -> None:
    message = key_message(ClientKey(KeyId("id"), b"", "app", TenantName("team"), models=models))
    assert (message.all_models, list(message.models)) == (every, listed)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_change_survives_the_wire(action: str) -> None:
    change = Change(action, "vendor", "openai", ("base_url", "keys"))
    assert change_of(change_message(change)) == change


def test_an_action_of_a_newer_server_counts_as_a_change() -> None:
    assert change_of(admin_pb2.Change(action=99, kind="vendor", name="a")).action == "change"  # type: ignore[arg-type]  # open enum


@pytest.mark.parametrize(("number", "name"), [(0, ""), (2, "nodes_only"), (99, "")])
def test_a_placement_is_named_where_it_is_set(number: int, name: str) -> None:
    assert placement_name(number) == name
