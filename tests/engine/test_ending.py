from ktms.domain.errors import ErrorCode, Problem, problem
from ktms.engine.ending import Story, ended

REFUSED = problem(ErrorCode.UPSTREAM_ERROR, "openai refused the connection")
LIMITED = problem(ErrorCode.RATE_LIMIT_EXCEEDED, "slow down", retry_after_s=7)


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


def test_no_target_at_all_is_said_plainly() -> None:
    end = ended(Story(), told="", local_only=False, nodes_unknown=False, soonest_s=0)
    assert (end.code, end.message) == (
        ErrorCode.NO_TARGET_AVAILABLE,
        "No target is configured for this call.",
    )


def test_a_wait_told_is_at_least_a_second() -> None:
    end = ended(Story(), told="openai:open", local_only=False, nodes_unknown=False, soonest_s=0.2)
    assert end.retry_after_s == 1


def test_no_node_at_all_is_said_plainly() -> None:
    end = ended(Story(), told="", local_only=True, nodes_unknown=False, soonest_s=0)
    assert (end.code, end.message) == (ErrorCode.NO_NODE_AVAILABLE, "No enabled node serves this model.")
