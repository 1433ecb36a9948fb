"""I12: what a breaker must have done, by what the targets saw and by what the gateway said."""

from sim.checkers.i12_forbidden import check
from tests.sim.checkers.story import CLOUD, GATEWAY, NODE, Story, said


def call_failed(story: Story, number: int, target: str = CLOUD, status: int = 502) -> Story:
    """Tell of a call whose one target answered 5xx, or another status."""
    call = str(number)
    story.sent(call).asked(number, target, call=call).failed(number, target, call=call, status=status)
    story.usage(target, "failed", call, http_status=status).begun(call, status=502)
    return story.ended(call, "error", status=502, code="upstream_error", text="")


def failing(count: int, target: str = CLOUD, status: int = 502) -> Story:
    """Tell of so many failed calls, one per second, the last of them now."""
    story = Story()
    for number in range(1, count + 1):
        call_failed(story.at(story.now + 1), number, target, status)
    return story


def asked_later(story: Story, after_s: float, target: str = CLOUD) -> Story:
    return story.at(story.now + after_s).sent("99").asked(99, target, call="99")


def test_a_target_that_failed_five_times_is_left_alone() -> None:
    assert said(check, asked_later(failing(5), 40)) == []


def test_a_target_that_failed_five_times_and_is_asked_is_found() -> None:
    assert said(check, asked_later(failing(5), 10)) == [
        "gw1 asked cloud-a (exchange 99), it had failed 5 times in a row at 5.000 s"
    ]


def test_four_failures_open_nothing() -> None:
    assert said(check, asked_later(failing(4), 10)) == []


def test_an_answer_in_between_counts_from_the_start() -> None:
    story = failing(3).at(10).sent("50").asked(50, call="50").told(50, call="50").ended("50").at(20)
    for number in range(60, 62):
        call_failed(story.at(story.now + 1), number)
    assert said(check, asked_later(story, 10)) == []


def test_refusals_open_nothing() -> None:
    assert said(check, asked_later(failing(5, status=429), 10)) == []


def test_another_target_is_asked_as_before() -> None:
    assert said(check, asked_later(failing(5), 10, "cloud-b")) == []


def test_a_row_around_a_trial_proves_nothing() -> None:
    story = failing(5).gauge(2).at(40).gauge(1).at(41).gauge(0)
    for number in range(50, 54):
        call_failed(story.at(story.now + 1), number)
    assert said(check, asked_later(story, 10)) == []


def test_a_repeat_needs_no_new_pass() -> None:
    story = Story().sent("50").asked(50, call="50").at(60)
    for number in range(60, 65):
        call_failed(story.at(story.now + 1), number)
    story.gauge(2).at(70).fault("reset", CLOUD).told(50, call="50", how="left", status=0, text="", finished=False)
    assert said(check, story.asked(70, call="50")) == []


def test_a_new_process_asks_again() -> None:
    story = failing(5).at(8).note("host_crashed", GATEWAY).at(9).note("host_up", GATEWAY)
    assert said(check, asked_later(story, 10)) == []


def test_a_target_that_is_asked_although_its_breaker_is_open_is_found() -> None:
    story = failing(5).gauge(2)
    assert "gw1 asked cloud-a (exchange 99), gw1 said at 5.000 s that its breaker is open" in said(
        check, asked_later(story, 10)
    )


def test_a_machine_of_ours_has_no_breaker() -> None:
    assert said(check, asked_later(failing(5, NODE), 10, NODE)) == []


def half_open() -> Story:
    return failing(5).gauge(2).at(40).gauge(1)


def test_one_trial_is_right() -> None:
    assert said(check, asked_later(half_open(), 0.1)) == []


def test_a_stampede_of_trials_is_found() -> None:
    story = half_open().at(40.1).sent("50").asked(50, call="50")
    assert said(check, asked_later(story, 0.1)) == [
        "gw1 asked cloud-a 2 times while its breaker was half open since 40.000 s"
    ]


def test_after_a_good_trial_everybody_may_pass() -> None:
    story = half_open().at(40.1).sent("50").asked(50, call="50").at(41).gauge(0)
    assert said(check, asked_later(story, 0.1)) == []


def test_a_breaker_that_opens_after_five_failures_is_right() -> None:
    assert said(check, failing(5).gauge(2)) == []


def test_a_breaker_that_opens_too_early_is_found() -> None:
    assert said(check, failing(4).gauge(2)) == ["gw1 opened the breaker of cloud-a after 4 failures in a row"]


def test_a_breaker_that_counts_refusals_is_found() -> None:
    assert said(check, failing(5, status=429).gauge(2)) == [
        "gw1 opened the breaker of cloud-a after 0 failures in a row"
    ]


def test_a_lost_trial_needs_no_more_failures() -> None:
    assert said(check, half_open().at(41).gauge(2)) == []
