import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import aiohttp
import pytest

from ktms.domain.access.secret import Secret
from ktms.node.announcer import Announcer, Superseded
from ktms.node.said import Place
from ktms.node.settings import NodeSettings
from ktms.node.state import NodeState
from tests.api.node.yard import yard_of
from tests.e2e.ports import any_port
from tests.node.fakes.wires import answer_of, answering
from tests.node.gateways import GatewayAtHand
from tests.node.nodes import EPOCH_MS, KEY, SEEN, TOKEN, seen, settings

PLACE = Place("http://10.0.0.7:8790")


@dataclass
class Agent:
    """An announcer, and what it is made of."""

    announcer: Announcer
    state: NodeState
    lines: list[tuple[str, str]] = field(default_factory=list)


def agent(session: aiohttp.ClientSession, of: NodeSettings, place: Place | None = PLACE) -> Agent:
    lines: list[tuple[str, str]] = []
    state = seen()
    announcer = Announcer(
        of, state, lambda: place, session, epoch_ms=EPOCH_MS, told=lambda level, line: lines.append((level, line))
    )
    return Agent(announcer, state, lines)


@asynccontextmanager
async def running(one: Agent) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(one.announcer.run())
        yield
        task.cancel()


async def test_a_real_gateway_takes_what_is_announced(session: aiohttp.ClientSession) -> None:
    async with yard_of() as yard:
        key = await yard.issue()
        one = agent(session, settings(f"http://127.0.0.1:{yard.port}", node_key=Secret(key)))
        following = await one.announcer.announce()
        assert (following.problem, following.in_s) == (None, 30)
        (node,) = (await yard.catalogue.snapshot()).nodes
    assert (node.origin.host, node.slots) == ("10.0.0.7", 4)
    assert one.lines == [("info", "announced; served: qwen3:4b, llama3:latest")]


async def test_the_key_goes_in_a_header_and_nowhere_else(
    session: aiohttp.ClientSession, gateway: GatewayAtHand
) -> None:
    one = agent(session, settings(gateway.url))
    await one.announcer.announce()
    body, authorization, query = await gateway.heard.get()
    assert (authorization, query) == (f"Bearer {KEY}", "")
    assert KEY not in str(body)


async def test_each_change_is_announced_at_once(session: aiohttp.ClientSession, gateway: GatewayAtHand) -> None:
    one = agent(session, settings(gateway.url))
    async with running(one):
        assert (await gateway.next())["slots"] == 4
        one.state.saw(replace(SEEN, slots=2))
        assert (await gateway.next())["slots"] == 2
        one.state.leave()
        assert (await gateway.next())["draining"] is True


async def test_nothing_is_announced_before_there_is_a_place(
    session: aiohttp.ClientSession, gateway: GatewayAtHand
) -> None:
    await agent(session, settings(gateway.url), place=None).announcer.announce()
    assert gateway.heard.empty()


async def test_a_later_agent_ends_this_one(session: aiohttp.ClientSession, gateway: GatewayAtHand) -> None:
    gateway.status, gateway.answer = 409, {"error": {"message": "An agent that started later announces."}}
    with pytest.raises(Superseded, match="started later"):
        await agent(session, settings(gateway.url)).announcer.run()


async def test_a_problem_is_told_once_and_so_is_its_end(
    session: aiohttp.ClientSession, gateway: GatewayAtHand
) -> None:
    one = agent(session, settings(gateway.url))
    gateway.status = 401
    for _ in range(3):
        await one.announcer.announce()
    gateway.status = 200
    await one.announcer.announce()
    assert [level for level, _ in one.lines] == ["warning", "info"]
    assert "refuses the node key" in one.lines[0][1]


async def test_models_that_the_key_does_not_permit_are_told(
    session: aiohttp.ClientSession, gateway: GatewayAtHand
) -> None:
    gateway.answer = {"accepted": [], "ignored": ["qwen3:4b"]}
    one = agent(session, settings(gateway.url))
    await one.announcer.announce()
    assert one.lines[-1] == ("warning", "not permitted by the node key: qwen3:4b")


async def test_a_gateway_that_is_away_is_asked_again_more_and_more_seldom(session: aiohttp.ClientSession) -> None:
    one = agent(session, settings(f"http://127.0.0.1:{any_port()}"))
    waits = [(await one.announcer.announce()).in_s for _ in range(4)]
    assert waits == sorted(waits)
    assert len(one.lines) == 1
    assert "nobody answers at 127.0.0.1" in one.lines[0][1]


@pytest.mark.parametrize("answer", [[], {"accepted": 3, "error": "x", "announce_every_s": "soon"}])
async def test_an_answer_that_is_no_gateways_does_no_harm(
    session: aiohttp.ClientSession, gateway: GatewayAtHand, answer: object
) -> None:
    gateway.answer = answer  # type: ignore[assignment]  # no gateway says so
    following = await agent(session, settings(gateway.url)).announcer.announce()
    assert following.in_s == 30


async def test_the_gateway_is_asked_to_dial_back(session: aiohttp.ClientSession, gateway: GatewayAtHand) -> None:
    gateway.answer = {"accepted": ["qwen3:4b"], "verified": False, "reason": "nobody listens\nthere"}
    answer = await agent(session, settings(gateway.url)).announcer.ask({"url": "x"}, verify=True)
    assert (answer.verified, answer.reason) == (False, "nobody listens there")
    assert (await gateway.heard.get())[2] == "verify=1"


async def test_no_line_shows_key_or_token(session: aiohttp.ClientSession, gateway: GatewayAtHand) -> None:
    one = agent(session, settings(gateway.url))
    for gateway.status in (200, 400, 401, 404, 429, 500):
        await one.announcer.announce()
    assert KEY not in str(one.lines)
    assert TOKEN not in str(one.lines)


async def test_an_answer_that_comes_in_pieces_is_read_whole(session: aiohttp.ClientSession) -> None:
    head, body = answer_of(b'{"accepted": ["qwen3:4b"], "announce_every_s": 30}')
    async with answering(head, body[:9], body[9:]) as url:
        one = agent(session, settings(url))
        await one.announcer.announce()
    assert one.announcer.accepted == ("qwen3:4b",)


@pytest.mark.parametrize("body", [b"[" * 60_000, b'{"announce_every_s": NaN}', b"\xff\xfe"])
async def test_a_body_that_no_gateway_sends_ends_no_agent(session: aiohttp.ClientSession, body: bytes) -> None:
    async with answering(*answer_of(body)) as url:
        assert (await agent(session, settings(url)).announcer.announce()).in_s == 30


async def test_a_clock_that_was_ahead_at_the_start_is_forgotten_once_it_is_right(
    session: aiohttp.ClientSession, gateway: GatewayAtHand
) -> None:
    ahead_ms = EPOCH_MS + 86_400_000
    one = Announcer(
        settings(gateway.url),
        seen(),
        lambda: PLACE,
        session,
        epoch_ms=ahead_ms,
        now_ms=lambda: EPOCH_MS,
        told=lambda *_: None,
    )
    gateway.status = 400
    await one.announce()
    gateway.status = 200
    await one.announce()
    assert [(await gateway.next())["epoch"] for _ in range(2)] == [ahead_ms, EPOCH_MS]


async def test_an_epoch_that_was_taken_stays(session: aiohttp.ClientSession, gateway: GatewayAtHand) -> None:
    one = agent(session, settings(gateway.url))
    for gateway.status in (200, 400, 200):
        await one.announcer.announce()
    assert {(await gateway.next())["epoch"] for _ in range(3)} == {EPOCH_MS}
