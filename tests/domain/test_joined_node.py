from dataclasses import replace

import pytest

from ktms.domain.access.secret import Secret
from ktms.domain.announcement import AnnouncedModel, Announcement
from ktms.domain.catalogue import Catalogue, EngineKind, ModelSpec, NodeModelSpec, NodeSpec, TargetSpec
from ktms.domain.ids import KeyId
from ktms.domain.joined_node import (
    JoinedNode,
    KnownNode,
    NodeKey,
    NodePermit,
    admitted,
    as_served,
    permit_complaints,
    served_after,
    serving,
)
from tests.domain.announcements import SAID

PERMIT = NodePermit("mac-1")
DECLARED = NodeSpec(
    "mac-1",
    "http://10.0.0.1:1",
    (NodeModelSpec("llama3:latest", 4096),),
    token=Secret("declared"),
    region="fr",
    slots=1,
    base_weight=7,
    cloud_model="qwen",
)


def names(permit: NodePermit, declared: NodeSpec | None = None) -> tuple[list[str], list[str]]:
    found = admitted(JoinedNode(permit, SAID), declared)
    return [model.name for model in found.accepted], list(found.ignored)


def test_without_a_permit_for_single_models_all_are_served() -> None:
    assert names(PERMIT) == (["qwen3:4b", "llama3"], [])


def test_a_model_outside_of_the_permit_is_ignored() -> None:
    assert names(NodePermit("mac-1", ("qwen3:4b",))) == (["qwen3:4b"], ["llama3"])


def test_the_default_tag_makes_no_difference_to_a_permit() -> None:
    assert names(NodePermit("mac-1", ("llama3:latest",))) == (["llama3"], ["qwen3:4b"])


def test_declared_models_are_the_permit_where_the_key_names_none() -> None:
    assert names(PERMIT, DECLARED) == (["llama3"], ["qwen3:4b"])


def test_the_key_goes_before_what_is_declared() -> None:
    assert names(NodePermit("mac-1", ("qwen3:4b",)), DECLARED) == (["qwen3:4b"], ["llama3"])


def test_an_announced_window_goes_before_a_declared_one() -> None:
    said = replace(SAID, models=(AnnouncedModel("llama3", 2048),))
    assert admitted(JoinedNode(PERMIT, said), DECLARED).accepted == (NodeModelSpec("llama3", 2048),)


def test_a_declared_window_stands_where_the_node_knows_none() -> None:
    assert admitted(JoinedNode(PERMIT, SAID), DECLARED).accepted == (NodeModelSpec("llama3", 4096),)


def test_an_announcement_is_laid_over_the_declaration() -> None:
    served = as_served(JoinedNode(replace(PERMIT, region="us"), SAID), DECLARED)
    assert served == replace(
        DECLARED,
        url=SAID.url,
        token=SAID.token,
        engine=EngineKind.OLLAMA,
        slots=4,
        models=(NodeModelSpec("llama3", 4096),),
    )


def test_the_certificate_is_the_announced_one_or_none() -> None:
    pinned = replace(SAID, url="https://10.0.0.7:8790", certificate="ab" * 32)
    declared = replace(DECLARED, url="https://10.0.0.1:1", certificate="any")
    assert as_served(JoinedNode(PERMIT, pinned), declared).certificate == "ab" * 32
    assert as_served(JoinedNode(PERMIT, replace(pinned, certificate=None)), declared).certificate is None


def test_a_node_that_is_not_declared_follows_from_permit_and_announcement() -> None:
    served = as_served(JoinedNode(replace(PERMIT, region="us"), SAID), None)
    assert served == NodeSpec(
        "mac-1",
        SAID.url,
        (NodeModelSpec("qwen3:4b", 8192), NodeModelSpec("llama3")),
        engine=EngineKind.OLLAMA,
        token=SAID.token,
        region="us",
        slots=4,
    )


@pytest.mark.parametrize(
    ("permit", "said", "declared"),
    [
        (replace(PERMIT, enabled=False), SAID, None),
        (PERMIT, SAID, replace(DECLARED, enabled=False)),
    ],
)
def test_a_node_that_is_switched_off_gets_nothing_new(
    permit: NodePermit, said: Announcement, declared: NodeSpec | None
) -> None:
    assert not as_served(JoinedNode(permit, said), declared).enabled


