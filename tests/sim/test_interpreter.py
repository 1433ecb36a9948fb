"""Real processes: `program` is a script that puts worlds of its own beside the catalogue's."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from sim.divergence import first_divergence, read_records
from sim.edit import Edit
from sim.faults.plan import Fault
from sim.interpreter import NO_HASH, Interpreter, Order, read_order, write_order
from sim.run import run
from sim.scenarios.catalogue import ALL_SCENARIOS

SCRIPT = """
import os, sys
from sim.cli import main
from sim.draft import CallDraft, Draft, Level
from sim.scenarios.catalogue import ALL_SCENARIOS
from sim.scenarios.scenario import Scenario, nothing_special

def spins_for_ever(seed):
    while True:
        pass

def dies(seed):
    print("last words", file=sys.stderr, flush=True)
    os._exit(7)

def chatters(seed):
    print("this is no outcome")
    return ALL_SCENARIOS["explore-ports"].draft(seed)

def depends_on_hashes(seed):
    calls = tuple(CallDraft(hash("a") % 1000 / 100) for _ in range(3))
    return Draft(Level.PORTS, calls=calls, runs_s=20.0)

for draft in (spins_for_ever, dies, chatters, depends_on_hashes):
    ALL_SCENARIOS[draft.__name__] = Scenario(draft.__name__, "", (), draft, nothing_special)
sys.argv = ["ktms-sim", "worlds", *sys.argv[1:]]
main()
"""

Start = Callable[..., Interpreter]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    script = tmp_path / "worlds_of_tests.py"
    script.write_text(SCRIPT)
    return lambda wall_max_s=60.0, hash_seed=1: Interpreter(hash_seed, wall_max_s, (str(script),))


def test_an_order_comes_back_from_its_line() -> None:
    order = Order("explore-ports", 7, Edit(faults=(Fault("silent", "cloud-a", 1.0, 2.0),)), "trace", "journal")
    assert read_order(write_order(order)) == order


def test_another_process_comes_to_the_same_hash() -> None:
    async def elsewhere() -> str:
        async with Interpreter(1) as interpreter:
            return (await interpreter.run(Order("explore-ports", 3))).outcome.hash

    assert asyncio.run(elsewhere()) == run(ALL_SCENARIOS["explore-ports"], 3).outcome.hash


async def test_one_process_runs_many_worlds() -> None:
    async with Interpreter(1) as interpreter:
        seeds = [(await interpreter.run(Order("explore-ports", seed))).outcome.seed for seed in (1, 2, 3)]
    assert seeds == [1, 2, 3]


async def test_trace_and_journal_are_written_on_demand(tmp_path: Path) -> None:
    trace, journal = tmp_path / "trace", tmp_path / "journal"
    async with Interpreter(1) as interpreter:
        told = await interpreter.run(Order("explore-ports", 1, trace=str(trace), journal=str(journal)))
    assert len(list(read_records(trace))) == sum(told.outcome.counts.values())
    assert journal.read_text().startswith('{"at": ')


async def test_a_world_that_depends_on_hashes_parts_and_the_record_is_found(start: Start, tmp_path: Path) -> None:
    traces = []
    for hash_seed in (1, 2):
        traces.append(tmp_path / f"trace-{hash_seed}")
        async with start(hash_seed=hash_seed) as interpreter:
            await interpreter.run(Order("depends_on_hashes", 1, trace=str(traces[-1])))
    found = first_divergence(read_records(traces[0]), read_records(traces[1]))
    assert found is not None
    assert found.before


async def test_what_a_world_prints_is_no_outcome(start: Start) -> None:
    async with start() as interpreter:
        assert (await interpreter.run(Order("chatters", 1))).outcome.hash != NO_HASH


async def test_a_world_that_hangs_is_ended_and_tells_where_it_stood(start: Start) -> None:
    async with start(1.0) as interpreter:
        outcome = (await interpreter.run(Order("spins_for_ever", 1))).outcome
    assert outcome.broken.startswith("hung: no end within 1 s")
    assert "in spins_for_ever" in outcome.broken


async def test_a_process_that_dies_leaves_its_code_and_last_words(start: Start) -> None:
    async with start() as interpreter:
        outcome = (await interpreter.run(Order("dies", 1))).outcome
    assert outcome.broken == "died: exit code 7\nlast words"


async def test_a_process_that_dies_late_has_not_hung(start: Start) -> None:
    async with start(0.3) as interpreter:  # it is hardly up by then
        outcome = (await interpreter.run(Order("unknown", 1))).outcome
    assert outcome.broken.startswith("died: exit code 1")


async def test_a_world_without_an_outcome_has_a_line_all_the_same(start: Start) -> None:
    async with start() as interpreter:
        outcome = (await interpreter.run(Order("dies", 9))).outcome
    assert outcome.line("abc") == "KTMS_SIM=abc seed=9 scenario=dies plan=- hash=-"


async def test_after_a_death_the_next_world_meets_a_new_process(start: Start) -> None:
    async with start() as interpreter:
        await interpreter.run(Order("dies", 1))
        assert (await interpreter.run(Order("explore-ports", 1))).outcome.hash != NO_HASH


async def test_closing_twice_is_harmless() -> None:
    interpreter = Interpreter(1)
    await interpreter.run(Order("explore-ports", 1))
    await interpreter.close()
    await interpreter.close()
