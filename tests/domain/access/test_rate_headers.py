"""Tests for ktms/domain/access/rate_headers.py."""

import pytest

from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import WINDOW_US, Account, AccountState
from ktms.domain.access.rate_headers import rate_headers

KEY = Account("key:a", Limits(rpm=60, tpm=6000))
TEAM = Account("tenant:t", Limits(rpm=600))


def test_what_is_left_and_when_all_is_back_are_told_of_both_rates() -> None:
    state = AccountState(requests_us=1_000_000, tokens_us=WINDOW_US // 2)
    assert rate_headers((KEY,), (state,)) == (
        ("x-ratelimit-limit-requests", "60"),
        ("x-ratelimit-remaining-requests", "59"),
        ("x-ratelimit-reset-requests", "1s"),
        ("x-ratelimit-limit-tokens", "6000"),
        ("x-ratelimit-remaining-tokens", "3000"),
        ("x-ratelimit-reset-tokens", "30s"),
    )


def test_the_account_with_the_least_left_is_told() -> None:
    told = dict(rate_headers((KEY, TEAM), (AccountState(), AccountState(requests_us=WINDOW_US))))
    assert told["x-ratelimit-limit-requests"] == "600"
    assert told["x-ratelimit-remaining-requests"] == "0"


def test_limits_of_dollars_alone_are_not_told() -> None:
    account = Account("key:a", Limits(usd_per_day_micros=5))
    assert rate_headers((account,), (AccountState(),)) == ()


def test_an_account_that_was_not_read_is_not_told() -> None:
    assert rate_headers((KEY,), ()) == ()


def test_a_limit_that_was_lowered_below_what_was_used_leaves_nothing() -> None:
    told = dict(rate_headers((TEAM,), (AccountState(requests_us=2 * WINDOW_US),)))
    assert told["x-ratelimit-remaining-requests"] == "0"


@pytest.mark.parametrize(
    ("ahead_us", "told"),
    [
        (0, "0ms"),
        (1, "1ms"),
        (350_000, "350ms"),
        (8_640_000, "8.64s"),
        (60_000_000, "1m0s"),
        (61_500_000, "1m1.5s"),
    ],
)
def test_times_are_written_as_openai_writes_them(ahead_us: int, told: str) -> None:
    assert dict(rate_headers((TEAM,), (AccountState(requests_us=ahead_us),)))["x-ratelimit-reset-requests"] == told
