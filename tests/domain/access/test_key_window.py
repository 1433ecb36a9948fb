"""For how long a verified key counts."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ktms.domain.access import key_window
from ktms.domain.access.client_key import ClientKey
from ktms.domain.access.key_window import (
    FRESH_S,
    KEYS_MAX,
    NEGATIVE_S,
    NEGATIVES_MAX,
    REVERIFY_EVERY_S,
    UNKNOWN,
    WINDOW_S,
    Fresh,
    KeyWindow,
    Known,
    usable,
)
from ktms.domain.ids import KeyId, TenantName


def client_key(number: int, *, revoked: bool = False, expires_at: float | None = None) -> ClientKey:
    return ClientKey(
        KeyId(f"{number:010d}"),
        number.to_bytes(32, "big"),
        f"app-{number}",
        TenantName("default"),
        expires_at=expires_at,
        revoked=revoked,
    )


KEY = client_key(1)


def window_with(key: ClientKey = KEY, at: float = 0.0) -> KeyWindow:
    window = KeyWindow()
    window.remember(key.digest, key, at)
    return window


@pytest.mark.parametrize(
    ("age_s", "seen"),
    [
        (0.0, Fresh(KEY)),
        (FRESH_S - 0.01, Fresh(KEY)),
        (FRESH_S, Known(KEY)),
        (WINDOW_S - 0.01, Known(KEY)),
        (WINDOW_S, UNKNOWN),
    ],
)
def test_a_verdict_is_fresh_then_known_then_unknown(age_s: float, seen: object) -> None:
    assert window_with().look(KEY.digest, age_s) == seen


def test_a_shorter_window_ends_sooner_and_shortens_freshness_with_it() -> None:
    window = KeyWindow(window_s=4.0)
    window.remember(KEY.digest, KEY, 0.0)

    assert window.look(KEY.digest, 3.9) == Fresh(KEY)
    assert window.look(KEY.digest, 4.0) == UNKNOWN


@pytest.mark.parametrize("window_s", [0.0, -1.0, WINDOW_S + 1, float("nan")])
def test_a_window_is_never_longer_than_documented(window_s: float) -> None:
    with pytest.raises(AssertionError):
        KeyWindow(window_s=window_s)


def test_a_digest_never_seen_is_unknown() -> None:
    assert KeyWindow().look(KEY.digest, 0.0) == UNKNOWN


def test_a_refusal_counts_briefly() -> None:
    window = KeyWindow()
    window.remember(KEY.digest, None, 0.0)

    assert window.look(KEY.digest, NEGATIVE_S - 0.01) == Fresh(None)
    assert window.look(KEY.digest, NEGATIVE_S) == UNKNOWN


def test_a_key_made_after_it_was_refused_counts_at_once() -> None:
    window = KeyWindow()
    window.remember(KEY.digest, None, 0.0)
    window.remember(KEY.digest, KEY, 0.5)

    assert window.look(KEY.digest, 0.6) == Fresh(KEY)


def test_a_refusal_replaces_a_key() -> None:
    window = window_with()
    window.remember(KEY.digest, None, 1.0)

    assert window.look(KEY.digest, 1.0) == Fresh(None)
    assert window.due(1.0) == ()


def test_a_forgotten_key_is_unknown() -> None:
    window = window_with()
    window.forget(KEY.id)

    assert window.look(KEY.digest, 0.1) == UNKNOWN


def test_forgetting_a_key_that_is_not_kept_is_harmless() -> None:
    window = window_with()
    window.forget(KeyId("9999999999"))

    assert window.look(KEY.digest, 0.1) == Fresh(KEY)


def test_a_key_kept_under_another_digest_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError):
        KeyWindow().remember(b"other", KEY, 0.0)


def test_a_key_with_a_new_digest_replaces_the_old_one() -> None:
    window = window_with()
    renewed = replace(KEY, digest=b"new")
    window.remember(b"new", renewed, 1.0)

    assert window.look(KEY.digest, 1.0) == UNKNOWN
    assert window.look(b"new", 1.0) == Fresh(renewed)
    assert window.due(1.0) == (KEY.id,)


def test_keys_used_within_the_window_are_due_and_others_are_dropped() -> None:
    window = window_with()
    other = client_key(2)
    window.remember(other.digest, other, 0.0)
    window.look(other.digest, 200.0)

    assert window.due(WINDOW_S) == (other.id,)
    assert window.sightings()[0].key == other
    assert len(window.sightings()) == 1


def test_a_confirmed_key_is_fresh_again() -> None:
    window = window_with()
    window.confirm({KEY.id: KEY}, (KEY.id,), 20.0)

    assert window.look(KEY.digest, 20.0 + FRESH_S - 0.01) == Fresh(KEY)


def test_a_key_found_revoked_is_replaced() -> None:
    window = window_with()
    revoked = client_key(1, revoked=True)
    window.confirm({KEY.id: revoked}, (KEY.id,), 5.0)

    assert window.look(KEY.digest, 5.0) == Fresh(revoked)


def test_an_older_answer_does_not_take_a_revocation_back() -> None:
    revoked = client_key(1, revoked=True)
    window = window_with(revoked)
    window.confirm({KEY.id: KEY}, (KEY.id,), 5.0)

    assert window.look(KEY.digest, 5.0) == Fresh(revoked)


def test_a_revocation_is_confirmed_like_any_verdict() -> None:
    revoked = client_key(1, revoked=True)
    window = window_with(revoked)
    window.confirm({KEY.id: revoked}, (KEY.id,), 9.0)

    assert window.look(KEY.digest, 18.0) == Fresh(revoked)


def test_a_key_that_is_gone_is_dropped() -> None:
    window = window_with()
    window.confirm({}, (KEY.id,), 5.0)

    assert window.look(KEY.digest, 5.0) == UNKNOWN


def test_a_key_with_another_digest_in_the_store_is_dropped() -> None:
    window = window_with()
    window.confirm({KEY.id: replace(KEY, digest=b"new")}, (KEY.id,), 5.0)

    assert window.look(KEY.digest, 5.0) == UNKNOWN


def test_a_key_that_was_not_asked_for_stays() -> None:
    window = window_with()
    window.confirm({}, (), 5.0)

    assert window.look(KEY.digest, 5.0) == Fresh(KEY)


def test_a_key_forgotten_while_the_answer_was_under_way_stays_forgotten() -> None:
    window = window_with()
    due = window.due(1.0)
    window.forget(KEY.id)
    window.confirm({KEY.id: KEY}, due, 1.5)

    assert window.look(KEY.digest, 1.5) == UNKNOWN


def test_a_revoked_key_in_use_is_refused_within_the_promised_time() -> None:
    window = window_with()
    revoked_at, now = 1.0, 0.0
    while now < revoked_at + FRESH_S:
        now += REVERIFY_EVERY_S
        stored = client_key(1, revoked=now > revoked_at)
        window.confirm({KEY.id: stored}, window.due(now), now)

    seen = window.look(KEY.digest, revoked_at + FRESH_S)
    assert isinstance(seen, Fresh)
    assert not usable(seen.key, wall=0.0)


@pytest.mark.parametrize(
    ("last_answer_at", "open_"), [(None, False), (0.0, True), (-200.1, True), (-WINDOW_S, False), (-900.0, False)]
)
def test_the_window_is_open_while_the_last_answer_is_young(last_answer_at: float | None, open_: bool) -> None:
    assert KeyWindow().open(last_answer_at, 0.0) is open_


def test_the_key_unused_for_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_window, "KEYS_MAX", 2)
    window = window_with()
    second, third = client_key(2), client_key(3)
    window.remember(second.digest, second, 1.0)
    window.look(KEY.digest, 2.0)
    window.remember(third.digest, third, 3.0)

    assert window.look(second.digest, 3.0) == UNKNOWN
    assert set(window.due(3.0)) == {KEY.id, third.id}


def test_a_flood_of_bad_keys_is_bounded_and_pushes_out_no_good_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_window, "NEGATIVES_MAX", 10)
    window = window_with()
    for number in range(100):
        window.remember(f"bad-{number}".encode(), None, 0.0)

    assert repr(window) == "KeyWindow(1 keys, 10 refused)"
    assert window.look(KEY.digest, 0.0) == Fresh(KEY)


def test_the_limits_are_those_documented() -> None:
    assert (FRESH_S, WINDOW_S, REVERIFY_EVERY_S) == (10.0, 300.0, 5.0)
    assert KEYS_MAX > 1000
    assert NEGATIVES_MAX > 1000


@pytest.mark.parametrize(
    ("key", "wall", "verdict"),
    [
        (None, 0.0, False),
        (KEY, 1e12, True),
        (client_key(1, revoked=True), 0.0, False),
        (client_key(1, expires_at=100.0), 99.9, True),
        (client_key(1, expires_at=100.0), 100.0, False),
    ],
)
def test_only_a_key_that_is_there_not_revoked_and_not_expired_is_usable(
    key: ClientKey | None, wall: float, verdict: bool
) -> None:
    assert usable(key, wall) is verdict


NUMBERS = st.integers(min_value=1, max_value=4)


class Windows(RuleBasedStateMachine):
    """Any order of look-ups, answers and revocations, against a store that is always right."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.window = KeyWindow()
        self.revoked_at: dict[int, float] = {}
        self.asked_at: dict[int, float] = {}

    def stored(self, number: int) -> ClientKey:
        return client_key(number, revoked=number in self.revoked_at)

    @rule(seconds=st.floats(min_value=0.0, max_value=400.0))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule(number=NUMBERS)
    def revoke(self, number: int) -> None:
        self.revoked_at.setdefault(number, self.now)

    @rule(number=NUMBERS)
    def verify(self, number: int) -> None:
        key = self.stored(number)
        self.window.remember(key.digest, key, self.now)
        self.asked_at[number] = self.now

    @rule()
    def reverify(self) -> None:
        due = self.window.due(self.now)
        self.window.confirm({KeyId(one): self.stored(int(one)) for one in due}, due, self.now)

    @rule(number=NUMBERS)
    def forget(self, number: int) -> None:
        self.window.forget(KeyId(f"{number:010d}"))

    @invariant()
    def no_key_counts_longer_than_its_verdict(self) -> None:
        for number in range(1, 5):
            seen = self.window.look(number.to_bytes(32, "big"), self.now)
            late = self.now - self.revoked_at.get(number, self.now)
            if isinstance(seen, Fresh) and usable(seen.key, 0.0):
                assert late < FRESH_S
            if isinstance(seen, Known) and usable(seen.key, 0.0):
                assert late < WINDOW_S


test_no_order_of_events_lets_a_revoked_key_work_too_long = Windows.TestCase


@given(st.lists(st.integers(min_value=0, max_value=50), max_size=60))
def test_ids_and_digests_stay_in_step(numbers: list[int]) -> None:
    window = KeyWindow()
    for number in numbers:
        key = client_key(number)
        window.remember(key.digest, key if number % 3 else None, float(number))

    assert len(window.due(50.0)) == len(window.sightings())


def test_an_older_answer_to_a_look_up_does_not_take_a_revocation_back() -> None:
    window = window_with()
    revoked = client_key(1, revoked=True)
    window.confirm({KEY.id: revoked}, (KEY.id,), 15.0)
    window.remember(KEY.digest, KEY, 12.9)

    assert window.look(KEY.digest, 15.8) == Fresh(revoked)


def test_a_key_unused_for_long_is_not_due_and_counts_until_its_verdict_is_too_old() -> None:
    window = window_with()
    window.confirm({KEY.id: KEY}, (KEY.id,), 295.0)

    assert window.due(WINDOW_S) == ()
    assert window.look(KEY.digest, 305.0) == Known(KEY)
