import asyncio
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

from sim.interpreter import Order
from sim.outcome_row import Told
from sim.seed import SEED_MAX
from sim.swarm import SLOWEST_MAX, Bounds, Tally, orders, swarm
from tests.sim.outcomes import SOUND, broke, failed


class Runs:
    """Runs worlds by a rule, each in so many turns of the loop; keeps which it was asked for."""

    def __init__(self, rule: Callable[[Order], Told], turns: int = 1) -> None:
        self.asked: list[Order] = []
        self._rule = rule
        self._turns = turns

    async def run(self, order: Order) -> Told:
        self.asked.append(order)
        for _ in range(self._turns):
            await asyncio.sleep(0)
        return self._rule(order)


def sound(order: Order) -> Told:
    return Told(replace(SOUND, seed=order.seed, scenario=order.scenario), {"cut": 1})


async def run_worlds(bounds: Bounds, *processes: Runs, worlds: Iterator[Order] | None = None) -> Tally:
    tally = Tally()
    await swarm(worlds or orders(1, ["explore-ports"]), processes, bounds, tally, lambda: None)
    return tally


def test_worlds_count_seeds_up_and_take_scenarios_in_turn() -> None:
    first = itertools.islice(orders(5, ["a", "b"]), 3)
    assert [(order.seed, order.scenario) for order in first] == [(5, "a"), (6, "b"), (7, "a")]


def test_seeds_begin_anew_after_the_last_one() -> None:
    assert [order.seed for order in itertools.islice(orders(SEED_MAX, ["a"]), 2)] == [SEED_MAX, 0]


async def test_a_swarm_runs_so_many_worlds_and_no_more() -> None:
    tally = await run_worlds(Bounds(worlds=7), Runs(sound), Runs(sound))
    assert (tally.worlds, tally.stopped) == (7, "worlds")


async def test_every_world_is_run_once() -> None:
    processes = Runs(sound, turns=1), Runs(sound, turns=3)
    await run_worlds(Bounds(worlds=20), *processes)
    assert sorted(order.seed for each in processes for order in each.asked) == list(range(1, 21))


async def test_a_slow_process_does_not_hold_up_the_others() -> None:
    quick, slow = Runs(sound, turns=1), Runs(sound, turns=20)
    await run_worlds(Bounds(worlds=20), quick, slow)
    assert len(quick.asked) > 3 * len(slow.asked)


async def test_enough_failures_end_a_swarm() -> None:
    runs = Runs(lambda order: Told(failed(order.seed, "I1 x")) if order.seed % 10 == 0 else sound(order))
    tally = await run_worlds(Bounds(failures_max=2), runs)
    assert ([outcome.seed for outcome in tally.failures], tally.stopped) == ([10, 20], "failures")


async def test_a_broken_world_is_a_failure_too() -> None:
    tally = await run_worlds(Bounds(failures_max=1), Runs(lambda order: Told(broke(order.seed, "hung: x"))))
    assert [outcome.broken for outcome in tally.failures] == ["hung: x"]


async def test_a_swarm_ends_when_its_time_is_over() -> None:
    tally = await run_worlds(Bounds(seconds=0.02), Runs(sound))
    assert tally.stopped == "time"


async def test_each_world_that_ended_is_heard_of() -> None:
    tally, heard = Tally(), list[int]()
    await swarm(orders(1, ["a"]), [Runs(sound)], Bounds(worlds=3), tally, lambda: heard.append(tally.worlds))
    assert heard == [1, 2, 3]


def test_a_tally_counts_what_worlds_met() -> None:
    tally = Tally()
    for seed in (1, 2):
        tally.add(sound(Order("explore-ports", seed)))
    counted = tally.scenarios, tally.marks, tally.active, tally.seen, tally.faults
    assert counted == ({"explore-ports": 2}, {"call.retried": 2}, {"FV1": 2}, {"FV1": 2}, {"cut": 2})


def test_a_tally_keeps_the_slowest_worlds_slowest_first() -> None:
    tally = Tally()
    for wall_s in (1.0, 9.0, 3.0, 4.0, 8.0, 2.0, 7.0):
        tally.add(Told(replace(SOUND, wall_s=wall_s)))
    assert [outcome.wall_s for outcome in tally.slowest] == [9.0, 8.0, 7.0, 4.0, 3.0][:SLOWEST_MAX]


def test_failures_are_told_by_their_code_the_smallest_world_first() -> None:
    tally = Tally()
    for outcome in (failed(1, "I1 x", timers=50), failed(2, "I4 y"), failed(3, "I1 z", timers=10)):
        tally.add(Told(outcome))
    told = {code: [outcome.seed for outcome in outcomes] for code, outcomes in tally.by_code().items()}
    assert told == {"I1": [3, 1], "I4": [2]}
