from dataclasses import replace

import pytest

from ktms.domain.access.secret import Secret
from ktms.domain.announcement import AnnouncedModel, Announcement
from ktms.domain.catalogue import Catalogue, EngineKind, NodeModelSpec, NodeSpec
from ktms.domain.catalogue_overlay import overlaid
from ktms.domain.joined_node import JoinedNode, NodePermit
from ktms.domain.routing.compile import compile_snapshot

SAID = Announcement("http://10.0.0.7:1", Secret("t"), EngineKind.VLLM, 1, 2, (AnnouncedModel("a", 100),))
BY_HAND = NodeSpec("by-hand", "http://10.0.0.8:1", (NodeModelSpec("a"),), engine=EngineKind.TGI)
CATALOGUE = Catalogue(nodes=(replace(BY_HAND, name="mac-1", region="fr"), BY_HAND))


def joined(name: str, said: Announcement = SAID) -> JoinedNode:
    return JoinedNode(NodePermit(name), said)


def test_without_announcements_the_catalogue_stays_as_it_is() -> None:
    assert overlaid(CATALOGUE, ()) == CATALOGUE


def test_a_node_declared_by_hand_stays_beside_one_that_joined() -> None:
    found = overlaid(CATALOGUE, (joined("mac-1"),))
    assert [node.url for node in found.nodes] == ["http://10.0.0.7:1", "http://10.0.0.8:1"]
    assert (found.nodes[0].region, found.nodes[1]) == ("fr", BY_HAND)


def test_nodes_that_only_joined_follow_in_their_order() -> None:
    found = overlaid(CATALOGUE, (joined("z"), joined("mac-1"), joined("b")))
    assert [node.name for node in found.nodes] == ["mac-1", "by-hand", "z", "b"]


def test_an_announcement_that_breaks_a_rule_keeps_nobody_else_from_being_served() -> None:
    bad = replace(SAID, url="nonsense")
    found = overlaid(CATALOGUE, (joined("mac-1", bad), joined("z", bad), joined("b")))
    assert [node.url for node in found.nodes] == ["http://10.0.0.8:1", "http://10.0.0.8:1", "http://10.0.0.7:1"]


def test_the_result_compiles_to_nodes_with_what_they_announced() -> None:
    node = compile_snapshot(overlaid(Catalogue(), (joined("mac-1"),)), version=3).nodes[0]
    assert (node.name, node.origin.host, node.engine, node.slots) == ("mac-1", "10.0.0.7", EngineKind.VLLM, 2)
    assert (node.token, dict(node.windows)) == (Secret("t"), {"a": 100})


@pytest.mark.parametrize("draining", [False, True])
def test_a_node_that_drains_is_in_the_snapshot_and_marked(draining: bool) -> None:
    found = overlaid(Catalogue(), (joined("mac-1", replace(SAID, draining=draining)),))
    (node,) = compile_snapshot(found, version=1).nodes
    assert (node.name, node.draining) == ("mac-1", draining)
