import json
from pathlib import Path

import pytest

from sim.commit import commit_here
from sim.edit import read_edit
from sim.run import run
from sim.scenarios.catalogue import SCENARIOS
from tests.sim.cli.shell import EMPTY, sim

HERE = commit_here()

OTHER_HASH = "f" * 16


def with_other_hash(line: str) -> str:
    return f"{line.rpartition('=')[0]}={OTHER_HASH}"


@pytest.fixture(scope="module")
def line() -> str:
    return run(SCENARIOS["explore-ports"], 1, read_edit(EMPTY)).outcome.line(HERE)


def test_a_sound_run_is_replayed_to_the_same_hash(line: str) -> None:
    done = sim("replay", line)
    assert done.exit_code == 0
    assert done.stdout.endswith("the same run as then: the hash is equal\n")


def test_a_line_that_a_shell_has_split_is_put_together(line: str) -> None:
    assert sim("replay", *line.split()).exit_code == 0


def test_everything_is_more_than_the_story(line: str) -> None:
    story, everything = sim("replay", line).stdout, sim("replay", "--all", line).stdout
    assert everything.count("\n") > story.count("\n")


def test_json_says_whether_the_hash_is_the_same(line: str) -> None:
    assert json.loads(sim("replay", "--json", line).stdout)["same_hash"] is True


def test_a_line_of_another_commit_is_refused(line: str) -> None:
    done = sim("replay", line.replace(HERE, "0123456789ab"))
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert f"the line is of commit 0123456789ab, this tree is {HERE}" in done.stderr


def test_a_line_of_another_commit_is_run_anyway_where_that_is_wanted(line: str) -> None:
    assert sim("replay", "--anyway", line.replace(HERE, "0123456789ab")).exit_code == 0


def test_a_line_of_the_same_commit_with_other_changes_is_refused(line: str) -> None:
    other = HERE.removesuffix("+") if HERE.endswith("+") else f"{HERE}+"
    done = sim("replay", line.replace(HERE, other))
    assert (done.exit_code, done.stderr) == (
        2,
        "ktms-sim: the same commit, but this tree (or that one) has changes of its own: --anyway runs it\n",
    )


def test_another_hash_of_another_commit_is_to_be_expected_and_no_success(line: str) -> None:
    done = sim("replay", "--anyway", with_other_hash(line.replace(HERE, "0123456789ab")))
    assert (done.exit_code, "to be expected of another commit" in done.stderr) == (1, True)


def test_a_sound_run_of_another_hash_is_no_success(line: str) -> None:
    done = sim("replay", with_other_hash(line))
    hash_now = line.rpartition("=")[2]
    assert (done.exit_code, done.stderr.splitlines()[0]) == (
        1,
        f"this is another run: hash {hash_now} instead of {OTHER_HASH}",
    )


def test_a_journal_that_cannot_be_written_is_bad_input(line: str, tmp_path: Path) -> None:
    done = sim("replay", line, "--journal", str(tmp_path / "gone" / "facts"))
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("hello", "this is no replay line"),
        (f"KTMS_SIM={HERE} seed=1 scenario=explore-ports plan=-", "the replay line lacks hash=<hex>"),
        (f"KTMS_SIM={HERE} seed=1 scenario=explore-ports plan=- hash=1", "'1' is no hash"),
        (f"KTMS_SIM={HERE} seed=x scenario=explore-ports plan=- hash=-", "is no seed"),
        (f"KTMS_SIM={HERE} seed=1 scenario=explore-ports plan=eJ hash=-", "the plan is garbled"),
        (f"KTMS_SIM={HERE} seed=1 scenario=explorer plan=- hash=-", "did you mean explore"),
    ],
)
def test_a_garbled_line_is_told_in_one_line(text: str, wanted: str) -> None:
    done = sim("replay", text)
    assert (done.exit_code, done.stderr.count("\n"), wanted in done.stderr) == (2, 1, True), done.stderr
