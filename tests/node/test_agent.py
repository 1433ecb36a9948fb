"""The agent as one process's worth: a fake engine behind it, a gateway at hand before it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ktms.domain.catalogue import EngineKind
from ktms.node.agent import EXIT_KILLED, EXIT_OK, EXIT_SUPERSEDED, LAST_WORD_S, Agent, Means
from ktms.node.announcer import Superseded
from ktms.node.home import NodeHome
from ktms.node.settings import NodeSettings, Tls, Tunnel
from ktms.node.settings_file import SettingsUnusable
from ktms.node.status import read_status
from tests.e2e.ports import any_port, occupied
from tests.e2e.waiting import until as happens
from tests.node.fakes.llamacpp import PATH, FakeLlamaCpp
from tests.node.gateways import GatewayAtHand
from tests.node.nodes import KEY, TOKEN, settings
from tests.node.recordings import linux
from tests.node.test_tunnel import program


@dataclass
class Running:
    """An agent that runs."""

    agent: Agent
    engine: FakeLlamaCpp
    gateway: GatewayAtHand
    home: NodeHome
    lines: list[str]
    task: "asyncio.Task[int]"

    async def announced(self) -> dict[str, Any]:
        """Give the next announcement that names models."""
        while True:
            said = await self.gateway.next()
            if said["models"]:
                return said

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.agent.filter.port}"


def means(home: NodeHome, of: NodeSettings, lines: list[str], cloudflared: str = "") -> Means:
    return Means(
        settings=of,
        home=home,
        machine=linux(),
        told=lambda _, line: lines.append(line),
        now=lambda: 1_790_000_000.0,
        version="1.2.3",
        cloudflared=cloudflared,
        metrics_port=any_port(),
    )


@asynccontextmanager
async def running(
    tmp_path: Path,
    gateway: GatewayAtHand,
    cloudflared: str = "",
    of_means: Mapping[str, Any] | None = None,
    **members: object,
) -> AsyncIterator[Running]:
    engine, lines, home = FakeLlamaCpp(), list[str](), NodeHome(tmp_path / ".ktms")
    await engine.start()
    usual: dict[str, object] = {
        "engine": EngineKind.LLAMACPP,
        "engine_url": engine.url,
        "listen_port": any_port(),
        "drain_s": 5.0,
    }
    made = means(home, settings(gateway.url, **(usual | members)), lines, cloudflared)
    agent = Agent(replace(made, **(of_means or {})))
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(agent.run())
            yield Running(agent, engine, gateway, home, lines, task)
            if not task.done():
                agent.stop()
                agent.stop()
    finally:
        await engine.stop()


async def until(fact: Callable[[], bool]) -> None:
    """Wait for what no future announces: a file, a flag."""
    await asyncio.to_thread(happens, fact, "it is so")


def chat(session: aiohttp.ClientSession, one: Running) -> Any:
    body = {"model": PATH, "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    return session.post(f"{one.url}/v1/chat/completions", json=body, headers={"Authorization": f"Bearer {TOKEN}"})


async def test_it_announces_what_its_engine_has_and_serves_it(
    tmp_path: Path, gateway: GatewayAtHand, session: aiohttp.ClientSession
) -> None:
    async with running(tmp_path, gateway) as one:
        said = await one.announced()
        assert (said["engine"], said["slots"], said["url"]) == ("agent", 4, one.url)
        assert [model["name"] for model in said["models"]] == [PATH]
        async with chat(session, one) as answer:
            assert answer.status == 200
            assert b"data: [DONE]" in await answer.read()


async def test_who_leaves_says_so_first_and_lets_answers_end(
    tmp_path: Path, gateway: GatewayAtHand, session: aiohttp.ClientSession
) -> None:
    async with running(tmp_path, gateway) as one:
        await one.announced()
        one.engine.hold = asyncio.Event()
        async with chat(session, one) as answer:
            await answer.content.readany()
            one.agent.stop()
            while not (await gateway.next())["draining"]:
                pass
            await until(lambda: one.agent.state.draining)
            async with chat(session, one) as refused:
                assert (refused.status, refused.headers["X-KTMS-Node-State"]) == (503, "draining")
            one.engine.hold.set()
            assert b"data: [DONE]" in await answer.read()
        assert await one.task == EXIT_OK


async def test_a_second_signal_cuts_what_still_runs(
    tmp_path: Path, gateway: GatewayAtHand, session: aiohttp.ClientSession
) -> None:
    async with running(tmp_path, gateway, drain_s=60.0) as one:
        await one.announced()
        one.engine.hold = asyncio.Event()
        async with chat(session, one) as answer:
            await answer.content.readany()
            one.agent.stop()
            one.agent.stop()
            assert await one.task == 1
        one.engine.hold.set()
    assert "1 answers are cut" in one.lines


async def test_answers_that_do_not_end_are_cut_after_their_time(
    tmp_path: Path, gateway: GatewayAtHand, session: aiohttp.ClientSession
) -> None:
    async with running(tmp_path, gateway, drain_s=0.2) as one:
        await one.announced()
        one.engine.hold = asyncio.Event()
        async with chat(session, one) as answer:
            await answer.content.readany()
            one.agent.stop()
            assert await one.task == EXIT_OK
        one.engine.hold.set()


async def test_its_status_is_told_in_a_file_without_secrets(tmp_path: Path, gateway: GatewayAtHand) -> None:
    async with running(tmp_path, gateway) as one:
        await one.announced()
        await until(lambda: (read_status(one.home.status) or {}).get("announced") is True)
        status = read_status(one.home.status)
    assert status is not None
    assert (status["state"], status["url"], status["version"]) == ("serving", one.url, "1.2.3")
    assert one.home.status.stat().st_mode & 0o077 == 0
    assert KEY not in json.dumps(status)
    assert TOKEN not in json.dumps(status)


async def test_a_later_agent_of_this_node_ends_it(tmp_path: Path, gateway: GatewayAtHand) -> None:
    gateway.status, gateway.answer = 409, {"error": {"message": "An agent that started later announces."}}
    with pytest.raises(ExceptionGroup) as ended:
        async with running(tmp_path, gateway) as one:
            await one.task
    assert ended.group_contains(Superseded)
    assert EXIT_SUPERSEDED != EXIT_OK


async def test_a_tunnel_that_changes_its_name_is_announced_anew(tmp_path: Path, gateway: GatewayAtHand) -> None:
    (tmp_path / "names").write_text("one.example two.example")
    async with running(tmp_path, gateway, program(tmp_path), tunnel=Tunnel.QUICK) as one:
        assert (await one.announced())["url"] == "https://one.example"
        (tmp_path / "end").touch()
        while (await one.announced())["url"] != "https://two.example":
            pass


async def test_a_taken_port_is_told(tmp_path: Path, gateway: GatewayAtHand) -> None:
    with occupied() as port, pytest.raises(OSError, match="in use"):
        await Agent(means(NodeHome(tmp_path), settings(gateway.url, listen_port=port), [])).run()


def test_tls_without_a_certificate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsUnusable, match="run the installer again"):
        Agent(means(NodeHome(tmp_path), settings(tls=Tls.ON), []))


async def test_a_machine_that_has_an_address_only_later_is_announced_then_and_after_each_move(
    tmp_path: Path, gateway: GatewayAtHand
) -> None:
    addresses = [None, None, "10.0.0.7", None, "10.0.0.8"]
    towards = {"address_towards": lambda _: addresses.pop(0) if addresses else None, "address_every_s": 0.05}
    async with running(tmp_path, gateway, of_means=towards) as one:
        url = (await one.announced())["url"]
        assert url == f"http://10.0.0.7:{one.agent.filter.port}"
        while (await one.announced())["url"] != url.replace("10.0.0.7", "10.0.0.8"):
            pass


async def test_a_second_signal_does_not_wait_for_a_gateway_that_says_nothing(
    tmp_path: Path, gateway: GatewayAtHand
) -> None:
    async with running(tmp_path, gateway) as one:
        await one.announced()
        gateway.hold = asyncio.Event()
        one.agent.stop()
        while not (await gateway.next())["draining"]:
            pass
        one.agent.stop()
        async with asyncio.timeout(LAST_WORD_S / 2):
            assert await one.task == EXIT_KILLED
        gateway.hold.set()


async def superseded_midway(tmp_path: Path, gateway: GatewayAtHand, session: aiohttp.ClientSession) -> None:
    """Have another agent take over while an answer runs, and read that to its end."""
    async with running(tmp_path, gateway) as one:
        await one.announced()
        one.engine.hold = asyncio.Event()
        async with chat(session, one) as answer:
            await answer.content.readany()
            gateway.status = 409
            one.agent.state.news.set()
            await until(lambda: one.agent.state.draining)
            async with chat(session, one) as refused:
                assert refused.status == 503
            one.engine.hold.set()
            assert b"data: [DONE]" in await answer.read()
        await one.task


async def test_who_is_superseded_lets_answers_end(
    tmp_path: Path, gateway: GatewayAtHand, session: aiohttp.ClientSession
) -> None:
    with pytest.raises(ExceptionGroup) as ended:
        await superseded_midway(tmp_path, gateway, session)
    assert ended.group_contains(Superseded)
