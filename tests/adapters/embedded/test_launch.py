import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from ktms.adapters.embedded.failed import EmbeddedFailed
from ktms.adapters.embedded.launch import Launch, end_orphan, launch
from ktms.adapters.embedded.process import ServerProcess, start
from ktms.adapters.embedded.tcp_port import PORT_RACES_MAX, PORTS_TRIED_MAX, free_port

SIGNALS = ((signal.SIGTERM, 5.0),)

Plan = Callable[..., Launch]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    def make(
        program: str, ready: Callable[[ServerProcess, int], Awaitable[bool]], timeout_s: float = 10.0
    ) -> Launch:
        log = tmp_path / "log"

        def begin(_port: int) -> ServerProcess:
            return start([sys.executable, "-c", program], name="x", log=log, account=None, signals=SIGNALS)

        return Launch("Thing", log, timeout_s, begin, ready, lambda text: text.strip())

    return make


async def never(_process: ServerProcess, _port: int) -> bool:
    return False


async def at_once(_process: ServerProcess, _port: int) -> bool:
    return True


async def test_a_server_is_ready_when_it_says_so(plan: Plan) -> None:
    process, port = await launch(plan("import time; time.sleep(600)", at_once), None)
    assert process.running
    assert port > 0
    await process.stop()
    assert not process.running


async def test_a_server_that_ends_at_once_is_told_with_its_reason(plan: Plan) -> None:
    with pytest.raises(EmbeddedFailed, match=r"Thing does not start: no luck \(see .*log\)"):
        await launch(plan("print('no luck')", never), None)


async def test_a_server_that_says_nothing_is_told_so(plan: Plan) -> None:
    with pytest.raises(EmbeddedFailed, match="it says nothing"):
        await launch(plan("pass", never), None)


async def test_a_server_that_is_never_ready_is_given_up_and_gone(plan: Plan) -> None:
    seen: list[ServerProcess] = []

    async def watched(process: ServerProcess, _port: int) -> bool:
        seen.append(process)
        return False

    with pytest.raises(EmbeddedFailed, match="Thing is not ready after 0 s"):
        await launch(plan("import time; time.sleep(600)", watched, 0.1), None)
    assert not seen[0].running


async def test_a_cancelled_start_leaves_no_server(plan: Plan) -> None:
    seen: list[ServerProcess] = []

    async def stuck(process: ServerProcess, _port: int) -> bool:
        seen.append(process)
        await asyncio.Event().wait()
        return False

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await launch(plan("import time; time.sleep(600)", stuck), None)
    assert not seen[0].running


async def test_a_port_snatched_again_and_again_is_told(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ktms.adapters.embedded.launch.is_free", lambda _port: False)
    with pytest.raises(EmbeddedFailed, match="finds its port taken again and again"):
        await launch(plan("pass", never), None)
    assert PORT_RACES_MAX > 1


def test_ports_that_are_all_taken_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ktms.adapters.embedded.tcp_port.is_free", lambda _port: False)
    with pytest.raises(EmbeddedFailed, match=f"ports 5000 to {5000 + PORTS_TRIED_MAX - 1} are all taken"):
        free_port(5000)


async def test_a_number_that_now_belongs_to_another_program_is_left_alone() -> None:
    await end_orphan(os.getpid(), "/somewhere/postgres", signal.SIGKILL, name="Postgres", timeout_s=1)


async def test_an_orphan_that_does_not_end_is_told_with_its_number(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "up")
    program = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('up', 'w').close()"
    process = start(
        [sys.executable, "-c", f"{program}; time.sleep(600)  # {tmp_path}"],
        name="x",
        log=tmp_path / "log",
        account=None,
        signals=((signal.SIGKILL, 5.0),),
    )
    await asyncio.to_thread((tmp_path / "up").read_bytes)
    with pytest.raises(
        EmbeddedFailed, match=rf"an old Thing \(process {process.pid}\) does not end: end it by hand"
    ):
        await end_orphan(process.pid, str(tmp_path), signal.SIGTERM, name="Thing", timeout_s=0.1)
    await process.stop()


@pytest.mark.parametrize("error", [ProcessLookupError, PermissionError])
async def test_an_orphan_that_cannot_be_signalled_is_gone_or_told(
    error: type[OSError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_pid: int, _number: int) -> None:
        raise error

    monkeypatch.setattr("ktms.adapters.embedded.launch.command_of", lambda _pid: "mine")
    monkeypatch.setattr(os, "kill", refuse)
    ending = end_orphan(4711, "mine", signal.SIGTERM, name="Thing", timeout_s=1)
    if error is ProcessLookupError:
        await ending
    else:
        with pytest.raises(EmbeddedFailed, match="runs as another user"):
            await ending
