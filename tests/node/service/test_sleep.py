"""The lock that keeps a machine awake: which, for how long, and what is said where there is none."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from ktms.node.service import sleep
from ktms.node.service.sleep import keep_awake, locks
from tests.e2e.waiting import until

HOLDS, REFUSES = ("cat",), ("false",)
ABSENT = ("no-such-program-of-ours",)


class Lines:
    """What was told, one after the other."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def told(self, level: str, line: str) -> None:
        self._queue.put_nowait((level, line))

    async def next(self) -> tuple[str, str]:
        async with asyncio.timeout(10):
            return await self._queue.get()


@asynccontextmanager
async def kept(*commands: Sequence[str]) -> AsyncIterator[Lines]:
    lines = Lines()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(keep_awake(commands, lines.told))
        yield lines
        task.cancel()


def test_a_mac_is_kept_awake_by_its_own_command_which_watches_the_agent() -> None:
    assert locks("darwin", 4242) == (("/usr/bin/caffeinate", "-i", "-s", "-w", "4242"),)


def test_on_linux_sleep_is_blocked_or_where_that_is_refused_idleness() -> None:
    first, second = locks("linux", 4242)
    assert (first[1], second[1]) == ("--what=sleep:idle", "--what=idle")
    assert {"--mode=block", "--who=ktms-node"} <= set(first)


def test_other_systems_have_no_lock() -> None:
    assert locks("freebsd14", 1) == ()


async def test_the_best_lock_is_held() -> None:
    async with kept(HOLDS, REFUSES) as lines:
        assert await lines.next() == ("info", "this machine is kept awake")


async def test_where_sleep_may_not_be_blocked_idleness_is_and_that_is_said() -> None:
    async with kept(REFUSES, HOLDS) as lines:
        level, line = await lines.next()
        assert (level, "only idleness" in line) == ("warning", True)


async def test_where_nothing_is_granted_the_doctor_is_named() -> None:
    async with kept(REFUSES, REFUSES) as lines:
        assert await lines.next() == sleep.REFUSED


async def test_where_there_is_no_such_command_that_is_no_warning() -> None:
    async with kept(ABSENT) as lines:
        assert await lines.next() == sleep.MISSING


async def test_the_lock_ends_with_the_task(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"echo $$ > {pid}; exec cat"
    async with kept(("sh", "-c", script)) as lines:
        await lines.next()
        child = int(pid.read_text())
    assert not _runs(child)


async def test_the_lock_ends_when_the_agent_is_killed(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    program = (
        "import asyncio, sys\n"
        "from ktms.node.service.sleep import keep_awake\n"
        f"words = ('sh', '-c', 'echo $$ > {pid}; exec cat')\n"
        "asyncio.run(keep_awake([words], lambda *said: print(said, flush=True)))\n"
    )
    agent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    assert agent.stdout is not None
    async with asyncio.timeout(20):
        await agent.stdout.readline()
        child = int(pid.read_text())
        agent.kill()
        await agent.wait()
    until(lambda: not _runs(child), "the lock is let go")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
