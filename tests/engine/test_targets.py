import gc
import weakref
from dataclasses import replace

import pytest

from ktms.domain.access.secret import Secret
from ktms.domain.call import CallFacts, Route
from ktms.domain.capacity.seat import NodeState, Seat
from ktms.domain.capacity.speed import Speed
from ktms.domain.catalogue import EngineKind, NodeModelSpec, TimeoutSpec
from ktms.domain.routing.timers import CLOUD_FIRST_TOKEN_S, CLOUD_HEAD_S, NODE_CONNECT_S, NODE_GRACE_S
from ktms.domain.snapshot import Node
from ktms.engine import targets as module
from ktms.engine.shot import Target
from ktms.engine.targets import Targets
from tests.engine.rig import CATALOGUE, cloud, snapshot

WHOLE, STREAMED = CallFacts("cloudy"), CallFacts("cloudy", streamed=True)
MODEL, STEP = cloud(snapshot())


def node_target(
    targets: Targets,
    node: Node,
    route: Route = Route.CHAT,
    facts: CallFacts = WHOLE,
    *,
    window: int | None = None,
    speed: Speed | None = None,
    prompt_tokens: int = 0,
) -> Target:
    """Make the target of the first model that a node serves."""
    seat = Seat(NodeState(node, node.slots), next(iter(node.windows)), window)
    return targets.node(seat, MODEL, route, facts, speed=speed, prompt_tokens=prompt_tokens)


def test_a_vendors_target_has_its_path_and_its_key() -> None:
    target = Targets().cloud(STEP, MODEL, STEP.vendor.keys[1], Route.CHAT, WHOLE)
    assert (target.prologue.method, target.prologue.path) == ("POST", "/v1/chat/completions")
    assert ("Authorization", "Bearer sk-alpha-key-two") in target.prologue.headers
    assert (target.vendor, target.node, target.vendor_model) == ("alpha", None, "gpt")


def test_a_vendor_without_keys_gets_no_credential() -> None:
    target = Targets().cloud(STEP, MODEL, None, Route.CHAT, WHOLE)
    assert "Authorization" not in dict(target.prologue.headers)


def test_what_is_accepted_follows_from_what_was_asked_for() -> None:
    targets = Targets()
    for facts, accepted in ((WHOLE, "application/json"), (STREAMED, "text/event-stream")):
        headers = dict(targets.cloud(STEP, MODEL, None, Route.CHAT, facts).prologue.headers)
        assert (headers["Accept"], headers["Content-Type"]) == (accepted, "application/json")


def test_a_vendors_own_headers_travel() -> None:
    vendors = (replace(CATALOGUE.vendors[0], headers={"X-Team": "a"}), CATALOGUE.vendors[1])
    model, step = cloud(snapshot(replace(CATALOGUE, vendors=vendors)))
    assert ("X-Team", "a") in Targets().cloud(step, model, None, Route.CHAT, WHOLE).prologue.headers


def test_a_nodes_target_has_its_path_and_its_token() -> None:
    nodes = (replace(CATALOGUE.nodes[0], token=Secret("node-token-0123")), CATALOGUE.nodes[1])
    found = snapshot(replace(CATALOGUE, nodes=nodes))
    first, second = (node_target(Targets(), node, Route.EMBEDDINGS) for node in found.nodes)
    assert (first.vendor, first.node, first.prologue.path) == ("local", "mac-1", "/v1/embeddings")
    assert ("Authorization", "Bearer node-token-0123") in first.prologue.headers
    assert "Authorization" not in dict(second.prologue.headers)


def test_a_prologue_is_made_once_for_all_calls_alike() -> None:
    targets, key = Targets(), STEP.vendor.keys[0]
    first = targets.cloud(STEP, MODEL, key, Route.CHAT, WHOLE)
    assert targets.cloud(STEP, MODEL, key, Route.CHAT, WHOLE).prologue is first.prologue


@pytest.mark.parametrize(
    ("key_at", "route", "facts"),
    [(1, Route.CHAT, WHOLE), (0, Route.COMPLETIONS, WHOLE), (0, Route.CHAT, STREAMED)],
)
def test_a_prologue_is_not_shared_by_calls_that_differ(key_at: int, route: Route, facts: CallFacts) -> None:
    targets = Targets()
    first = targets.cloud(STEP, MODEL, STEP.vendor.keys[0], Route.CHAT, WHOLE)
    assert targets.cloud(STEP, MODEL, STEP.vendor.keys[key_at], route, facts).prologue is not first.prologue


