import asyncio
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest

from chaos.services.server import Server
from chaos.services.service import ServiceFailed

ROOT = Path(__file__).parents[3]

FAMILY = ["/bin/sh", "-c", "sleep 1000 & echo $!; echo ready; wait"]
"""A process that has another one; the log tells the second one's id."""

HOST = f"""
    import sys
    from pathlib import Path
    sys.path.insert(0, {str(ROOT)!r})
    from chaos.services.server import Server
    Server("orphan", Path(sys.argv[1])).begin({FAMILY!r})
    sys.stdin.read()
"""


async def until(holds: Callable[[], bool]) -> None:
    """Wait for a fact of other processes; nothing tells us of it."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0)


async def told(log: Path, word: str) -> str:
    """Wait until the log holds a word; give the log."""

    def read() -> str:
        return log.read_text() if log.exists() else ""

    await until(lambda: word in read())
    return read()


def alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


@pytest.fixture
async def family(log: Path) -> AsyncIterator[Server]:
    server = Server("family", log, grace_s=0.2)
    try:
        server.begin(FAMILY)
        yield server
    finally:
        await server.end()


async def members(log: Path) -> tuple[psutil.Process, psutil.Process]:
    """Give parent and child."""
    child = psutil.Process(int((await told(log, "ready")).split()[0]))
    parent = child.parent()
    assert parent
    return parent, child


async def test_freezing_stops_the_whole_family(family: Server, log: Path) -> None:
    parent, child = await members(log)
    await family.freeze()
    assert {child.status(), parent.status()} == {psutil.STATUS_STOPPED}


async def test_thawing_lets_the_whole_family_go_on(family: Server, log: Path) -> None:
    parent, child = await members(log)
    await family.freeze()
    await family.thaw()
    await until(lambda: psutil.STATUS_STOPPED not in {child.status(), parent.status()})


async def test_killing_leaves_nobody_of_the_family(family: Server, log: Path) -> None:
    parent, child = await members(log)
    await family.kill()
    assert (family.runs, alive(parent), alive(child)) == (False, False, False)


async def test_a_frozen_family_ends_too(family: Server, log: Path) -> None:
    parent, child = await members(log)
    await family.freeze()
    await family.end()
    assert (alive(parent), alive(child)) == (False, False)


async def test_who_does_not_end_when_asked_is_killed(log: Path) -> None:
    server = Server("stubborn", log, grace_s=0.05)
    server.begin(["/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1000; done"])
    await told(log, "ready")
    await server.end()
    assert not server.runs


async def test_an_ended_server_may_begin_again(family: Server, log: Path) -> None:
    await told(log, "ready")
    await family.kill()
    family.begin(["/bin/sh", "-c", "echo again"])
    await told(log, "again")


async def test_what_it_reads_is_no_argument(log: Path) -> None:
    server = Server("reader", log)
    server.begin(["/bin/sh", "-c", "cat"], config="hush\n")
    await told(log, "hush")
    await server.end()
    assert server.last_words == "hush"


async def test_it_gets_nothing_of_our_environment(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KTMS_TESTED", "1")
    server = Server("env", log)
    server.begin(["/bin/sh", "-c", "env; echo ready"])
    assert "KTMS_TESTED" not in await told(log, "ready")
    await server.end()


def test_what_cannot_be_executed_is_a_failure_by_name(log: Path) -> None:
    with pytest.raises(ServiceFailed, match="nothing cannot be started"):
        Server("nothing", log).begin(["/no/such/program"])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a signal for the death of a parent")
async def test_it_dies_with_whoever_started_it_even_by_a_kill(log: Path) -> None:
    host = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", textwrap.dedent(HOST), str(log)), stdin=asyncio.subprocess.PIPE
    )
    parent, child = await members(log)
    host.kill()
    await host.wait()
    await until(lambda: not alive(parent))
    child.kill()  # only the first process hears of it, and this one knows no better than to sleep
