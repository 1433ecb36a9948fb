"""Real processes: a world that hangs ends its own."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sim.commit import commit_here

SCRIPT = """
import sys
from sim.cli import main
from sim.draft import Draft, Level
from sim.scenarios.catalogue import ALL_SCENARIOS
from sim.scenarios.scenario import Scenario, nothing_special

def spins_for_ever(seed):
    print("it has begun", file=sys.stderr, flush=True)
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass

def passes(seed):
    return Draft(Level.PORTS, runs_s=5.0)

for draft in (spins_for_ever, passes):
    ALL_SCENARIOS[draft.__name__] = Scenario(draft.__name__, "", (), draft, nothing_special)
main()
"""

LINE = f"KTMS_SIM={commit_here()} seed=1 scenario=spins_for_ever plan=- hash=-"

HANGS = ("--seed", "1", "--scenario", "spins_for_ever", "--wall", "0.3")

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    script = tmp_path / "worlds_of_tests.py"
    script.write_text(SCRIPT)
    return lambda *words: subprocess.Popen(
        [sys.executable, str(script), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    with process:
        said, told = process.communicate(timeout=60)
    return process.returncode, said, told


def test_a_world_that_hangs_ends_with_three_and_its_line(start: Start) -> None:
    code, said, _ = ended(start("run", *HANGS))
    assert (code, said.splitlines()[-1]) == (3, LINE)
    assert "hung: no end within 0.3 s" in said


def test_a_world_that_hangs_tells_where_it_stood_and_not_what_led_to_it(start: Start) -> None:
    _, said, _ = ended(start("run", *HANGS))
    assert "in spins_for_ever" in said
    assert "click" not in said


def test_programs_are_told_of_a_world_that_hangs_in_json(start: Start) -> None:
    row = json.loads(ended(start("run", *HANGS, "--json"))[1])
    assert (row["hash"], row["broken"].startswith("hung: ")) == ("-", True)


def test_a_replay_that_hangs_ends_with_three(start: Start) -> None:
    code, said, _ = ended(start("replay", LINE, "--wall", "0.3"))
    assert (code, said.splitlines()[-1]) == (3, LINE)


def test_a_world_that_ends_in_its_time_is_left_alone(start: Start) -> None:
    code, said, _ = ended(start("run", "--seed", "1", "--scenario", "passes", "--wall", "30"))
    assert (code, said.splitlines()[-1]) == (0, "ok")


def test_a_line_of_a_hung_world_that_ends_now_is_another_run(start: Start) -> None:
    code, _, told = ended(start("replay", LINE.replace("spins_for_ever", "passes")))
    assert (code, told.startswith("this is another run: hash ")) == (1, True)
    assert told.splitlines()[0].endswith(" instead of -")


def test_ctrl_c_tells_where_the_world_stood(start: Start) -> None:
    process = start("run", "--seed", "1", "--scenario", "spins_for_ever")
    assert process.stderr is not None
    assert process.stderr.readline() == "it has begun\n"
    process.send_signal(signal.SIGINT)
    code, said, told = ended(process)
    assert (code, said) == (130, "")
    assert told.startswith("interrupted after ")
    assert "in spins_for_ever" in told


@pytest.mark.parametrize("command", [("run", "--twice"), ("diverge",)])
def test_two_processes_have_the_same_limit(command: tuple[str, ...]) -> None:
    # No world is over that soon.
    done = subprocess.run(
        [sys.executable, "-m", "sim", *command, "--seed", "1", "--wall", "0.001"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "hung: no end within 0.001 s" in done.stdout) == (3, True), done
    assert f"KTMS_SIM={commit_here()} seed=1 scenario=explore plan=- hash=-\n" in done.stdout


def test_shrinking_has_the_same_limit_for_each_of_its_worlds() -> None:
    line = f"KTMS_SIM={commit_here()} seed=1 scenario=explore-ports plan=- hash=-"
    done = subprocess.run(
        [sys.executable, "-m", "sim", "shrink", line, "--wall", "0.001", "--tries", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "it fails with 'hung'" in done.stderr
    assert "hung: no end within 0.001 s" in done.stdout
