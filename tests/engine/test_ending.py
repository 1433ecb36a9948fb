from typing import Any

import pytest

from ktms.domain.errors import ErrorCode, Problem, problem
from ktms.domain.ids import ModelName
from ktms.domain.placement import Placement
from ktms.domain.routing.choose import Decision
from ktms.engine.ending import NODE_WAIT_MAX_S, NODE_WAIT_S, Story, ended, nowhere
from tests.engine.rig import snapshot as compiled

REFUSED = problem(ErrorCode.UPSTREAM_ERROR, "openai refused the connection")
NO_NODE, NO_TARGET = ErrorCode.NO_NODE_AVAILABLE, ErrorCode.NO_TARGET_AVAILABLE
LIMITED = problem(ErrorCode.RATE_LIMIT_EXCEEDED, "slow down", retry_after_s=7)


def decided(name: str, placement: Placement) -> Decision:
    snapshot = compiled()
    models = [model for model in snapshot.models if model.name == name]
    facts: dict[str, Any] = {"tier": None, "regions": None, "interactive": False, "cache": None}
    chain = None if models else ModelName(name)
    return Decision(tuple(models) or snapshot.models, chain, placement, **facts)


def story_of(*causes: Problem) -> Story:
    story = Story()
    for cause in causes:
        story.add(cause)
    return story


def test_one_dialled_target_speaks_for_itself() -> None:
    assert (
        ended(story_of(REFUSED), told="openai:refused", local_only=False, nodes_unknown=False, soonest_s=0)
        == REFUSED
    )


def test_after_several_the_code_is_the_last_and_the_message_names_the_first_cause() -> None:
    end = ended(
        story_of(REFUSED, LIMITED),
        told="openai:refused, groq:429",
        local_only=False,
        nodes_unknown=False,
        soonest_s=0,
    )
    assert (end.code, end.retry_after_s) == (LIMITED.code, 7)
    assert end.message == "openai refused the connection (attempts: openai:refused, groq:429)"


def test_nothing_dialled_says_when_the_first_target_may_be_asked_again() -> None:
    end = ended(Story(), told="openai:open", local_only=False, nodes_unknown=False, soonest_s=12.5)
    assert (end.code, end.retry_after_s) == (ErrorCode.NO_TARGET_AVAILABLE, 12.5)


def test_full_nodes_without_a_cloud_are_told_as_such() -> None:
    end = ended(Story(), told="local/mac-1:busy", local_only=True, nodes_unknown=False, soonest_s=0)
    assert end.code == ErrorCode.NO_NODE_AVAILABLE
    assert "local/mac-1:busy" in end.message
    assert end.retry_after_s


@pytest.mark.parametrize(
    ("name", "placement", "code", "message"),
    [
        ("nowhere", Placement.NODES_FIRST, NO_NODE, "Model 'nowhere' has no enabled node and no vendor."),
        (
            "nowhere",
            Placement.NODES_ONLY,
            NO_NODE,
            "Model 'nowhere' has no enabled node, and the call is nodes_only.",
        ),
        ("homely", Placement.CLOUD_ONLY, NO_TARGET, "Model 'homely' has no vendor, and the call is cloud_only."),
        ("auto", Placement.CLOUD_ONLY, NO_TARGET, "Chain 'auto' has no vendor, and the call is cloud_only."),
    ],
)
def test_an_empty_plan_names_what_is_missing(
    name: str, placement: Placement, code: ErrorCode, message: str
) -> None:
    end = nowhere(decided(name, placement), for_nodes=code is NO_NODE)
    assert (end.code, end.message) == (code, message)


def test_a_call_whose_time_is_up_at_once_is_told_so() -> None:
    end = ended(Story(), told="", local_only=False, nodes_unknown=False, soonest_s=0)
    assert (end.code, end.message) == (ErrorCode.NO_TARGET_AVAILABLE, "No target could be asked in time.")


def test_a_wait_told_is_at_least_a_second() -> None:
    end = ended(Story(), told="openai:open", local_only=False, nodes_unknown=False, soonest_s=0.2)
    assert end.retry_after_s == 1


@pytest.mark.parametrize(("soonest_s", "told_s"), [(0, NODE_WAIT_S), (50, 50), (1e9, NODE_WAIT_MAX_S)])
def test_a_wait_for_nodes_is_what_was_forecast_within_reason(soonest_s: float, told_s: float) -> None:
    end = ended(Story(), told="", local_only=True, nodes_unknown=False, soonest_s=soonest_s)
    assert end.retry_after_s == told_s


def test_nodes_that_nobody_knows_of_matter_only_to_who_may_run_on_nothing_else() -> None:
    alone, mixed = (
        ended(Story(), told="", local_only=local_only, nodes_unknown=True, soonest_s=0)
        for local_only in (True, False)
    )
    assert (alone.code, mixed.code) == (ErrorCode.NODE_STATE_UNKNOWN, ErrorCode.NO_TARGET_AVAILABLE)


def test_no_node_at_all_is_said_plainly() -> None:
    end = ended(Story(), told="", local_only=True, nodes_unknown=False, soonest_s=0)
    assert (end.code, end.message) == (ErrorCode.NO_NODE_AVAILABLE, "No enabled node serves this model.")
