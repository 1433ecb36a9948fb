"""The agent's environment: by hash, ready-made packages alone, nothing beside our folder (for real: in e2e)."""

from pathlib import Path

import pytest

from ktms.node.install.actions import InstallAgent
from ktms.node.install.agent_environment import install_agent, requirements
from ktms.node.install.refused import Refused
from tests.node.recordings import RecordedMachine, linux


def machine() -> RecordedMachine:
    made = linux()
    made.answers("env")
    return made


@pytest.fixture
def what(tmp_path: Path) -> InstallAgent:
    venv = tmp_path / "venv"
    return InstallAgent("/usr/bin/python3.12", venv, Path("/w/a.whl"), "ab" * 32, venv / "mark")


def words(made: RecordedMachine) -> list[str]:
    return [" ".join(one) for one in made.asked]


def test_packages_come_by_hash_and_ready_made_and_the_agent_without_a_registry(what: InstallAgent) -> None:
    made = machine()
    install_agent(made, what)
    by_hash, agent = words(made)[-2:]
    assert "--require-hashes --only-binary :all: --no-deps" in by_hash
    assert agent.endswith("--no-deps --no-index --force-reinstall /w/a.whl")
    assert all("--no-cache-dir" in line for line in (by_hash, agent))


def test_what_would_put_packages_elsewhere_is_taken_out_of_the_environment(what: InstallAgent) -> None:
    made = machine()
    install_agent(made, what)
    assert all("-u PIP_TARGET" in line for line in words(made) if "pip --" in line)


def test_an_environment_that_works_is_kept(what: InstallAgent) -> None:
    made = machine()
    made.answers(str(what.environment / "bin" / "python"))
    install_agent(made, what)
    assert not any("-m venv" in line for line in words(made))


def test_one_that_does_not_is_made_anew(what: InstallAgent) -> None:
    made = machine()
    install_agent(made, what)
    assert any(f"/usr/bin/python3.12 -m venv --clear {what.environment}" in line for line in words(made))


def test_only_what_is_complete_is_marked(what: InstallAgent) -> None:
    made = machine()
    install_agent(made, what)
    assert made.read(what.mark) == "ab" * 32 + "\n"
    broken = linux()
    broken.answers("env", code=1, err="WARNING: x\nERROR: no matching distribution\nmore\n")
    with pytest.raises(Refused, match="ERROR: no matching distribution"):
        install_agent(broken, what)
    assert what.mark not in broken.written


def test_the_mark_of_an_earlier_one_is_gone_while_it_is_replaced(what: InstallAgent) -> None:
    what.environment.mkdir()
    what.mark.write_text("old")
    broken = linux()
    broken.answers("env", code=1)
    with pytest.raises(Refused):
        install_agent(broken, what)
    assert not what.mark.exists()


def test_the_packages_are_the_locked_ones() -> None:
    assert requirements() == (Path(__file__).parents[3] / "ktms/node/requirements.txt").read_text()
