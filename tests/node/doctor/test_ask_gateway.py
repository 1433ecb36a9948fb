import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import formatdate
from pathlib import Path

import aiohttp
import pytest

from ktms.node.announcer import Announcer
from ktms.node.doctor.ask_gateway import ask_gateway
from ktms.node.said import Place, said_of
from ktms.node.said_again import said_again
from ktms.node.state import NodeState
from ktms.node.status import Known, status_of
from tests.e2e.ports import any_port
from tests.node.doctor.certificates import own_context
from tests.node.gateways import GatewayAtHand
from tests.node.nodes import EPOCH_MS, SEEN, TOKEN, settings

NOW = 1_790_000_000.0


SAID: dict[str, object] = {"url": "http://10.0.0.7:8790", "epoch": EPOCH_MS, "draining": False, "models": []}
STATUS: dict[str, object] = {"state": "serving", "said": SAID}


def test_what_is_announced_again_is_what_the_agent_announced() -> None:
    assert said_again(settings(), STATUS) == {**SAID, "token": TOKEN}


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"said": None}, "nothing yet"),
        ({"said": {"url": "x"}}, "nothing yet"),
        ({"said": {**SAID, "draining": True}}, "leaving"),
        ({"state": "draining"}, "leaving"),
    ],
)
def test_what_the_agent_does_not_announce_is_not_announced(members: dict[str, object], why: str) -> None:
    said = said_again(settings(), STATUS | members)
    assert isinstance(said, str)
    assert why in said


def test_where_no_agent_runs_nothing_is_announced() -> None:
    assert said_again(settings(), None) == "no agent runs"


async def test_what_a_running_agent_writes_is_enough(session: aiohttp.ClientSession) -> None:
    state = NodeState(SEEN)
    place = Place("http://10.0.0.7:8790")
    lines: list[str] = []
    announcer = Announcer(
        settings(f"http://127.0.0.1:{any_port()}"),
        state,
        lambda: place,
        session,
        epoch_ms=EPOCH_MS,
        told=lambda _, line: lines.append(line),
    )
    await announcer.announce()
    known = Known(
        settings=settings(),
        state=state,
        place=place,
        tunnel=None,
        problem=None,
        accepted=(),
        ignored=(),
        pid=1,
        version="1",
        said=announcer.said,
    )
    assert said_again(settings(), status_of(known)) == said_of(settings(), state, place, EPOCH_MS)


async def test_where_no_agent_runs_the_key_is_shown_with_nothing_said(
    session: aiohttp.ClientSession, gateway: GatewayAtHand
) -> None:
    gateway.status, gateway.answer = 400, {"error": {"message": "url: is missing."}}
    told = await ask_gateway(settings(gateway.url), None, session, lambda: NOW)
    assert (told.key, told.announced, told.verified, told.not_asked) == (400, None, None, "no agent runs")
    body, _, query = await gateway.heard.get()
    assert (body, query, gateway.heard.empty()) == ({}, "", True)


async def test_with_an_agent_one_announcement_asks_for_all(
    session: aiohttp.ClientSession, gateway: GatewayAtHand
) -> None:
    gateway.answer = {"accepted": ["qwen3:4b"], "ignored": ["phi4:14b"], "verified": False, "reason": "refused"}
    of = settings(gateway.url, models=("qwen3:4b", "phi4:14b"))
    told = await ask_gateway(of, STATUS, session, lambda: NOW)
    assert (told.key, told.announced, told.verified, told.reason) == (200, 200, False, "refused")
    assert told.ignored == ("phi4:14b",)
    body, _, query = await gateway.heard.get()
    assert (body["epoch"], query, gateway.heard.empty()) == (EPOCH_MS, "verify=1", True)


async def test_a_model_that_nobody_named_may_be_ignored(
    session: aiohttp.ClientSession, gateway: GatewayAtHand
) -> None:
    gateway.answer = {"accepted": ["qwen3:4b"], "ignored": ["phi4:14b"], "verified": True}
    of = settings(gateway.url)
    assert (await ask_gateway(of, STATUS, session, lambda: NOW)).ignored == ()


@pytest.mark.parametrize("code", [429, 503])
async def test_a_gateway_that_is_busy_says_nothing_of_this_node(
    session: aiohttp.ClientSession, gateway: GatewayAtHand, code: int
) -> None:
    gateway.status, gateway.answer = code, {"error": {"message": "Later."}}
    of = settings(gateway.url)
    told = await ask_gateway(of, STATUS, session, lambda: NOW)
    assert (told.announced, told.verified, told.not_asked) == (None, None, f"it answers {code}, Later.")


async def test_a_gateway_that_is_away_is_not_asked_for_more(session: aiohttp.ClientSession) -> None:
    told = await ask_gateway(settings(f"http://127.0.0.1:{any_port()}"), None, session, lambda: NOW)
    assert told.why_not is not None
    assert "nobody answers" in told.why_not
    assert (told.key, told.ahead_s) == (None, None)


@asynccontextmanager
async def dated(folder: Path | None, date: str | None) -> AsyncIterator[str]:
    """Serve pages with this date; by TLS where there is a folder for its certificate."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"Date: {date}\r\n" if date else ""
        writer.write(f"HTTP/1.1 404 Not Found\r\n{head}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
        writer.close()

    context = None if folder is None else own_context(folder)
    server = await asyncio.start_server(say, "127.0.0.1", 0, ssl=context)
    async with server:
        yield f"{'http' if folder is None else 'https'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_certificate_that_is_not_accepted_hides_no_wrong_clock(
    session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    async with dated(tmp_path, formatdate(NOW, usegmt=True)) as url:
        told = await ask_gateway(settings(url), None, session, lambda: NOW - 7200)
    assert told.why_not == "its certificate is not accepted"
    assert told.ahead_s == pytest.approx(-7200)
    assert told.key is None


@pytest.mark.parametrize("date", [None, "yesterday"])
async def test_without_a_date_no_clock_is_judged(session: aiohttp.ClientSession, date: str | None) -> None:
    async with dated(None, date) as url:
        told = await ask_gateway(settings(url), None, session, lambda: NOW)
    assert (told.ahead_s, told.key) == (None, 404)
