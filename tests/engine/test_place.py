from dataclasses import replace

import pytest

from ktms.domain.access.client_key import ClientKey
from ktms.domain.errors import CallFailed, ErrorCode
from ktms.domain.placement import Placement
from ktms.domain.routing.plan import CloudStep, LocalStep
from ktms.domain.routing.unknown_name import NAME_SHOWN_MAX
from ktms.domain.snapshot import Snapshot
from ktms.engine import place as module
from ktms.engine.call import Call
from ktms.engine.place import Placed, Placer
from tests.engine.rig import CATALOGUE, Rig, client_key, policy, snapshot

SNAPSHOT = snapshot()


@pytest.fixture
def placer() -> Placer:
    return Placer(0)


def place(placer: Placer, call: Call, key: ClientKey | None = None, found: Snapshot = SNAPSHOT) -> Placed:
    return placer.place(found, call, key or client_key())


def refusal(placer: Placer, call: Call, key: ClientKey | None = None) -> str:
    with pytest.raises(CallFailed) as refused:
        place(placer, call, key)
    return refused.value.problem.code


async def test_the_plan_follows_the_placement(rig: Rig, placer: Placer) -> None:
    steps = place(placer, rig.call("mixed")).plan.steps
    assert [type(step) for step in steps] == [LocalStep, CloudStep, CloudStep]
    steps = place(placer, rig.call("mixed", placement=Placement.CLOUD_ONLY)).plan.steps
    assert [type(step) for step in steps] == [CloudStep, CloudStep]


async def test_only_own_machines_is_known_of_a_plan(rig: Rig, placer: Placer) -> None:
    assert place(placer, rig.call("homely")).local_only
    assert not place(placer, rig.call("mixed")).local_only
    assert not place(placer, rig.call("nowhere")).local_only, "nothing at all is not our machines"


async def test_the_cloud_targets_of_a_plan_are_known(rig: Rig, placer: Placer) -> None:
    assert [target.id for target in place(placer, rig.call("mixed")).cloud_targets] == ["alpha/gpt", "beta/mi"]


async def test_an_unknown_model_is_not_found_and_its_name_is_cut(rig: Rig, placer: Placer) -> None:
    with pytest.raises(CallFailed) as refused:
        place(placer, rig.call("x" * 400))
    problem = refused.value.problem
    assert (problem.code, problem.param) == (ErrorCode.MODEL_NOT_FOUND, "model")
    assert len(problem.message) < NAME_SHOWN_MAX + 100


async def test_a_model_closed_to_the_key_is_refused(rig: Rig, placer: Placer) -> None:
    key = client_key(models=frozenset({"homely"}))
    assert refusal(placer, rig.call("cloudy"), key) == ErrorCode.MODEL_NOT_ALLOWED


async def test_text_that_fits_nowhere_is_refused(rig: Rig) -> None:
    models = tuple(replace(model, context_window=100) for model in CATALOGUE.models)
    call = rig.call("cloudy", messages=[{"role": "user", "content": "word " * 1000}])
    with pytest.raises(CallFailed) as refused:
        place(Placer(0), call, None, snapshot(replace(CATALOGUE, models=models)))
    assert refused.value.problem.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED


async def test_a_decision_is_made_once_for_calls_alike(rig: Rig, placer: Placer) -> None:
    key = client_key()
    first = place(placer, rig.call(), key)
    assert place(placer, rig.call(), key).decision is first.decision


async def test_a_decision_is_made_anew_when_the_key_has_changed(rig: Rig, placer: Placer) -> None:
    place(placer, rig.call(), client_key())
    assert refusal(placer, rig.call(), client_key(models=frozenset({"homely"}))) == ErrorCode.MODEL_NOT_ALLOWED


async def test_keys_do_not_share_decisions(rig: Rig, placer: Placer) -> None:
    place(placer, rig.call(), client_key(digit="1"))
    narrow = client_key(digit="2", models=frozenset())
    assert refusal(placer, rig.call(), narrow) == ErrorCode.MODEL_NOT_ALLOWED


async def test_what_a_client_chooses_is_part_of_what_is_remembered(rig: Rig, placer: Placer) -> None:
    key = client_key()
    first = place(placer, rig.call("mixed"), key).decision
    header = place(placer, rig.call("mixed", placement=Placement.NODES_ONLY), key).decision
    member = place(placer, rig.call("mixed", ktms={"placement": "cloud_only"}), key).decision
    assert [first.placement, header.placement, member.placement] == [
        Placement.NODES_FIRST,
        Placement.NODES_ONLY,
        Placement.CLOUD_ONLY,
    ]


async def test_a_newer_snapshot_ends_all_that_was_remembered(rig: Rig, placer: Placer) -> None:
    key = client_key()
    first = place(placer, rig.call("mixed"), key)
    second = place(placer, rig.call("mixed"), key, snapshot(policy(placement=Placement.CLOUD_FIRST), version=2))
    assert second.decision.placement is Placement.CLOUD_FIRST
    assert second.targets is not first.targets


async def test_names_that_clients_invent_do_not_fill_memory(
    rig: Rig, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DECISIONS_MAX", 3)
    for number in range(10):
        place(placer, rig.call("cloudy"), client_key(digit=str(number)))
    assert len(placer._remembered) <= 3


async def test_a_refusal_is_not_remembered(rig: Rig, placer: Placer) -> None:
    for _ in range(3):
        assert refusal(placer, rig.call("no-such")) == ErrorCode.MODEL_NOT_FOUND
    assert len(placer._remembered) == 0
