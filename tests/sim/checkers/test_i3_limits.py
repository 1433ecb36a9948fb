"""I3: no more is admitted than a limit allows, and nobody is refused for nothing."""

import pytest

from sim.checkers.i3_limits import check
from tests.sim.checkers.limits_story import BOTH, KEY, TEAM, LimitsStory
from tests.sim.checkers.story import said


def story(name: str = "day", value: int = 100) -> LimitsStory:
    return LimitsStory().limited(name, value).at(100)


def test_without_limits_there_is_nothing_to_break() -> None:
    assert said(check, LimitsStory().booked("a")) == []


def test_an_ordinary_call_is_right() -> None:
    assert said(check, story().used("a").at(102).counted(settled=10)) == []


def test_what_is_admitted_beyond_the_day_is_found() -> None:
    assert said(check, story().used("a", 95).at(102).used("b")) == [
        "gw1 admitted b at 10; of 100 a day of key:k1 95 are spent"
    ]


def test_what_is_reserved_counts_like_what_is_spent() -> None:
    assert said(check, story().reserved("a", micros=95).at(101).used("b", host="gw2")) == [
        "gw2 admitted b at 10; of 100 a day of key:k1 95 are spent"
    ]


def test_what_was_given_back_does_not_count() -> None:
    told = story().reserved("a", micros=95).at(101).booked("a", 5).settled("a", 5).recorded("a")
    assert said(check, told.at(102).used("b", 90)) == []


def test_one_more_at_once_than_the_limit_is_found() -> None:
    told = story("concurrent", 1).reserved("a", micros=0).at(101).reserved("b", micros=0)
    assert said(check, told) == ["gw1 admitted b; 1 calls of key:k1 ran, 1 may"]


def test_as_many_at_once_as_the_limit_are_right() -> None:
    assert said(check, story("concurrent", 2).reserved("a", micros=0).at(101).reserved("b", micros=0)) == []


@pytest.mark.parametrize("kind", ["redis_away", "redis_hung", "redis_slow", "redis_cut"])
def test_what_was_settled_in_an_outage_need_not_count(kind: str) -> None:
    told = story().reserved("a", micros=95).at(101).fault(kind).booked("a", 95).settled("a", 95).recorded("a")
    assert said(check, told.at(110).fault(kind, on=False).at(111).used("b")) == []


def test_what_a_store_forgot_need_not_count() -> None:
    assert said(check, story().used("a", 95).at(105).fault("redis_empty").at(106).used("b")) == []


def test_what_is_under_way_counts_again_after_a_loss() -> None:
    told = story().reserved("a", micros=95).at(101).fault("redis_empty").at(109).used("b")
    assert said(check, told) == ["gw1 admitted b at 10; of 100 a day of key:k1 95 are spent"]


@pytest.mark.parametrize(
    ("after_s", "known"), [(3, []), (9, ["gw1 admitted b at 10; of 100 a day of key:k1 95 are spent"])]
)
def test_what_is_under_way_counts_again_soon_after_a_failover(after_s: float, known: list[str]) -> None:
    told = (
        story().reserved("a", micros=95).at(101).fault("redis_failover").at(103).fault("redis_failover", on=False)
    )
    assert said(check, told.at(103 + after_s).used("b")) == known


def test_the_first_of_failovers_that_overlap_loses_what_was_reserved() -> None:
    told = story().fault("redis_failover").fault("redis_failover").reserved("a", micros=95)
    assert said(check, told.at(103).fault("redis_failover", on=False).at(104).used("b")) == []


@pytest.mark.parametrize(
    ("after_s", "known"), [(3, []), (9, ["gw2 admitted b at 10; of 100 a day of key:k1 95 are spent"])]
)
def test_what_is_under_way_counts_again_soon_after_its_replica_was_taken_for_dead(
    after_s: float, known: list[str]
) -> None:
    told = story().reserved("a", micros=95).at(101).fault("lag", "gw1", amount=14.0)
    assert said(check, told.at(115 + after_s).used("b", host="gw2")) == known


def test_what_the_dead_had_reserved_need_not_count() -> None:
    told = story().reserved("a", micros=95).at(101).note("host_crashed", "gw1")
    assert isinstance(told, LimitsStory)
    assert said(check, told.at(110).used("b", host="gw2")) == []


def test_what_was_spent_yesterday_does_not_count() -> None:
    assert said(check, story().used("a", 95).at(90_000).used("b")) == []


def test_a_team_that_is_not_charged_is_found() -> None:
    told = LimitsStory().limited("day", 100, KEY, TEAM).at(100)
    assert said(check, told.used("a")) == ["gw1 reserved nothing of tenant:default for call a"]
    told = LimitsStory().limited("day", 100, KEY, TEAM).at(100)
    assert said(check, told.used("a", accounts=BOTH)) == []


