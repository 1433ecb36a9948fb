import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from sim.cli.swarm import TURN
from sim.faults.plan import KINDS
from sim.journal.marks import SOMETIMES
from sim.scenarios.catalogue import SCENARIOS
from tests.sim.cli.shell import sim

FEW = ("swarm", "--worlds", "6", "--scenario", "explore-ports", "--start", "1", "--failures", "99")

WORLDS: list[tuple[str, ...]] = [(), ("--scenario", "explore-ports")]


@pytest.fixture(scope="module")
def row() -> dict[str, object]:
    told = json.loads(sim(*FEW, "--json").stdout)
    assert isinstance(told, dict)
    return told


def test_what_runs_by_default_is_there() -> None:
    assert set(TURN) - SCENARIOS.keys() == set()


def test_so_many_worlds_are_run(row: dict[str, object]) -> None:
    assert (row["worlds"], row["scenarios"], row["stopped"]) == (6, {"explore-ports": 6}, "worlds")


def test_a_start_repeats_the_worlds(row: dict[str, object]) -> None:
    again = json.loads(sim(*FEW, "--json", "--jobs", "1").stdout)
    assert [again[name] for name in ("simulated_s", "marks", "active", "faults")] == [
        row[name] for name in ("simulated_s", "marks", "active", "faults")
    ]


def test_marks_are_hit_or_named_as_never_hit(row: dict[str, object]) -> None:
    hit, never = row["marks"], row["marks_never"]
    assert isinstance(hit, dict)
    assert isinstance(never, list)
    assert sorted([*hit, *never]) == sorted(SOMETIMES)


def test_only_kinds_of_faults_are_counted_as_met(row: dict[str, object]) -> None:
    assert isinstance(row["faults"], dict)
    assert row["faults"].keys() - KINDS.keys() == set()


def test_the_summary_names_the_start_and_the_slowest_worlds() -> None:
    done = sim(*FEW)
    assert "swarm from seed 1 (--start 1 repeats it)" in done.stderr
    assert "slowest" in done.stdout


def test_without_a_start_each_swarm_is_another() -> None:
    starts = {json.loads(sim("swarm", "--worlds", "1", "--json").stdout)["start"] for _ in range(2)}
    assert len(starts) == 2


def test_worlds_that_hang_are_broken_and_end_with_three() -> None:
    # No world is over that soon: each counts as hung.
    done = sim("swarm", "--worlds", "1", "--start", "1", "--jobs", "1", "--wall", "0.001")
    assert done.exit_code == 3
    assert "hung: no end within 0.001 s" in done.stdout
    assert "\nhung: 1 world:\n" in done.stdout
    assert "\nKTMS_SIM=" in done.stdout


def test_the_heading_counts_the_kinds_of_worlds() -> None:
    done = sim("swarm", "--worlds", "1", "--start", "1", "--jobs", "1")
    assert ": 1 explore-ports : 1 storm : 1 fleet : 1 explore : 1 fleet-wire; 1 processes\n" in done.stderr


def test_what_was_never_met_is_told_only_of_the_explorers_in_their_turn() -> None:
    told = [sim("swarm", "--worlds", "1", "--start", "1", "--jobs", "1", *words).stdout for words in WORLDS]
    assert [("never met" in each, "never hit" in each) for each in told] == [(True, True), (False, False)]


@pytest.fixture
def long_swarm() -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "sim", "swarm", "--minutes", "5", "--failures", "99999"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        yield process
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_ctrl_c_gives_the_summary_so_far(long_swarm: "subprocess.Popen[str]") -> None:
    assert long_swarm.stderr is not None
    assert long_swarm.stderr.readline().startswith("swarm from seed ")
    os.killpg(long_swarm.pid, signal.SIGINT)  # as a terminal does: to all of them
    said, _ = long_swarm.communicate(timeout=60)
    assert "; interrupted\n" in said
