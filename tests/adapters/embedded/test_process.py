"""What happens to the servers when their parent is killed, and that an ordinary user can run them."""

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from ktms.adapters.embedded.failed import EmbeddedFailed
from ktms.adapters.embedded.postgres_server import EmbeddedPostgres
from ktms.adapters.embedded.process import command_of, run, start
from ktms.adapters.embedded.tcp_port import is_free
from ktms.adapters.embedded.valkey_server import EmbeddedValkey
from ktms.ports.entropy import Entropy

GONE_WITHIN_S = 10.0
NOBODY = 65534
ORDINARY_PYTHON = "/usr/bin/python3"
SIGNALS = ((signal.SIGTERM, 0.2),)


async def begin(
    program: str, folder: Path, *before: str, python: str = sys.executable
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *before, python, "-c", program, str(folder), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )


async def numbers_of(host: asyncio.subprocess.Process) -> list[int]:
    assert host.stdout
    return [int(word) for word in (await host.stdout.readline()).split()]


async def ended(*pids: int) -> None:
    """Wait for the end of processes that are not our children."""
    loop = asyncio.get_running_loop()
    for pid in pids:
        try:
            watched = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        over = asyncio.Event()
        loop.add_reader(watched, over.set)
        try:
            async with asyncio.timeout(GONE_WITHIN_S):
                await over.wait()
        finally:
            loop.remove_reader(watched)
            os.close(watched)


def owner_of(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


@pytest.mark.skipif(sys.platform != "linux", reason="the death signal is a Linux feature")
async def test_killing_the_parent_leaves_no_server_behind(kept_folder: Path, host_program: str) -> None:
    host = await begin(host_program, kept_folder)
    _, postgres_pid, postgres_port, valkey_pid, valkey_port = await numbers_of(host)
    assert not is_free(postgres_port)
    assert not is_free(valkey_port)
    host.send_signal(signal.SIGKILL)
    await host.wait()
    await ended(postgres_pid, valkey_pid)
    assert is_free(postgres_port)
    assert is_free(valkey_port)


async def test_after_a_killed_parent_the_next_start_works_at_once(
    kept_folder: Path, host_program: str, entropy: Entropy
) -> None:
    host = await begin(host_program, kept_folder)
    await numbers_of(host)
    host.send_signal(signal.SIGKILL)
    await host.wait()
    async with (
        EmbeddedPostgres(kept_folder, entropy=entropy) as postgres,
        EmbeddedValkey(kept_folder, entropy=entropy) as valkey,
    ):
        assert postgres.running
        assert valkey.running


async def test_servers_left_over_without_a_death_signal_are_ended_by_the_next_start(
    kept_folder: Path, entropy: Entropy
) -> None:
    """As on systems without the death signal: the servers live on, their parent's lock is gone."""
    postgres = EmbeddedPostgres(kept_folder, entropy=entropy, durable=False)
    valkey = EmbeddedValkey(kept_folder, entropy=entropy)
    await postgres.__aenter__()
    await valkey.__aenter__()
    for lock in ("postgres.lock", "valkey.lock"):
        (kept_folder / lock).unlink()  # another file under the name: another lock
    async with (
        EmbeddedPostgres(kept_folder, entropy=entropy) as next_postgres,
        EmbeddedValkey(kept_folder, entropy=entropy) as next_valkey,
    ):
        assert not postgres.running
        assert not valkey.running
        assert next_postgres.running
        assert next_valkey.running
    await valkey.__aexit__(None, None, None)
    await postgres.__aexit__(None, None, None)


@pytest.mark.skipif(os.geteuid() != 0, reason="runs as an ordinary user already")
@pytest.mark.skipif(not Path(ORDINARY_PYTHON).exists(), reason=f"needs {ORDINARY_PYTHON}, executable by everyone")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv to become an ordinary user")
async def test_an_ordinary_user_runs_both_servers_as_itself(open_folder: Path, host_program: str) -> None:
    os.chown(open_folder, NOBODY, NOBODY)
    become = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    host = await begin(host_program, open_folder, *become, python=ORDINARY_PYTHON)
    uid, postgres_pid, postgres_port, valkey_pid, valkey_port = await numbers_of(host)
    assert uid == NOBODY
    for pid in (postgres_pid, valkey_pid):
        assert owner_of(pid) == NOBODY
    host.stdin.close()  # type: ignore[union-attr]  # it is a pipe
    assert await host.wait() == 0
    assert is_free(postgres_port)
    assert is_free(valkey_port)


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user cannot make a folder it may not write to its own")
@pytest.mark.skipif(not Path(ORDINARY_PYTHON).exists(), reason=f"needs {ORDINARY_PYTHON}, executable by everyone")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv to become an ordinary user")
async def test_a_folder_an_ordinary_user_cannot_write_is_told_in_one_line(
    open_folder: Path, host_program: str
) -> None:
    become = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    host = await asyncio.create_subprocess_exec(
        *become, ORDINARY_PYTHON, "-c", host_program, str(open_folder), stderr=asyncio.subprocess.PIPE
    )
    _, told = await host.communicate()
    assert f"EmbeddedFailed: the data folder {open_folder} is not writable: choose" in told.decode()


async def test_a_server_that_ignores_its_signal_is_killed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "up")
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('up', 'w').close()"
    process = start(
        [sys.executable, "-c", f"{stubborn}; time.sleep(600)"],
        name="stubborn",
        log=tmp_path / "log",
        account=None,
        signals=SIGNALS,
    )
    await asyncio.to_thread((tmp_path / "up").read_bytes)  # returns when it has opened its end
    await process.stop()
    assert not process.running
    assert command_of(process.pid) == ""


def test_a_program_that_is_not_there_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedFailed, match="thing cannot be started"):
        start([tmp_path / "missing"], name="thing", log=tmp_path / "log", account=None, signals=SIGNALS)


def test_a_failing_tool_is_told_with_its_own_error_line(tmp_path: Path) -> None:
    complaint = "print('fine so far'); print('tool: error: no such thing'); print('hint'); raise SystemExit(3)"
    with pytest.raises(EmbeddedFailed, match="tool failed: tool: error: no such thing"):
        run([sys.executable, "-c", complaint], name="tool", cwd=tmp_path, account=None, timeout_s=10)


def test_a_log_grown_too_large_is_set_aside_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ktms.adapters.embedded.process.LOG_BYTES_MAX", 4)
    log = tmp_path / "some.log"
    log.write_text("older than today", encoding="ascii")
    process = start([sys.executable, "-c", "print('new')"], name="x", log=log, account=None, signals=SIGNALS)
    process._child.wait(10)
    assert log.read_text(encoding="ascii") == "new\n"
    assert (tmp_path / "some.old.log").read_text(encoding="ascii") == "older than today"


async def test_a_server_does_not_get_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_KEY", "sk-canary-of-the-environment")
    log = tmp_path / "log"
    child = start(["/usr/bin/env"], name="env", log=log, account=None, signals=SIGNALS)
    async with asyncio.timeout(10):
        while child.running:  # noqa: ASYNC110 - a process tells nobody
            await asyncio.sleep(0)
    assert "PATH=" in log.read_text()
    assert "canary" not in log.read_text()


def test_a_tool_does_not_get_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_KEY", "sk-canary-of-the-environment")
    printed = run(["/usr/bin/env"], name="env", cwd=tmp_path, account=None, timeout_s=10)
    assert "PATH=" in printed
    assert "canary" not in printed
