"""From the options to the exit code, on this machine, where nothing is installed."""

import argparse
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ktms.node.install import options, running
from ktms.node.install.__main__ import main, parser


@pytest.fixture(autouse=True)
def scratch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A folder; what an installer changes of its process is put back."""
    monkeypatch.setattr(running, "TERMINAL", tmp_path / "no-terminal")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    mask = os.umask(0o022)
    yield tmp_path
    os.umask(mask)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def words(tmp_path: Path, *more: str) -> list[str]:
    engine = ("--engine", "vllm", "--engine-url", "http://127.0.0.1:1")
    return ["--home", str(tmp_path / "home"), "--gateway", "http://127.0.0.1:1", *engine, *more]


def test_what_stands_in_the_way_is_said_and_is_exit_code_2(
    scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words(scratch)) == running.EXIT_REFUSED
    assert "ktms-node: no node key is given; put it into the variable KTMS_NODE_KEY" in capsys.readouterr().err


def test_an_impossible_option_is_said_in_one_line(scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(scratch, "--slots", "0")) == running.EXIT_FAILED
    assert capsys.readouterr().err.count("\n") == 1


def test_without_a_wheel_there_is_nothing_to_install(scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(scratch, "--key", "ktms_node_x")) == running.EXIT_REFUSED
    assert "the agent is not installed" in capsys.readouterr().err


def test_removing_what_is_not_there_is_well(scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--home", str(scratch / "home"), "--uninstall", "--yes"]) == running.EXIT_OK
    assert "no node is installed" in capsys.readouterr().err
    assert not (scratch / "home").exists()


def test_an_owner_at_a_terminal_is_asked_before_anything_is_removed(scratch: Path) -> None:
    terminal = scratch / "no-terminal"
    terminal.write_text("")
    home = scratch / "home"
    home.mkdir()
    (home / "node.json").write_text("{}")
    assert main(["--home", str(home), "--uninstall"]) == running.EXIT_REFUSED
    assert (home / "node.json").exists()
    assert "Do this? [y/N]" in terminal.read_text()


def test_the_script_takes_what_the_command_takes_and_two_more() -> None:
    command = argparse.ArgumentParser()
    options.add(command)
    known = {option for action in command._actions for option in action.option_strings}
    assert set(parser()._option_string_actions) - known == {"--uninstall", "--doctor"}
