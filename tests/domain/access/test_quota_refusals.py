"""Which limit is in the way, and for how long."""

from dataclasses import replace

import pytest

from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import WINDOW_US, Limit, Refusal
from ktms.domain.access.quota_calendar import DAY_US, day_of, first_day_of
from ktms.domain.access.quota_counters import NEW, Counters, reserve, roll, share_of
from ktms.domain.access.quota_refusals import CONCURRENT_WAIT_MS, refusal

NOW = 1_790_000_000_123_456
BEGUN = roll(NEW, NOW)
MIDNIGHT_MS = -(-((day_of(NOW) + 1) * DAY_US - NOW) // 1000)
MONTH_END_MS = -(-(first_day_of(BEGUN.month + 1) * DAY_US - NOW) // 1000)


def asked(
    limits: Limits, tokens: int = 0, micros: int = 0, its: Counters = BEGUN, now: int = NOW
) -> Refusal | None:
    return refusal([(limits, share_of(limits, tokens))], [its], micros, now)


def after(limits: Limits, tokens: int = 0, micros: int = 0, times: int = 1) -> Counters:
    its = BEGUN
    for _ in range(times):
        its, _ = reserve(its, share_of(limits, tokens), micros, NOW)
    return its


def test_nothing_is_in_the_way_of_a_first_call() -> None:
    limits = Limits(1, 10, 1, 100, 100)
    assert asked(limits, 10, 100) is None


def test_a_bucket_holds_a_minutes_worth_and_no_more() -> None:
    limits = Limits(rpm=60)
    assert asked(limits, its=after(limits, times=59)) is None
    assert asked(limits, its=after(limits, times=60)) == Refusal(0, Limit.REQUESTS, 1000)


@pytest.mark.parametrize("limits", [Limits(rpm=7), Limits(tpm=7000)])
def test_after_exactly_the_wait_a_call_passes_and_a_moment_before_it_does_not(limits: Limits) -> None:
    its = after(limits, 1000, times=7)
    refused = asked(limits, 1000, its=its, now=NOW + 333)
    assert refused is not None
    assert refused.wait_ms is not None
    then = NOW + 333 + refused.wait_ms * 1000
    assert asked(limits, 1000, its=its, now=then) is None
    assert asked(limits, 1000, its=its, now=then - 1000) is not None


def test_a_bucket_that_was_filled_before_its_limit_was_lifted_is_in_nobodys_way() -> None:
    full = NOW + 2 * WINDOW_US
    assert asked(Limits(), 1000, its=replace(BEGUN, requests_at_us=full, tokens_at_us=full)) is None


def test_a_call_larger_than_its_bucket_never_passes() -> None:
    assert asked(Limits(tpm=1000), 1000) is None
    assert asked(Limits(tpm=1000), 1001) == Refusal(0, Limit.TOKENS, None)


@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        (Limits(rpm=0), Limit.REQUESTS),
        (Limits(tpm=0), Limit.TOKENS),
        (Limits(concurrent=0), Limit.CONCURRENT),
        (Limits(usd_per_day_micros=0), Limit.DAY),
        (Limits(usd_per_month_micros=0), Limit.MONTH),
    ],
)
def test_a_limit_of_nothing_lets_nothing_pass(limits: Limits, limit: Limit) -> None:
    assert asked(limits, 1, 1) == Refusal(0, limit, None)


def test_a_limit_of_no_dollars_passes_what_costs_nothing() -> None:
    assert asked(Limits(usd_per_day_micros=0, usd_per_month_micros=0), 1, 0) is None


def test_calls_at_once_are_counted_and_the_wait_is_a_guess() -> None:
    limits = Limits(concurrent=2)
    assert asked(limits, its=after(limits, times=1)) is None
    assert asked(limits, its=after(limits, times=2)) == Refusal(0, Limit.CONCURRENT, CONCURRENT_WAIT_MS)


def test_dollars_of_a_day_are_free_again_at_midnight_and_of_a_month_at_its_end() -> None:
    its = after(Limits(), micros=80)
    assert asked(Limits(usd_per_day_micros=100), micros=20, its=its) is None
    assert asked(Limits(usd_per_day_micros=100), micros=21, its=its) == Refusal(0, Limit.DAY, MIDNIGHT_MS)
    assert asked(Limits(usd_per_month_micros=100), micros=21, its=its) == Refusal(0, Limit.MONTH, MONTH_END_MS)
    then = NOW + MIDNIGHT_MS * 1000
    assert asked(Limits(usd_per_day_micros=100), micros=100, its=roll(its, then), now=then) is None


def test_a_call_dearer_than_a_whole_budget_never_passes() -> None:
    assert asked(Limits(usd_per_day_micros=100), micros=101) == Refusal(0, Limit.DAY, None)
    assert asked(Limits(usd_per_month_micros=100), micros=101) == Refusal(0, Limit.MONTH, None)


def test_of_all_that_is_in_the_way_the_longest_is_told() -> None:
    limits = Limits(rpm=1, concurrent=1, usd_per_day_micros=10)
    assert asked(limits, micros=5, its=after(limits, micros=6)) == Refusal(0, Limit.DAY, MIDNIGHT_MS)
    assert asked(replace(limits, tpm=1), 5, 5, after(limits, micros=6)) == Refusal(0, Limit.TOKENS, None)


def test_each_account_is_asked_and_of_equals_the_first_is_told() -> None:
    limits, full = Limits(rpm=1), replace(BEGUN, requests_at_us=NOW + WINDOW_US)
    both = [(limits, share_of(limits, 0))] * 2
    assert refusal(both, [BEGUN, full], 0, NOW) == Refusal(1, Limit.REQUESTS, 60_000)
    assert refusal(both, [full, full], 0, NOW) == Refusal(0, Limit.REQUESTS, 60_000)
