import pytest

from ktms.adapters.memory.usage_spool import MemoryUsageSpool
from tests.usage_events import usage_event


def filled(count: int, events_max: int = 3) -> MemoryUsageSpool:
    spool = MemoryUsageSpool(events_max)
    for number in range(count):
        spool.put(usage_event(number))
    return spool


def kept(spool: MemoryUsageSpool) -> list[int]:
    return [int(event.id[-6:], 16) for event in spool.events]


def test_the_oldest_makes_room_and_is_counted() -> None:
    spool = filled(5)
    assert (kept(spool), spool.lost_total) == ([2, 3, 4], 2)


def test_what_is_lent_is_never_the_one_that_goes() -> None:
    spool = filled(3)
    spool.oldest(1)
    spool.put(usage_event(3))
    assert (kept(spool), spool.lost_total) == ([0, 2, 3], 1)


def test_where_all_are_lent_the_new_one_is_lost() -> None:
    spool = filled(3)
    spool.oldest(3)
    spool.put(usage_event(3))
    assert (kept(spool), spool.lost_total) == ([0, 1, 2], 1)


def test_what_is_left_at_the_end_is_lost_with_the_process() -> None:
    spool = filled(2)
    spool.close()
    assert spool.lost_total == 2


def test_what_comes_after_the_end_is_lost() -> None:
    spool = filled(0)
    spool.close()
    spool.put(usage_event(1))
    assert (kept(spool), spool.lost_total) == ([], 1)


def test_only_what_was_lent_is_forgotten() -> None:
    spool = filled(2)
    with pytest.raises(AssertionError, match="lent"):
        spool.forget(1)
