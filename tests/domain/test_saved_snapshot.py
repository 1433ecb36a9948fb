import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.access.client_key import ClientKey
from ktms.domain.access.key_window import Sighting
from ktms.domain.catalogue import ChainSpec
from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.domain.ids import KeyId, TenantName, VendorKeyId
from ktms.domain.saved_snapshot import AgedKey, Moment, Restored, SavedSnapshot, TooOld, restored, saved_snapshot
from tests.engine.rig import CATALOGUE, snapshot

WINDOW_S = 300.0
WALL = 1_790_000_000.0
SAVED_AT = Moment(WALL, 500.0)
KEY = ClientKey(KeyId("0" * 10), bytes(32), "app", TenantName("default"))


def saved(*verified_ago_s: float, answered_ago_s: float = 1.0, confirmed_ago_s: float = 2.0) -> SavedSnapshot:
    """Save at SAVED_AT what was verified so many seconds before it."""
    now = 500.0
    return saved_snapshot(
        snapshot(),
        [Sighting(KEY, now - ago_s, now) for ago_s in verified_ago_s],
        confirmed_at=now - confirmed_ago_s,
        answered_at=now - answered_ago_s,
        now=SAVED_AT,
    )


def after(seconds: float, *, wall_jump_s: float = 0.0, restarted: bool = False) -> Moment:
    """Give the moment so much later, as both clocks tell it."""
    return Moment(WALL + seconds + wall_jump_s, None if restarted else 500.0 + seconds)


def judged(found: Restored | TooOld) -> Restored:
    assert isinstance(found, Restored)
    return found


def ages(found: Restored | TooOld) -> list[float]:
    return [key.age_s for key in judged(found).keys]


def test_a_key_is_saved_with_the_wall_time_of_its_verification() -> None:
    assert [key.verified_at for key in saved(7.0, 0.0).keys] == [WALL - 7, WALL]


def test_no_client_key_of_the_file_of_an_operator_is_saved() -> None:
    assert CATALOGUE.client_keys
    with_keys = replace(snapshot(), catalogue=CATALOGUE)
    kept = saved_snapshot(with_keys, (), confirmed_at=0.0, answered_at=0.0, now=SAVED_AT)
    assert kept.catalogue.client_keys == ()


def test_a_digest_that_is_no_key_is_not_saved() -> None:
    kept = saved_snapshot(snapshot(), [Sighting(None, 1, 1)], confirmed_at=0.0, answered_at=0.0, now=SAVED_AT)
    assert kept.keys == ()


def test_what_is_restored_serves_as_before() -> None:
    found = judged(restored(saved(), after(10), WINDOW_S)).snapshot
    assert found.version == 1
    assert found.names.keys() == snapshot().names.keys()


def test_keys_of_vendors_keep_their_ids() -> None:
    kept = replace(saved(), key_ids={"alpha": (VendorKeyId("one"), VendorKeyId("two")), "beta": ()})
    kept = replace(
        kept, catalogue=replace(kept.catalogue, vendors=kept.catalogue.vendors[:1], models=(), chains=())
    )
    (vendor,) = judged(restored(kept, after(10), WINDOW_S)).snapshot.vendors
    assert [key.id for key in vendor.keys] == ["one", "two"]


def test_ages_go_on_from_the_saving() -> None:
    found = judged(restored(saved(7.0, answered_ago_s=3.0, confirmed_ago_s=5.0), after(20), WINDOW_S))
    assert (found.answered_ago_s, found.confirmed_ago_s) == (23, 25)
    assert found.keys == (AgedKey(KEY, 27.0),)


def test_a_key_counts_for_the_window_from_its_verification_and_not_longer() -> None:
    assert ages(restored(saved(100.0, 99.0, 0.0), after(200), WINDOW_S)) == [299, 200]


def test_without_an_answer_within_the_window_nothing_is_restored() -> None:
    assert restored(saved(0.0, answered_ago_s=0.0), after(300), WINDOW_S) == TooOld(300)


def test_a_shorter_window_counts_at_the_start() -> None:
    assert restored(saved(0.0, answered_ago_s=0.0), after(30), 20.0) == TooOld(30)


def test_a_wall_clock_set_back_makes_nothing_younger() -> None:
    found = restored(saved(50.0, 0.0, answered_ago_s=60.0), after(200, wall_jump_s=-190.0), WINDOW_S)
    assert ages(found) == [250, 200]


def test_what_was_verified_in_the_future_counts_as_old() -> None:
    kept = saved(100.0, 0.0, answered_ago_s=50.0)
    assert ages(restored(kept, after(10, wall_jump_s=-40.0), WINDOW_S)) == [110]


def test_a_saving_of_the_future_is_too_old() -> None:
    assert restored(saved(answered_ago_s=0.0), after(10, wall_jump_s=-3600.0), WINDOW_S) == TooOld(math.inf)


def test_a_wall_clock_set_forward_ends_keys_early() -> None:
    assert isinstance(restored(saved(0.0), after(10, wall_jump_s=3600.0), WINDOW_S), TooOld)


def test_after_a_restart_of_the_machine_the_wall_clock_alone_counts() -> None:
    assert ages(restored(saved(7.0), after(20, restarted=True), WINDOW_S)) == [27]


def test_a_catalogue_that_breaks_a_rule_of_this_release_is_refused() -> None:
    kept = saved()
    broken = replace(kept.catalogue, chains=(ChainSpec("auto", {"low": ("gone",)}, "low"),))
    with pytest.raises(CatalogueInvalid, match="gone"):
        restored(replace(kept, catalogue=broken), after(1), WINDOW_S)


@given(
    verified_ago_s=st.floats(0, 400),
    later_s=st.floats(0, 1000),
    jump_s=st.floats(-10_000, 10_000),
    window_s=st.floats(10, 300),
)
def test_no_jump_of_the_wall_lets_a_key_outlive_its_window_while_the_machine_stays_up(
    verified_ago_s: float, later_s: float, jump_s: float, window_s: float
) -> None:
    found = restored(saved(verified_ago_s, answered_ago_s=0.0), after(later_s, wall_jump_s=jump_s), window_s)
    if isinstance(found, Restored) and found.keys:
        assert verified_ago_s + later_s < window_s + 1e-3
        assert found.keys[0].age_s >= verified_ago_s + later_s - 1e-3
