import asyncio
import json
import os
import pty
import select
import signal
import sys
from collections.abc import Iterator

import pytest

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.app.cli.failed import CommandFailed
from ktms.app.cli.top import watch
from ktms.domain.access.actor import Role
from ktms.domain.capacity.fleet_status import FleetStatus, NodeStatus
from ktms.domain.ids import NodeName
from tests.app.cli.terminal import Terminal

FLEET = FleetStatus(
    known=True, nodes=(NodeStatus(NodeName("mac-1"), "ollama", "healthy", draining=False, busy=1, slots=4),)
)
WITHIN_S = 30.0


async def test_one_look_is_plain_text_in_a_pipe(terminal: Terminal) -> None:
    terminal.stage.fleet = FLEET
    result = await terminal.run("top", "--once")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == f"{terminal.stage.address}: 1 node, 1 of 4 slots taken, 0 waiting"
    assert lines[3].split()[:3] == ["mac-1", "healthy", "ollama"]
    assert "\x1b" not in result.stdout


async def test_one_look_is_one_line_of_json(terminal: Terminal) -> None:
    terminal.stage.fleet = FLEET
    result = await terminal.run("top", "--once", "--json")
    assert result.stdout.count("\n") == 1
    assert json.loads(result.stdout)["nodes"][0]["name"] == "mac-1"


async def test_a_gateway_that_is_not_there_is_said_in_one_line(terminal: Terminal) -> None:
    result = await terminal.run("top", KTMS_ADMIN_ADDR="127.0.0.1:1")
    assert result.exit_code == 1
    assert result.stderr.startswith("ktms: no gateway answers at 127.0.0.1:1")
    assert result.stdout == ""


async def test_an_interval_that_nobody_can_see_is_refused(terminal: Terminal) -> None:
    result = await terminal.run("top", "--interval", "0.1")
    assert (result.exit_code, "0.5<=x<=3600" in result.stderr) == (2, True)


@pytest.mark.parametrize("given", ["nan", "NaN", "inf"])
async def test_an_interval_that_is_no_number_is_wrong_usage(terminal: Terminal, given: str) -> None:
    result = await terminal.run("top", "--interval", given)
    assert (result.exit_code, "Invalid value for '--interval'" in result.stderr) == (2, True)


class Gateway:
    """Answers look by look: an error where one is told."""

    def __init__(self, *answers: str) -> None:
        self._answers: Iterator[str] = iter(answers)
        self.pauses: list[float] = []

    def ask(self) -> admin_pb2.GetFleetResponse:
        if next(self._answers) == "away":
            raise CommandFailed("no gateway answers")
        return admin_pb2.GetFleetResponse(known=True)

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if len(self.pauses) == 3:
            raise KeyboardInterrupt


def test_a_look_that_fails_is_shown_and_the_next_one_asked() -> None:
    gateway = Gateway("here", "away", "here")
    seen: list[object] = []
    with pytest.raises(KeyboardInterrupt):
        watch(gateway.ask, seen.append, gateway.pause, 2.0)
    assert [isinstance(each, CommandFailed) for each in seen] == [False, True, False]
    assert gateway.pauses == [2.0, 2.0, 2.0]


def test_a_first_look_that_fails_ends_the_watch() -> None:
    gateway = Gateway("away")
    with pytest.raises(CommandFailed):
        watch(gateway.ask, lambda _: None, gateway.pause, 2.0)


async def test_ctrl_c_in_a_pipe_ends_it_cleanly(terminal: Terminal) -> None:
    terminal.stage.fleet = FLEET
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=_environment(terminal),
    )
    assert process.stdout is not None
    async with asyncio.timeout(WITHIN_S):
        first, second = await process.stdout.readline(), b""
        while second != first:
            second = await process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = await process.communicate()
    assert (process.returncode, errors) == (0, b"")


async def test_an_output_that_takes_no_more_is_said_in_one_line(terminal: Terminal) -> None:
    terminal.stage.fleet = FLEET
    for args in (("--once",), ("--once", "--json"), ()):
        full = os.open("/dev/full", os.O_WRONLY)
        process = await asyncio.create_subprocess_exec(
            *COMMAND, *args, stdout=full, stderr=asyncio.subprocess.PIPE, env=_environment(terminal)
        )
        os.close(full)
        async with asyncio.timeout(WITHIN_S):
            _, errors = await process.communicate()
        said = b"ktms: standard output cannot be written to: No space left on device\n"
        assert (process.returncode, errors) == (1, said)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 128 + signal.SIGTERM)])
async def test_a_terminal_is_given_back_as_it_was(terminal: Terminal, number: signal.Signals, code: int) -> None:
    terminal.stage.fleet = FLEET
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=theirs, stdout=theirs, stderr=theirs, env=_environment(terminal)
    )
    os.close(theirs)
    seen = b""
    async with asyncio.timeout(WITHIN_S):
        while seen.count(b"mac-1") < 2:
            seen += await asyncio.to_thread(_read, ours)
        process.send_signal(number)
        while (piece := await asyncio.to_thread(_read, ours)) != b"":
            seen += piece
        assert await process.wait() == code
    os.close(ours)
    assert seen.count(b"\x1b[?1049h") == seen.count(b"\x1b[?1049l") == 1
    assert seen.count(b"\x1b[?25l") == seen.count(b"\x1b[?25h")
    assert b"Traceback" not in seen


COMMAND = (sys.executable, "-c", "from ktms.app.cli import main; main()", "top", "--interval", "0.5")


def _read(descriptor: int) -> bytes:
    """Read what a terminal says; empty once nobody holds its other end."""
    select.select([descriptor], [], [], WITHIN_S)
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


def _environment(terminal: Terminal) -> dict[str, str]:
    known = {name: value for name, value in terminal.environment.items() if value is not None}
    role = {"KTMS_ADMIN_KEY": terminal.stage.tokens[Role.VIEWER]}
    return {"PATH": "/usr/bin:/bin", "TERM": "xterm-256color", "LANG": "C.UTF-8", **known, **role}
