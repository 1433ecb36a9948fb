import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from ktms.node.doctor import ask_tunnel as asking
from ktms.node.doctor.ask_tunnel import Edge, ask_tunnel
from ktms.node.doctor.facts import TunnelFacts
from ktms.node.engines.processes import Process
from ktms.node.settings import Tunnel
from tests.e2e.ports import any_port
from tests.node.doctor.world import Answering
from tests.node.fakes.serving import serving
from tests.node.nodes import settings

NOWHERE = Edge("127.0.0.1", 9)
CHILD = Process(7, 1, ("/opt/cloudflared", "tunnel", "--protocol", "http2"))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "EDGE_S", 0.1)


@asynccontextmanager
async def metrics(text: str) -> AsyncIterator[int]:
    async with serving(Answering(200, text)) as page:
        yield page.port


async def asked(
    session: aiohttp.ClientSession, port: int, url: str | None = None, *running: Process
) -> TunnelFacts:
    return await ask_tunnel(
        settings(tunnel=Tunnel.QUICK),
        metrics_port=port,
        url=url,
        processes=running,
        edge=NOWHERE,
        near=session,
        far=session,
    )


async def test_without_metrics_no_tunnel_runs(session: aiohttp.ClientSession) -> None:
    assert await asked(session, any_port()) == TunnelFacts(runs=False)


@pytest.mark.parametrize("text", ["{}", "[]", "no JSON", json.dumps({"readyConnections": "many"})])
async def test_metrics_that_tell_no_number_tell_no_connection(session: aiohttp.ClientSession, text: str) -> None:
    async with metrics(text) as port:
        told = await asked(session, port)
    assert (told.runs, told.connections, told.udp, told.tcp) == (True, 0, False, False)


async def test_the_way_out_is_not_asked_for_while_all_is_well(session: aiohttp.ClientSession) -> None:
    async with metrics('{"readyConnections": 4}') as port:
        told = await asked(session, port)
        over_tcp = await asked(session, port, None, CHILD)
    assert (told.udp, told.tcp, told.is_over_tcp) == (None, None, False)
    assert (over_tcp.udp, over_tcp.is_over_tcp) == (False, True)


async def test_an_address_that_nobody_answers_at_is_not_known(session: aiohttp.ClientSession) -> None:
    async with metrics('{"readyConnections": 1}') as port:
        told = await asked(session, port, f"http://127.0.0.1:{any_port()}")
    assert (told.connections, told.origin) == (1, None)
