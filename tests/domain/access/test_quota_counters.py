"""What a call moves when it is reserved, settled, given back."""

from dataclasses import replace

import pytest

from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import WINDOW_US, AccountState, Spent
from ktms.domain.access.quota_calendar import DAY_US, day_of, first_day_of, month_of
from ktms.domain.access.quota_counters import (
    AMOUNT_MAX,
    DEBT_MAX_US,
    MICROS_MAX,
    NEW,
    TOKENS_MAX,
    Counters,
    Part,
    Share,
    bounded_micros,
    bounded_tokens,
    charge,
    give_back_request,
    raise_to,
    reserve,
    roll,
    settle,
    share_of,
    state_of,
    take_up,
)

NOW = 1_790_000_000_000_000
TODAY = day_of(NOW)
MONTH = month_of(TODAY)
SECOND = 1_000_000
BEGUN = roll(NEW, NOW)


def begun(share: Share, micros: int = 0, now: int = NOW, counters: Counters = BEGUN) -> tuple[Counters, Part]:
    return reserve(counters, share, micros, now)


@pytest.mark.parametrize(
    ("limits", "tokens", "share"),
    [
        (Limits(), 500, Share(0, 0)),
        (Limits(rpm=60), 500, Share(SECOND, 0)),
        (Limits(rpm=7), 0, Share(8_571_428, 0)),
        (Limits(tpm=6000), 100, Share(0, SECOND)),
        (Limits(tpm=6000), 0, Share(0, 0)),
        (Limits(tpm=6000), -3, Share(0, 0)),
    ],
)
def test_a_share_is_the_part_of_a_minute_rounded_down(limits: Limits, tokens: int, share: Share) -> None:
    assert share_of(limits, tokens) == share


def test_a_whole_minutes_worth_fits_into_a_minute() -> None:
    for rpm in range(1, 500):
        assert share_of(Limits(rpm=rpm), 0).requests_us * rpm <= WINDOW_US


def test_of_a_limit_of_nothing_every_share_is_too_large() -> None:
    share = share_of(Limits(rpm=0, tpm=0), 1)
    assert share.requests_us > WINDOW_US
    assert share.tokens_us > WINDOW_US


@pytest.mark.parametrize("amount", [TOKENS_MAX, TOKENS_MAX + 1, 2**53, 2**70])
def test_tokens_beyond_all_reason_stay_exact_in_a_double(amount: int) -> None:
    share_us = share_of(Limits(tpm=1), amount).tokens_us
    assert bounded_tokens(amount) == TOKENS_MAX
    assert int(float(share_us)) == share_us < 2**53


def test_micros_are_bounded_on_both_sides() -> None:
    assert [bounded_micros(amount) for amount in (-1, 0, 7, 2**60)] == [0, 0, 7, MICROS_MAX]


def test_a_reservation_moves_buckets_amounts_and_the_count_of_calls() -> None:
    after, part = begun(Share(SECOND, 3 * SECOND), 250)
    assert state_of(after, NOW) == AccountState(SECOND, 3 * SECOND, 1, 250, 250)
    assert part == Part(NOW, 250, TODAY, MONTH, Share(SECOND, 3 * SECOND), NOW + 3 * SECOND)


def test_a_bucket_that_nobody_limits_is_not_touched() -> None:
    after, part = begun(Share())
    assert (after.requests_at_us, after.tokens_at_us, part.tokens_end_us) == (0, 0, 0)


def test_a_second_call_queues_behind_the_first() -> None:
    first, _ = begun(Share(SECOND, SECOND))
    both, part = begun(Share(SECOND, SECOND), now=NOW + 10, counters=first)
    assert both.requests_at_us == NOW + 2 * SECOND
    assert part.tokens_end_us == NOW + 2 * SECOND
    assert both.tokens_since_us == NOW


def test_settling_puts_what_was_used_in_the_place_of_what_was_reserved() -> None:
    after, part = begun(Share(SECOND, 10 * SECOND), 1000)
    settled = settle(after, part, Share(SECOND, 4 * SECOND), 300, NOW)
    assert state_of(settled, NOW) == AccountState(SECOND, 4 * SECOND, 0, 300, 300)


def test_what_a_bucket_has_refilled_by_itself_is_not_given_back() -> None:
    after, part = begun(Share(0, 10 * SECOND))
    later = NOW + 7 * SECOND
    assert settle(after, part, Share(), 0, later).tokens_at_us == later


def test_after_a_bucket_was_full_nothing_from_before_is_given_back() -> None:
    after, part = begun(Share(0, 10 * SECOND))
    stale = replace(part, tokens_end_us=NOW + 30 * SECOND)
    later = NOW + 12 * SECOND
    busy, _ = begun(Share(0, 5 * SECOND), now=later, counters=after)
    assert settle(busy, stale, Share(), 0, later).tokens_at_us == later + 5 * SECOND


def test_a_call_that_used_more_than_it_reserved_owes_the_rest() -> None:
    after, part = begun(Share(0, SECOND), 10)
    settled = settle(after, part, Share(0, 90 * SECOND), 70, NOW)
    assert state_of(settled, NOW) == AccountState(0, 90 * SECOND, 0, 70, 70)


