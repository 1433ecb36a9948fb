"""Numbers as the scripts read them."""

from dataclasses import replace
from struct import unpack

from ktms.adapters.redis.quota_words import (
    AccountWords,
    pack_counters,
    pack_spent,
    read_state,
    unpack_counters,
)
from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import Account, AccountState, Spent
from ktms.domain.access.quota_counters import MICROS_MAX, Counters

NOW = 1_790_000_000_000_001
COUNTERS = Counters(NOW + 3, NOW + 5, NOW - 1, 2, *(True, 20_717, 70, 30, 24_320, 700, 300))


def test_counters_come_back_as_they_were() -> None:
    for counters in (COUNTERS, replace(COUNTERS, read=False)):
        assert unpack_counters(pack_counters(counters)) == counters
    assert unpack_counters(pack_counters(Counters())) == Counters()


def test_a_state_is_what_is_ahead_of_now_and_amounts_with_what_is_reserved() -> None:
    assert read_state(pack_counters(COUNTERS), NOW) == (True, AccountState(3, 5, 2, 100, 1000))
    assert read_state(pack_counters(Counters()), NOW) == (False, AccountState())


def test_a_wish_is_its_micros_and_of_each_account_shares_and_limits() -> None:
    accounts = [Account("key:a", Limits(60, 6000, 5, 700, 9000)), Account("tenant:t", Limits(rpm=6))]
    assert unpack("<11d", AccountWords(accounts).wish(100, 42)) == (
        *(42, 1_000_000, 1_000_000, 5, 700, 9000),
        *(10_000_000, 0, -1, -1, -1),
    )


def test_what_was_used_says_whether_it_was_nothing_at_all() -> None:
    words = AccountWords([Account("key:a", Limits(tpm=6000))])
    assert unpack("<3d", words.used(100, 42)) == (42, 0, 1_000_000)
    assert unpack("<3d", words.used(0, 0)) == (0, 1, 0)
    assert unpack("<3d", words.used(0, 1)) == (1, 0, 0)
    assert unpack("<3d", words.used(100, 0)) == (0, 0, 1_000_000)


def test_one_call_leaves_nothing_behind_for_the_next() -> None:
    words = AccountWords([Account("key:a", Limits(tpm=6000))])
    assert unpack("<6d", words.wish(100, 42))[:3] == (42, 0, 1_000_000)
    assert unpack("<6d", words.wish(0, 0))[:3] == (0, 0, 0)


def test_amounts_are_bounded_before_they_are_packed() -> None:
    assert unpack("<d", AccountWords([]).wish(0, 2**80)) == (MICROS_MAX,)


def test_what_the_ledger_knows_is_four_numbers() -> None:
    assert unpack("<4d", pack_spent(Spent("key:a", 20_717, 24_320, 5, 50))) == (20_717, 24_320, 5, 50)
