import pytest

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.messages import MessageInvalid
from ktms.api.admin_grpc.node_messages import node_message, policy_message, policy_of
from ktms.domain.announcement import ANNOUNCE_FORGOTTEN_S
from ktms.domain.catalogue import PolicySpec
from ktms.domain.joined_node import KnownNode
from ktms.domain.placement import Placement
from ktms.domain.policy_edit import POLICY_FIELDS


@pytest.mark.parametrize(
    "policy",
    [
        PolicySpec(),
        PolicySpec(
            placement=Placement.CLOUD_ONLY,
            placement_lock=True,
            force_cloud=True,
            allowed_regions=("fr", "eu"),
            band=float("inf"),
            attempts_max=1,
        ),
    ],
)
def test_a_policy_comes_back_as_it_was_written(policy: PolicySpec) -> None:
    assert policy_of(policy_message(policy), POLICY_FIELDS) == policy


def test_the_protocol_knows_every_setting_by_its_name() -> None:
    assert tuple(field.name for field in admin_pb2.Policy.DESCRIPTOR.fields) == POLICY_FIELDS


def test_a_placement_that_is_not_named_is_not_looked_at() -> None:
    assert policy_of(admin_pb2.Policy(force_cloud=True), ("force_cloud",)).force_cloud
    with pytest.raises(MessageInvalid, match="placement: unknown placement 0"):
        policy_of(admin_pb2.Policy(), ("placement",))


@pytest.mark.parametrize(
    ("heard_ago_s", "silent"), [(None, False), (ANNOUNCE_FORGOTTEN_S, False), (ANNOUNCE_FORGOTTEN_S + 1, True)]
)
def test_a_node_is_silent_after_three_missed_announcements(heard_ago_s: float | None, *, silent: bool) -> None:
    assert node_message(KnownNode("mac-1", heard_ago_s=heard_ago_s)).silent is silent