def test_a_debt_of_tokens_ends_within_an_hour() -> None:
    after, part = begun(Share())
    assert settle(after, part, Share(0, 2**52), 0, NOW).tokens_at_us == NOW + DEBT_MAX_US


def test_a_request_that_used_nothing_gives_back_what_is_left_of_its_share() -> None:
    after, part = begun(Share(10 * SECOND, 0))
    assert give_back_request(after, part, NOW + 4 * SECOND).requests_at_us == NOW + 4 * SECOND
    assert give_back_request(after, part, NOW + 40 * SECOND) == after


def test_a_call_belongs_to_the_day_in_which_it_was_reserved() -> None:
    after, part = begun(Share(), 500)
    tomorrow = (TODAY + 1) * DAY_US
    settled = settle(roll(after, tomorrow), part, Share(), 300, tomorrow)
    assert (settled.day_settled, settled.day_reserved) == (0, 0)
    assert (settled.month_settled, settled.month_reserved) == (300, 0)


def test_a_call_belongs_to_the_month_in_which_it_was_reserved() -> None:
    after, part = begun(Share(), 500)
    next_month = first_day_of(MONTH + 1) * DAY_US
    settled = settle(roll(after, next_month), part, Share(), 300, next_month)
    assert (settled.month_settled, settled.month_reserved) == (0, 0)
    assert settled.running == 0


def test_a_day_ends_and_its_month_goes_on() -> None:
    after, _ = begun(Share(), 500)
    rolled = roll(after, (TODAY + 1) * DAY_US)
    assert (rolled.day, rolled.day_reserved, rolled.month_reserved) == (TODAY + 1, 0, 500)


def test_a_day_that_has_begun_does_not_end_when_the_clock_goes_back() -> None:
    after, _ = begun(Share(SECOND, SECOND), 500)
    back = NOW - 2 * DAY_US
    rolled = roll(after, back)
    assert (rolled.day, rolled.day_reserved) == (TODAY, 500)
    assert rolled.requests_at_us == back + WINDOW_US
    assert rolled.tokens_at_us == back + DEBT_MAX_US


def test_a_call_taken_up_again_counts_and_owes_all_its_tokens_at_its_end() -> None:
    counters, part = take_up(BEGUN, 40, NOW)
    assert (counters.running, counters.day_reserved, counters.tokens_at_us) == (1, 40, 0)
    settled = settle(counters, part, Share(0, SECOND), 30, NOW)
    assert state_of(settled, NOW) == AccountState(0, SECOND, 0, 30, 30)


def test_a_late_settlement_charges_only_what_was_used() -> None:
    after, part = begun(Share(0, SECOND), 40)
    back = settle(after, part, Share(), 0, NOW)
    assert state_of(charge(back, part, Share(0, SECOND), 30, NOW), NOW) == AccountState(0, SECOND, 0, 30, 30)
    assert state_of(charge(back, part, Share(), 30, NOW), NOW) == AccountState(0, 0, 0, 30, 30)


def test_nothing_is_ever_negative() -> None:
    part = Part(NOW, 100, TODAY, MONTH, Share())
    settled = settle(BEGUN, part, Share(), 0, NOW)
    assert (settled.running, settled.day_reserved, settled.month_reserved) == (0, 0, 0)


def test_amounts_stop_where_a_double_is_still_exact() -> None:
    rich = replace(BEGUN, day_settled=AMOUNT_MAX, month_settled=AMOUNT_MAX)
    settled = settle(rich, Part(NOW, 0, TODAY, MONTH), Share(), MICROS_MAX, NOW)
    assert (settled.day_settled, settled.month_settled) == (AMOUNT_MAX, AMOUNT_MAX)


def test_the_ledger_raises_and_never_lowers() -> None:
    known = raise_to(NEW, Spent("key:a", TODAY, MONTH, 70, 900), NOW)
    assert (known.read, known.day_settled, known.month_settled) == (True, 70, 900)
    again = raise_to(known, Spent("key:a", TODAY, MONTH, 60, 1000), NOW)
    assert (again.day_settled, again.month_settled) == (70, 1000)


def test_the_ledgers_amounts_of_other_days_and_months_are_not_taken() -> None:
    yesterday = raise_to(BEGUN, Spent("key:a", TODAY - 1, MONTH, 70, 900), NOW)
    assert (yesterday.read, yesterday.day_settled, yesterday.month_settled) == (True, 0, 900)
    last_month = raise_to(BEGUN, Spent("key:a", TODAY - 40, MONTH - 1, 70, 900), NOW)
    assert (last_month.day_settled, last_month.month_settled) == (0, 0)


def test_what_is_reserved_is_no_part_of_what_the_ledger_raises() -> None:
    after, part = begun(Share(), 500)
    raised = raise_to(after, Spent("key:a", TODAY, MONTH, 100, 100), NOW)
    assert state_of(settle(raised, part, Share(), 0, NOW), NOW).day_micros == 100
