import pytest

from ktms.domain.announcement import ANNOUNCE_EVERY_S
from ktms.node.answered import REFUSED_EVERY_S, RETRY_AFTER_MAX_S, after_answer, after_failure


def test_after_a_good_answer_it_is_said_again_when_the_gateway_wishes() -> None:
    following = after_answer(200, "", None, 30)
    assert (following.in_s, following.problem, following.waits_for_news) == (30, None, True)


@pytest.mark.parametrize(("every_s", "in_s"), [(None, ANNOUNCE_EVERY_S), (0.1, 5), (10_000, RETRY_AFTER_MAX_S)])
def test_a_wish_is_kept_within_bounds(every_s: float | None, in_s: float) -> None:
    assert after_answer(200, "", None, every_s).in_s == in_s


def test_a_later_agent_ends_this_one() -> None:
    assert after_answer(409, "An agent that started later announces.", None, None).superseded


def test_a_refused_key_is_tried_seldom_and_not_at_every_change() -> None:
    following = after_answer(401, "No valid node key", None, None)
    assert (following.in_s, following.waits_for_news) == (REFUSED_EVERY_S, False)
    assert "wrong or revoked" in (following.problem or "")


@pytest.mark.parametrize("status", [429, 503])
def test_who_is_told_to_come_back_later_does(status: int) -> None:
    assert after_answer(status, "Too many.", 7.0, None).in_s == 7.0
    assert after_answer(status, "Too many.", 1e9, None).in_s == RETRY_AFTER_MAX_S


def test_a_wrong_member_is_told_in_the_gateways_words() -> None:
    assert (
        after_answer(400, "url: is a link-local address.", None, None).problem == "url: is a link-local address."
    )


def test_another_service_than_a_gateway_is_told() -> None:
    assert "is this the gateway's URL?" in (after_answer(404, "", None, None).problem or "")


def test_failures_in_a_row_wait_longer_and_no_longer_than_an_announcement() -> None:
    waits = [after_failure("x", failures, 0.5).in_s for failures in range(1, 9)]
    assert waits == sorted(waits)
    assert waits[0] == 1.0
    assert waits[-1] == ANNOUNCE_EVERY_S


def test_a_fleet_does_not_come_back_at_one_moment() -> None:
    assert after_failure("x", 3, 0.0).in_s < after_failure("x", 3, 1.0).in_s
