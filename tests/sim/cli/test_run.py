import json
from pathlib import Path

import pytest

from sim.commit import commit_here
from sim.planted.bug import planted
from sim.planted.bugs import PLANTED
from sim.planted.hunt import Catch, hunt
from sim.run import run
from sim.scenarios.catalogue import SCENARIOS
from tests.sim.cli.shell import EMPTY, sim

BUG = next(bug for bug in PLANTED if bug.id == "cloud-though-nodes-only")


@pytest.fixture(scope="module")
def caught() -> Catch:
    """Give a world in which a bug shows."""
    found = hunt(BUG, lambda scenario, seed: run(SCENARIOS[scenario], seed).outcome)
    assert found is not None
    return found


def test_a_sound_world_ends_with_zero_and_ok() -> None:
    done = sim("run", "--seed", "1", "--plan", EMPTY)
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "ok")


def test_the_summary_names_world_and_hash() -> None:
    outcome = run(SCENARIOS["explore"], 1).outcome
    first = sim("run", "--seed", "1").stdout.splitlines()[0]
    assert first.startswith("explore seed 1: ")
    assert first.endswith(f"hash {outcome.hash}")


def test_a_seed_may_be_hexadecimal() -> None:
    assert json.loads(sim("run", "--seed", "0x2a", "--json").stdout)["seed"] == 42


def test_json_has_what_programs_need() -> None:
    row = json.loads(sim("run", "--seed", "1", "--json").stdout)
    assert row.keys() >= {"seed", "hash", "ok", "violations", "simulated_s", "wall_s", "plan", "marks", "line"}


def test_another_seed_is_another_world() -> None:
    hashes = {json.loads(sim("run", "--seed", seed, "--json").stdout)["hash"] for seed in "12"}
    assert len(hashes) == 2


def test_a_plan_changes_the_world() -> None:
    drawn = json.loads(sim("run", "--seed", "1", "--json").stdout)
    edited = json.loads(sim("run", "--seed", "1", "--plan", EMPTY, "--json").stdout)
    assert edited["calls"] < drawn["calls"]


def test_twice_gives_the_same() -> None:
    done = sim("run", "--seed", "2", "--twice")
    assert "twice the same: " in done.stdout


def test_twice_tells_programs_that_both_are_alike() -> None:
    row = json.loads(sim("run", "--seed", "2", "--twice", "--json").stdout)
    assert (row["alike"], row["second_hash"]) == (True, row["hash"])


def test_a_timeline_is_told_before_the_summary() -> None:
    lines = sim("run", "--seed", "1", "--plan", EMPTY, "--timeline").stdout.splitlines()
    assert "world seed=1 scenario=explore level" in lines[0]
    assert lines[-1] == "ok"


def test_a_journal_is_written_as_lines_of_json(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    sim("run", "--seed", "1", "--journal", str(path))
    assert json.loads(path.read_text().splitlines()[0])["kind"] == "world"


def test_a_journal_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    done = sim("run", "--seed", "1", "--journal", str(tmp_path / "gone" / "facts"))
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_timeline_of_everything_is_longer() -> None:
    world = ("run", "--seed", "1", "--plan", EMPTY, "--timeline")
    assert sim(*world, "--all").stdout.count("\n") > sim(*world).stdout.count("\n")


def test_capitals_of_a_scenario_do_not_matter() -> None:
    row = json.loads(sim("run", "--seed", "1", "--plan", EMPTY, "--scenario", "Explore-PORTS", "--json").stdout)
    assert row["scenario"] == "explore-ports"


def test_a_timeline_has_the_violations_in_their_place(caught: Catch) -> None:
    with planted(BUG):
        done = sim("run", "--seed", str(caught.outcome.seed), "--scenario", BUG.scenario, "--timeline")
    lines = done.stdout.splitlines()
    told = next(at for at, line in enumerate(lines) if f"!! {caught.outcome.violations[0]}" in line)
    assert told < next(at for at, line in enumerate(lines) if line.endswith("phase over"))


def test_a_violation_ends_with_one_and_the_line_that_replays_it(caught: Catch) -> None:
    with planted(BUG):
        done = sim("run", "--seed", str(caught.outcome.seed), "--scenario", BUG.scenario)
    assert done.exit_code == 1
    assert f"violated: {caught.outcome.violations[0]}" in done.stdout
    assert done.stdout.splitlines()[-1] == caught.outcome.line(commit_here())


def test_a_replay_tells_the_story_and_finds_the_same_hash(caught: Catch) -> None:
    with planted(BUG):
        done = sim("replay", caught.outcome.line(commit_here()))
    assert done.exit_code == 1
    assert "phase heal" in done.stdout
    assert "the same run as then: the hash is equal" in done.stdout


def test_a_replay_of_a_run_that_is_another_now_says_so(caught: Catch) -> None:
    done = sim("replay", caught.outcome.line(commit_here()))  # the bug is mended
    assert (done.exit_code, "this is another run: hash " in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--seed", "1", "--scenario", "explroe"), "there is no scenario 'explroe': did you mean explore"),
        (("--seed", "1", "--scenario", "zzz"), "`ktms-sim list` names them all"),
        (("--seed", "1", "--scenario", "zzz"), " (a new file is named in sim/scenarios/catalogue.py)"),
        (("--seed", "1", "--scenario", "fp4"), "did you mean fp4-snapshot?"),
        (("--seed", "one"), "give a whole number from 0 to 2^64 - 1"),
        (("--seed", "1", "--plan", "eJx"), "the plan is garbled"),
    ],
)
def test_bad_input_is_told_in_one_line(words: tuple[str, ...], wanted: str) -> None:
    done = sim("run", *words)
    assert (done.exit_code, done.stderr.count("\n"), wanted in done.stderr) == (2, 1, True), done.stderr