def test_a_prologue_of_a_node_is_made_once_too() -> None:
    targets, node = Targets(), snapshot().nodes[0]
    made = [node_target(targets, node).prologue for _ in range(2)]
    assert made[0] is made[1]


def test_beyond_the_bound_prologues_are_made_but_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROLOGUES_MAX", 1)
    targets, (one, two) = Targets(), STEP.vendor.keys
    kept = targets.cloud(STEP, MODEL, one, Route.CHAT, WHOLE).prologue
    made = [targets.cloud(STEP, MODEL, two, Route.CHAT, WHOLE).prologue for _ in range(2)]
    assert made[0] is not made[1]
    assert targets.cloud(STEP, MODEL, one, Route.CHAT, WHOLE).prologue is kept


def test_a_step_lives_as_long_as_its_prologue_so_its_identity_is_given_to_nobody_else() -> None:
    targets = Targets()
    model, step = cloud(snapshot())
    seen = id(step)
    targets.cloud(step, model, None, Route.CHAT, WHOLE)
    del model, step
    gc.collect()
    assert any(id(kept) == seen for kept in targets._kept)


def test_nothing_of_a_snapshot_lives_on_after_its_targets() -> None:
    class Watched(Secret):  # type: ignore[misc]  # final, but a slot for weak references is needed here
        __slots__ = ("__weakref__",)

    secret = Watched("sk-short-lived")
    vendors = (replace(CATALOGUE.vendors[0], keys=(secret,)), CATALOGUE.vendors[1])
    model, step = cloud(snapshot(replace(CATALOGUE, vendors=vendors)))
    targets = Targets()
    targets.cloud(step, model, step.vendor.keys[0], Route.CHAT, WHOLE)
    gone = weakref.ref(secret)
    del model, step, targets, vendors, secret
    gc.collect()
    assert gone() is None


def test_timers_are_those_of_the_kind_of_target() -> None:
    targets = Targets()
    streamed, whole = (targets.cloud(STEP, MODEL, None, Route.CHAT, facts).timers for facts in (STREAMED, WHOLE))
    assert (streamed.first_token_s, whole.first_token_s) == (CLOUD_FIRST_TOKEN_S, CLOUD_HEAD_S)
    node = node_target(targets, snapshot().nodes[0], facts=STREAMED)
    assert node.timers.connect_s == NODE_CONNECT_S


def test_a_models_own_timers_win() -> None:
    models = (replace(CATALOGUE.models[0], timeouts=TimeoutSpec(first_token_s=1.5)), *CATALOGUE.models[1:])
    model, step = cloud(snapshot(replace(CATALOGUE, models=models)))
    assert Targets().cloud(step, model, None, Route.CHAT, STREAMED).timers.first_token_s == 1.5


def test_a_node_gets_the_time_that_its_speed_asks_for() -> None:
    target = node_target(
        Targets(), snapshot().nodes[0], facts=STREAMED, speed=Speed(100.0, 20.0), prompt_tokens=500
    )
    assert target.timers.first_token_s == 4 * 500 / 100 + NODE_GRACE_S


def engine(kind: EngineKind, *models: str) -> Node:
    """Give a node with this engine, that serves these models."""
    spec = replace(CATALOGUE.nodes[0], engine=kind, models=tuple(NodeModelSpec(name) for name in models))
    return snapshot(replace(CATALOGUE, nodes=(spec,))).nodes[0]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (EngineKind.OLLAMA, ("one",)),
        (EngineKind.AGENT, ("one",)),
        (EngineKind.VLLM, ("one", "two")),
        (EngineKind.LLAMACPP, ()),
        (EngineKind.TGI, ()),
    ],
    ids=str,
)
def test_who_may_answer_depends_on_what_an_engine_tells(kind: EngineKind, expected: tuple[str, ...]) -> None:
    assert node_target(Targets(), engine(kind, "one", "two")).expects == expected


def test_a_vendor_may_answer_under_any_name() -> None:
    assert Targets().cloud(STEP, MODEL, None, Route.CHAT, WHOLE).expects == ()