def test_a_call_for_which_nothing_was_reserved_is_found() -> None:
    assert said(check, story().booked("a")) == ["call a used something, and nothing was reserved for it"]


def test_a_call_that_passed_uncounted_is_right_where_its_event_says_so() -> None:
    assert said(check, story().fault("redis_away").unknown("a").booked("a", uncounted=True)) == []


def test_a_closed_call_that_passed_uncounted_is_found() -> None:
    told = story().setting("closed:key:k1", "True")
    assert isinstance(told, LimitsStory)
    assert said(check, told.unknown("a").booked("a", uncounted=True)) == [
        "call a of a key that is closed passed uncounted"
    ]


def test_a_reservation_that_is_never_settled_is_found() -> None:
    told = story().reserved("a").at(101).recorded("a").at(120).phase("over")
    assert said(check, told) == ["gw1 reserved for call a, which is over, and has not settled it"]


def test_a_reservation_of_a_call_that_goes_on_is_right() -> None:
    assert said(check, story().reserved("a").at(120).phase("heal")) == []


def test_a_settlement_of_another_amount_is_found() -> None:
    told = story().reserved("a").at(101).booked("a", 8).settled("a", 16).recorded("a")
    assert said(check, told) == ["gw1 settled 16 micros for call a, its attempts cost 8"]


def test_all_attempts_of_a_call_are_settled_together() -> None:
    told = story().reserved("a").at(101).booked("a", 3).booked("a", 4).settled("a", 7).recorded("a")
    assert said(check, told) == []


def test_a_refused_call_that_used_something_is_found() -> None:
    told = story().used("a", 95).at(102).refused("b", "day").booked("b")
    assert "call b was refused and used something all the same" in said(check, told)


@pytest.mark.parametrize(("name", "value"), [("day", 100), ("month", 100), ("concurrent", 2)])
def test_a_refusal_without_need_is_found(name: str, value: int) -> None:
    (what,) = said(check, story(name, value).used("a", 50).at(200).refused("b", name))
    assert what.startswith("gw1 refused b")


def test_a_refusal_with_need_is_right() -> None:
    assert said(check, story().used("a", 95).at(102).refused("b", "day")) == []
    assert said(check, story("concurrent", 1).reserved("a").at(101).refused("b", "concurrent")) == []


def test_a_refusal_for_a_limit_that_nobody_has_is_found() -> None:
    (what,) = said(check, story("rpm", 5).refused("b", "day"))
    assert what == "gw1 refused b for the day of key:k1, without a limit"


def test_a_store_that_counts_too_much_is_found() -> None:
    assert said(check, story().used("a").at(102).counted(settled=20)) == [
        "the store counts 20 of key:k1, it is between 10 and 10"
    ]


def test_a_store_that_counts_too_little_is_found() -> None:
    assert said(check, story().used("a").at(102).counted(settled=5)) == [
        "the store counts 5 of key:k1, it is between 10 and 10"
    ]


def test_a_store_that_counts_a_call_that_is_over_is_found() -> None:
    assert said(check, story().used("a").at(102).counted(running=1, settled=10)) == [
        "the store counts 1 calls of key:k1, between 0 and 0 run"
    ]


def test_a_dead_replicas_calls_count_until_somebody_reserves() -> None:
    told = story("concurrent", 5).reserved("a").at(101).note("host_crashed", "gw1")
    assert isinstance(told, LimitsStory)
    told.at(130).counted(running=1, reserved=10)
    assert said(check, told) == []
    told.at(131).used("b", host="gw2").at(135).counted(running=1, settled=10, reserved=10)
    assert said(check, told) == [
        "the store counts 1 calls of key:k1, between 0 and 0 run",
        "the store counts 20 of key:k1, it is between 10 and 10",
    ]


def test_what_the_ledger_was_asked_for_in_the_middle_of_a_call_may_count_twice() -> None:
    told = story().reserved("a").at(101).booked("a")
    told.note("quota_raised", "gw2", account=KEY, day_micros=10, month_micros=10)
    assert said(check, told.settled("a").recorded("a").at(103).counted(settled=20)) == []


@pytest.mark.parametrize(
    ("after_s", "known"), [(3, []), (9, ["gw1 admitted b at 10; of 100 a day of key:k1 95 are spent"])]
)
def test_what_nobody_could_declare_in_a_long_outage_counts_again_soon_after_it(
    after_s: float, known: list[str]
) -> None:
    told = story().reserved("a", micros=95).at(101).fault("redis_hung").at(114).fault("redis_hung", on=False)
    assert said(check, told.at(114 + after_s).used("b")) == known


def test_in_a_short_outage_nothing_is_lost() -> None:
    told = story().reserved("a", micros=95).at(101).fault("redis_hung").at(105).fault("redis_hung", on=False)
    assert said(check, told.at(106).used("b")) == ["gw1 admitted b at 10; of 100 a day of key:k1 95 are spent"]
