import asyncio

import pytest

from ktms.domain.capacity.seat import NodeState, Seat
from ktms.engine import loads as module
from ktms.engine.loads import LOAD_AGAIN_S, Loads
from tests.engine.machines import machine, machines
from tests.engine.rig import snapshot
from tests.engine.virtual_loop import settle

NOW = 1_000.0
UNKNOWN_S = 60.0
ONE, TWO = (
    Seat(NodeState(node, node.slots), next(iter(node.windows)), None, cold=True)
    for node in snapshot(machines(machine("mac-1"), machine("mac-2"))).nodes
)


async def test_loads_are_given_in_the_order_in_which_they_were_wanted() -> None:
    loads = Loads()
    for seat in (TWO, ONE):
        loads.want(seat, NOW)
    assert [await loads.next(), await loads.next()] == [TWO, ONE]


async def test_whoever_loads_waits_until_one_is_wanted() -> None:
    loads = Loads()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(loads.next())
        await settle()
        assert not waiting.done()
        loads.want(ONE, NOW)
    assert waiting.result() is ONE


async def test_a_load_that_is_wanted_or_under_way_is_not_wanted_again() -> None:
    loads = Loads()
    loads.want(ONE, NOW)
    loads.want(ONE, NOW)
    loads.began(await loads.next(), NOW)
    loads.want(ONE, NOW)
    loads.want(TWO, NOW)
    assert await loads.next() is TWO


@pytest.mark.parametrize(("loaded", "wait_s"), [(True, 0.0), (False, LOAD_AGAIN_S)])
async def test_a_load_that_is_over_may_be_wanted_again(loaded: bool, wait_s: float) -> None:
    loads = Loads()
    loads.want(ONE, NOW)
    loads.began(await loads.next(), NOW)
    loads.ended(ONE, NOW + 5, loaded=loaded)
    loads.want(ONE, NOW + 5 + wait_s)
    assert await loads.next() is ONE


async def test_a_load_that_failed_is_not_begun_anew_at_every_call() -> None:
    loads = Loads()
    loads.want(ONE, NOW)
    loads.began(await loads.next(), NOW)
    loads.ended(ONE, NOW + 5, loaded=False)
    loads.want(ONE, NOW + 5.1)
    loads.want(TWO, NOW + 5.1)
    assert await loads.next() is TWO


async def test_wishes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WANTED_MAX", 1)
    loads = Loads()
    loads.want(ONE, NOW)
    loads.want(TWO, NOW)
    assert await loads.next() is ONE
    loads.want(TWO, NOW)
    assert await loads.next() is TWO


def test_nobody_knows_how_long_the_first_load_takes() -> None:
    assert Loads().ready_in(ONE, NOW, UNKNOWN_S) == UNKNOWN_S


def test_the_next_load_is_expected_to_take_as_long_as_the_last() -> None:
    loads = Loads()
    loads.began(ONE, NOW)
    loads.ended(ONE, NOW + 7, loaded=True)
    assert loads.ready_in(ONE, NOW + 100, UNKNOWN_S) == 7
    assert loads.ready_in(TWO, NOW + 100, UNKNOWN_S) == UNKNOWN_S


def test_a_load_that_failed_says_nothing_about_its_time() -> None:
    loads = Loads()
    loads.began(ONE, NOW)
    loads.ended(ONE, NOW + 1, loaded=False)
    assert loads.ready_in(ONE, NOW + 100, UNKNOWN_S) == UNKNOWN_S


@pytest.mark.parametrize(("after_s", "left_s"), [(10, 50), (60, 0), (90, 0)])
def test_what_is_under_way_is_expected_sooner(after_s: float, left_s: float) -> None:
    loads = Loads()
    loads.began(ONE, NOW)
    assert loads.ready_in(ONE, NOW + after_s, UNKNOWN_S) == left_s
