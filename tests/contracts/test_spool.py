"""Contract of `ktms/ports/spool.py`: one suite for memory, disk and a simulated world's of both kinds."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ktms.adapters.files.usage_spool import FileUsageSpool
from ktms.adapters.memory.usage_spool import MemoryUsageSpool
from ktms.ports.spool import Spool
from sim.fakes.usage_spool import JournalSpool, SpoolFolder
from sim.journal.journal import Journal
from tests.usage_events import usage_event


def journal() -> Journal:
    return Journal(lambda: 0.0)


MAKERS: dict[str, Callable[[Path], Spool]] = {
    "memory": lambda _: MemoryUsageSpool(),
    "files": FileUsageSpool,
    "sim-memory": lambda _: JournalSpool("gw1", journal(), None, 1000),
    "sim-folder": lambda _: JournalSpool("gw1", journal(), SpoolFolder(), 1000),
}


@pytest.fixture(params=list(MAKERS))
def spool(request: pytest.FixtureRequest, tmp_path: Path) -> Spool:
    return MAKERS[request.param](tmp_path / "spool")


def numbers(spool: Spool, count_max: int = 1000) -> list[int]:
    """Which events it lends, by the number in their ids."""
    return [int(event.id[-6:], 16) for event in spool.oldest(count_max)]


def test_events_are_lent_in_the_order_in_which_they_came(spool: Spool) -> None:
    for number in range(5):
        spool.put(usage_event(number))
    assert numbers(spool) == [0, 1, 2, 3, 4]


def test_an_event_comes_out_as_it_went_in(spool: Spool) -> None:
    spool.put(usage_event(1))
    assert list(spool.oldest(1)) == [usage_event(1)]


def test_no_more_are_lent_than_were_asked_for(spool: Spool) -> None:
    for number in range(5):
        spool.put(usage_event(number))
    assert numbers(spool, 2) == [0, 1]


def test_what_is_lent_is_lent_again_until_it_is_forgotten(spool: Spool) -> None:
    for number in range(4):
        spool.put(usage_event(number))
    spool.oldest(2)
    assert numbers(spool, 2) == [0, 1]
    spool.forget(2)
    assert numbers(spool, 2) == [2, 3]


def test_what_comes_while_some_are_lent_follows_them(spool: Spool) -> None:
    spool.put(usage_event(1))
    spool.oldest(10)
    spool.put(usage_event(2))
    spool.forget(1)
    assert numbers(spool) == [2]


def test_the_depth_counts_lent_ones_too(spool: Spool) -> None:
    for number in range(3):
        spool.put(usage_event(number))
    spool.oldest(2)
    assert spool.depth == 3
    spool.forget(2)
    assert spool.depth == 1


def test_an_empty_spool_lends_nothing(spool: Spool) -> None:
    assert (list(spool.oldest(10)), spool.depth, spool.lost_total) == ([], 0, 0)


def test_it_goes_on_after_it_was_emptied(spool: Spool) -> None:
    for round_ in range(3):
        spool.put(usage_event(round_))
        assert numbers(spool) == [round_]
        spool.forget(1)
    assert spool.depth == 0


def test_closing_twice_is_harmless(spool: Spool) -> None:
    spool.put(usage_event(1))
    spool.close()
    lost = spool.lost_total
    spool.close()
    assert spool.lost_total == lost
