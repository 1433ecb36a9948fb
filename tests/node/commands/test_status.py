import argparse
import json
import os
from pathlib import Path

import pytest

from ktms.node.commands.options import home_of
from ktms.node.commands.status import EXIT_AWAY, EXIT_RUNS, add, lines, main
from ktms.node.release import release
from ktms.node.said import Place
from ktms.node.status import Known, status_of, write_status
from ktms.node.tunnel import TunnelState
from tests.node.nodes import seen, settings


def status(pid: int = 1, problem: str | None = None) -> dict[str, object]:
    known = Known(
        settings=settings("https://gw.example"),
        state=seen(),
        place=Place("http://10.0.0.7:8790"),
        tunnel=TunnelState(),
        problem=problem,
        accepted=("qwen3:4b",),
        ignored=(),
        said=None,
        pid=pid,
        version="1.2.3",
    )
    return status_of(known)


def options(home: Path, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add(parser)
    return parser.parse_args(["--home", str(home), *words])


def test_what_an_agent_knows_is_told_in_a_few_lines() -> None:
    assert list(lines(status())) == [
        "agent    1.2.3, process 1, serving",
        "gateway  https://gw.example: announced",
        "reached  http://10.0.0.7:8790",
        "engine   ollama 0.32.1 answers, 4 slots",
        "  qwen3:4b  loaded, 8192 tokens",
        "  llama3:latest  not loaded",
    ]


def test_what_keeps_it_from_being_announced_is_told() -> None:
    assert "gateway  https://gw.example: the key is refused" in list(lines(status(problem="the key is refused")))


def test_an_agent_that_runs_is_shown_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_status(tmp_path / "status.json", status(os.getpid()))
    assert main(options(tmp_path, "--json")) == EXIT_RUNS
    assert json.loads(capsys.readouterr().out)["accepted"] == ["qwen3:4b"]


def test_where_no_agent_ever_ran_the_doctor_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(options(tmp_path)) == EXIT_AWAY
    assert "ktms-node doctor" in capsys.readouterr().err


def test_what_an_agent_that_died_left_behind_is_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_status(tmp_path / "status.json", status(pid=2**22 + 1))
    assert main(options(tmp_path)) == EXIT_AWAY
    assert capsys.readouterr().out == ""


def test_the_folder_is_the_users_own_unless_named(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add(parser)
    assert home_of(parser.parse_args([])).folder == Path.home() / ".ktms"
    assert home_of(options(tmp_path)).folder == tmp_path


def test_a_checkout_knows_its_release() -> None:
    assert release()[0].isdigit()


@pytest.mark.parametrize("rest", [{}, {"engine": 3}, {"engine": {"models": [{}, 1]}}, {"engine": {"models": 1}}])
def test_what_an_agent_of_another_release_wrote_is_shown_as_far_as_it_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rest: dict[str, object]
) -> None:
    write_status(tmp_path / "status.json", {"pid": os.getpid(), "version": "9.9", **rest})
    assert main(options(tmp_path)) == EXIT_RUNS
    assert capsys.readouterr().out.startswith(f"agent    9.9, process {os.getpid()}")


@pytest.mark.parametrize("pid", [0, -1, 10**30, "1", None])
def test_a_number_that_no_process_has_is_no_agent(tmp_path: Path, pid: object) -> None:
    write_status(tmp_path / "status.json", {**status(), "pid": pid})
    assert main(options(tmp_path)) == EXIT_AWAY
