import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import psutil
import pytest

from ktms.node import tunnel
from ktms.node.settings import NodeSettings, Tls, Tunnel
from ktms.node.tunnel import CloudflaredTunnel, TunnelState, tunnel_words
from tests.e2e.ports import any_port
from tests.node.nodes import settings

FAKE = Path(__file__).parent / "fakes" / "cloudflared.py"
QUICK = settings(tunnel=Tunnel.QUICK)


@dataclass
class Watched:
    """A tunnel that runs, with the folder that its fake reads."""

    tunnel: CloudflaredTunnel
    folder: Path
    lines: list[str]
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, state: TunnelState) -> None:
        while self.tunnel.state != state:
            self.news.clear()
            await self.news.wait()

    @property
    def starts(self) -> list[str]:
        return (self.folder / "starts").read_text().splitlines()


def program(folder: Path) -> str:
    """Give a program that is the fake on this folder."""
    path = folder / "cloudflared"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "{folder}" "$@"\n')
    path.chmod(0o700)
    return str(path)


@asynccontextmanager
async def running(folder: Path, of: NodeSettings = QUICK) -> AsyncIterator[Watched]:
    lines: list[str] = []
    news = asyncio.Event()
    async with aiohttp.ClientSession() as session:
        made = CloudflaredTunnel(
            program(folder), of, any_port(), session, changed=news.set, told=lambda _, line: lines.append(line)
        )
        async with asyncio.TaskGroup() as group:
            task = group.create_task(made.run())
            yield Watched(made, folder, lines, news)
            task.cancel()


def fakes() -> list[psutil.Process]:
    """Give the fakes that run; whoever ends while we look does not."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if str(FAKE) in one.cmdline():
                found.append(one)
    return found


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tunnel, "LOOK_EVERY_S", 0.05)
    monkeypatch.setattr(tunnel, "RESTART_S", (0.05,))


def test_the_token_of_a_tunnel_is_no_argument() -> None:
    named = settings(tunnel=Tunnel.NAMED, tunnel_token_file="/home/x/token")
    assert tunnel_words("cloudflared", named, 20241, "auto")[-3:] == ("run", "--token-file", "/home/x/token")


def test_a_tunnel_before_a_filter_with_tls_does_not_check_its_certificate() -> None:
    words = tunnel_words("cloudflared", settings(tunnel=Tunnel.QUICK, tls=Tls.ON), 20241, "auto")
    assert words[-3:] == ("--url", "https://127.0.0.1:8790", "--no-tls-verify")


async def test_the_name_of_a_quick_tunnel_is_read_from_its_metrics(tmp_path: Path) -> None:
    (tmp_path / "names").write_text("a-b.trycloudflare.com")
    async with running(tmp_path) as watched:
        await watched.until(TunnelState(ready=True, hostname="a-b.trycloudflare.com"))


async def test_a_tunnel_that_dies_comes_back_under_its_next_name(tmp_path: Path) -> None:
    (tmp_path / "names").write_text("one.example two.example")
    async with running(tmp_path) as watched:
        await watched.until(TunnelState(ready=True, hostname="one.example"))
        (child,) = fakes()
        os.kill(child.pid, signal.SIGKILL)
        await watched.until(TunnelState(ready=True, hostname="two.example"))
    assert len(watched.starts) == 2


async def test_where_udp_is_blocked_the_way_over_tcp_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tunnel, "READY_WITHIN_S", 1.5)
    (tmp_path / "names").write_text("one.example")
    (tmp_path / "blocked").touch()
    async with running(tmp_path) as watched:
        await watched.until(TunnelState(ready=True, hostname="one.example"))
    assert ["http2" in start for start in watched.starts] == [False, True]


async def test_the_child_ends_with_the_tunnel(tmp_path: Path) -> None:
    (tmp_path / "names").write_text("one.example")
    async with running(tmp_path) as watched:
        await watched.until(TunnelState(ready=True, hostname="one.example"))
    assert fakes() == []


async def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    lines: list[str] = []
    told = asyncio.Event()

    def tell(_: str, line: str) -> None:
        lines.append(line)
        told.set()

    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
        made = CloudflaredTunnel(str(tmp_path / "none"), QUICK, any_port(), session, changed=told.set, told=tell)
        task = group.create_task(made.run())
        while not lines:
            await told.wait()
        task.cancel()
    assert "cannot be started: No such file" in lines[0]
