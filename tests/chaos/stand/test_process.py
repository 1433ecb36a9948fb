"""Processes, real ones."""

import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from chaos.stand.process import Process, ProcessFailed, environment, few_files, run

WAITS = "import signal, sys; print('here', flush=True); signal.pause()"
STUBBORN = (
    "import signal, time\nsignal.signal(15, signal.SIG_IGN); print('here', flush=True)\nwhile 1: time.sleep(9)"
)
TELLS = "import os; print(sorted(name for name in os.environ if name.startswith('KTMS_')))"


@asynccontextmanager
async def running(folder: Path, program: str) -> AsyncIterator[Process]:
    process = Process("one", (sys.executable, "-c", program), environment(folder, {}), folder)
    await process.start()

    async def speaks() -> bool:
        return "here" in process.logs[-1].read_text()

    try:
        await process.wait_ready(speaks)
        yield process
    finally:
        await process.close()


async def test_a_process_that_is_killed_says_by_which_signal(tmp_path: Path) -> None:
    async with running(tmp_path, WAITS) as process:
        await process.kill()
        assert (process.running, process.code) == (False, -signal.SIGKILL)


async def test_a_process_that_is_asked_to_leave_has_left(tmp_path: Path) -> None:
    async with running(tmp_path, WAITS) as process:
        assert await process.term() == -signal.SIGTERM
        assert process.expected


async def test_a_frozen_process_stands_still_and_goes_on(tmp_path: Path) -> None:
    async with running(tmp_path, WAITS) as process:

        async def stands_still() -> bool:
            return psutil.Process(process.pid).status() == psutil.STATUS_STOPPED

        async def goes_on() -> bool:
            return not await stands_still()

        process.freeze()
        await process.wait_ready(stands_still)
        process.thaw()
        await process.wait_ready(goes_on)


async def test_a_frozen_process_that_will_not_leave_is_ended_with_the_block(tmp_path: Path) -> None:
    async with running(tmp_path, WAITS) as process:
        process.freeze()
    assert not process.running


async def test_each_start_has_a_log_of_its_own(tmp_path: Path) -> None:
    async with running(tmp_path, WAITS) as process:
        await process.kill()
        await process.start()
        assert [path.name for path in process.logs] == ["one-1.out", "one-2.out"]


async def test_whoever_ends_before_it_is_ready_says_what_it_said(tmp_path: Path) -> None:
    process = Process("one", (sys.executable, "-c", "raise SystemExit('no such thing')"), {}, tmp_path)
    await process.start()

    async def never() -> bool:
        return False

    with pytest.raises(ProcessFailed, match="no such thing"):
        await process.wait_ready(never)
    assert not process.expected


async def test_whoever_does_not_leave_in_time_is_told_of(tmp_path: Path) -> None:
    async with running(tmp_path, STUBBORN) as process:
        with pytest.raises(ProcessFailed, match="has not ended"):
            await process.term(within_s=0.1)
        await process.kill()


async def test_no_setting_of_ours_reaches_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KTMS_HTTP_ADDR", "0.0.0.0:80")
    env = environment(tmp_path, {"KTMS_REDIS_URL": "redis://x"})
    done = await run((sys.executable, "-c", TELLS), env, tmp_path)
    assert done.out.strip() == "['KTMS_REDIS_URL']"


async def test_a_process_with_few_files_cannot_allow_itself_more(tmp_path: Path) -> None:
    told = "import resource; print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
    done = await run((*few_files(123), sys.executable, "-c", told), environment(tmp_path, {}), tmp_path)
    assert done.out.split() == ["123", "123"]