@pytest.mark.parametrize("declared", [None, DECLARED])
def test_a_node_that_drains_keeps_its_place_and_says_so(declared: NodeSpec | None) -> None:
    served = as_served(JoinedNode(PERMIT, replace(SAID, draining=True)), declared)
    assert (served.enabled, served.draining) == (True, True)
    assert not as_served(JoinedNode(PERMIT, SAID), declared).draining


def test_the_file_decides_about_a_node_that_it_declares() -> None:
    assert as_served(JoinedNode(replace(PERMIT, enabled=False), SAID), DECLARED).enabled
    assert KnownNode("mac-1", DECLARED, permit=replace(PERMIT, enabled=False)).enabled


@pytest.mark.parametrize(
    ("permit", "path"),
    [
        (NodePermit(""), ("name",)),
        (NodePermit("a b"), ("name",)),
        (NodePermit("mac-1", ("",)), ("models", 0, "name")),
        (NodePermit("mac-1", ("a", "a:latest")), ("models", 1, "name")),
        (NodePermit("mac-1", region="FR"), ("region",)),
    ],
)
def test_a_permit_that_no_catalogue_takes_is_refused(permit: NodePermit, path: tuple[str | int, ...]) -> None:
    assert [complaint.path for complaint in permit_complaints(permit)] == [path]


def test_a_sensible_permit_is_fine() -> None:
    assert list(permit_complaints(NodePermit("mac-1", ("qwen3:4b",), "fr"))) == []


@pytest.mark.parametrize(
    ("node", "enabled", "region"),
    [
        (KnownNode("a", replace(DECLARED, enabled=False)), False, "fr"),
        (KnownNode("a", permit=NodePermit("a", region="us", enabled=False)), False, "us"),
        (KnownNode("a", replace(DECLARED, region=None), permit=NodePermit("a", region="us")), True, "us"),
        (KnownNode("a", DECLARED, permit=NodePermit("a", region="us")), True, "fr"),
        (KnownNode("a"), True, None),
    ],
)
def test_what_is_known_of_a_node_says_how_it_stands(node: KnownNode, *, enabled: bool, region: str | None) -> None:
    assert (node.enabled, node.region) == (enabled, region)


def test_the_nodes_of_a_model_are_those_that_take_its_calls() -> None:
    model = ModelSpec("m", (TargetSpec("local", "llama3"), TargetSpec("openai", "qwen3:4b")))
    nodes = [
        KnownNode("declared", replace(DECLARED, name="declared")),
        KnownNode("off", replace(DECLARED, name="off", enabled=False)),
        KnownNode("awaited", permit=NodePermit("awaited")),
        KnownNode("joined", permit=NodePermit("joined"), announcement=SAID),
        KnownNode("drains", permit=NodePermit("drains"), announcement=replace(SAID, draining=True)),
        KnownNode("other", permit=NodePermit("other", ("qwen3:4b",)), announcement=SAID),
    ]
    assert serving(nodes, model) == ("declared", "joined")


OFF = replace(DECLARED, enabled=False)
HEARD = KnownNode("mac-1", DECLARED, permit=PERMIT, announcement=SAID)


@pytest.mark.parametrize(
    ("wanted", "known", "prune", "served"),
    [
        ((), HEARD, False, [as_served(JoinedNode(PERMIT, SAID), DECLARED)]),
        ((), HEARD, True, [as_served(JoinedNode(PERMIT, SAID), None)]),
        ((DECLARED,), replace(HEARD, declared=None), True, [as_served(JoinedNode(PERMIT, SAID), DECLARED)]),
        ((), KnownNode("mac-1", DECLARED), False, [DECLARED]),
        ((), KnownNode("mac-1", DECLARED), True, []),
        ((OFF,), KnownNode("mac-1", DECLARED), False, [OFF]),
    ],
)
def test_what_is_applied_decides_what_known_nodes_serve_after_it(
    wanted: tuple[NodeSpec, ...], known: KnownNode, prune: bool, served: list[NodeSpec]
) -> None:
    assert list(served_after(Catalogue(nodes=wanted), [known], prune=prune)) == served


@pytest.mark.parametrize(("epoch_ms", "fenced"), [(None, False), (7, False), (8, False), (9, True)])
def test_an_agent_is_fenced_off_by_one_that_started_later(epoch_ms: int | None, fenced: bool) -> None:
    key = NodeKey(KeyId("id"), b"digest", PERMIT, epoch_ms)
    assert key.fences_off(replace(SAID, epoch_ms=8)) is fenced
