from ktms.adapters.memory.clock import ManualClock
from ktms.engine.current import Current
from tests.engine.rig import snapshot


def test_without_a_snapshot_the_version_is_nought() -> None:
    current = Current(None, ManualClock())
    assert (current.snapshot, current.version) == (None, 0)


def test_a_swap_puts_the_newer_snapshot_in_force() -> None:
    current = Current(snapshot(version=1), ManualClock())
    newer = snapshot(version=2)
    current.swap(newer)
    assert (current.snapshot, current.version) == (newer, 2)


def test_the_age_is_the_time_since_the_last_confirmation() -> None:
    clock = ManualClock()
    current = Current(snapshot(), clock)
    clock.advance(7)
    assert current.age_s == 7
    current.confirm()
    clock.advance(2)
    assert current.age_s == 2
    current.swap(snapshot(version=2))
    assert current.age_s == 0


def test_a_jump_of_the_wall_is_not_noticed() -> None:
    clock = ManualClock()
    current = Current(snapshot(), clock)
    clock.jump_wall(86_400)
    assert current.age_s == 0


def test_a_saved_snapshot_is_as_old_as_its_confirmation_until_the_store_answers() -> None:
    clock = ManualClock()
    current = Current(None, clock)
    current.restore(snapshot(version=3), clock.monotonic() - 40)
    assert (current.version, current.saved, current.age_s) == (3, True, 40)
    current.swap(snapshot(version=3))
    assert (current.saved, current.age_s) == (False, 0)
