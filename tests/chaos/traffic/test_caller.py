"""Clients before a real server; a target answers as a gateway does."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from chaos.stand import modes
from chaos.stand.answering import Pace
from chaos.stand.client_keys import ClientKey, ClientKeys
from chaos.stand.run_journal import RunJournal
from chaos.stand.target import Manner, Target
from chaos.stand.targets import targets
from chaos.traffic.caller import Caller, callers
from chaos.traffic.question import Question
from sim.journal.fact import Fact

MANNER = Manner("cloud-a", cloud=True, model="m", window=None, pace=Pace(0.001, 0.001))
KEYS = ClientKeys([ClientKey("app-1", "id-1", "token-1")])


@dataclass(frozen=True)
class Place:
    caller: Caller
    target: Target
    journal: RunJournal

    async def make(self, **wishes: object) -> Fact:
        """Make one call; give the fact of its end."""
        await self.caller.make(Question("1", "gw1", "app-1", tokens=4, **wishes))  # type: ignore[arg-type]
        *_, ended = self.journal.of("call_ended")
        return ended


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    journal = RunJournal()
    async with targets([MANNER], journal) as running:
        target = running["cloud-a"]
        urls = {"gw1": f"http://127.0.0.1:{target.port}"}
        async with callers(urls, KEYS, journal) as caller:
            yield Place(caller, target, journal)


async def test_a_call_that_is_answered_tells_of_every_step(place: Place) -> None:
    ended = await place.make()
    assert (ended.members["outcome"], ended.members["text"]) == ("done", "1.1 1.2 1.3 1.4 ")
    kinds = [fact.kind for fact in place.journal.facts if fact.host == "client"]
    assert kinds == ["call_sent", "call_begun", "call_visible", "call_ended"]


async def test_a_whole_answer_is_whole(place: Place) -> None:
    assert (await place.make(streamed=False)).members["outcome"] == "whole"


async def test_a_stream_that_is_cut_is_cut_with_the_text_that_came(place: Place) -> None:
    await place.target.mode(modes.RESET_MIDWAY, 2, on=True)
    ended = await place.make()
    assert (ended.members["outcome"], ended.members["text"]) == ("cut", "1.1 1.2 ")


async def test_an_error_keeps_its_status(place: Place) -> None:
    await place.target.mode(modes.STATUS, 503, on=True)
    ended = await place.make()
    assert (ended.members["outcome"], ended.members["status"]) == ("error", 503)


async def test_where_nobody_listens_a_call_is_refused(place: Place) -> None:
    await place.target.mode(modes.REFUSE, on=True)
    ended = await place.make()
    assert (ended.members["outcome"], ended.members["code"]) == ("refused", "")


async def test_a_client_that_leaves_midway_has_left(place: Place) -> None:
    ended = await place.make(leaves_after=2)
    assert ended.members["outcome"] == "left"
    assert [fact.members["how"] for fact in place.journal.of("client_left")] == ["fin"]


async def test_a_kept_connection_that_was_closed_is_no_refusal() -> None:
    journal, served = RunJournal(), 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the first request of a connection, and close it when the second one comes."""
        nonlocal served
        body = b'{"choices":[]}'
        await reader.readuntil(b"\r\n\r\n")
        served += 1
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        writer.write(head + body)
        await reader.readuntil(b"\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    urls = {"gw1": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"}
    async with server, callers(urls, KEYS, journal) as caller:
        outcomes = [await caller.make(Question(name, "gw1", "app-1", streamed=False)) for name in ("1", "2")]
    assert (outcomes, served) == (["whole", "whole"], 2)
    ends = [(fact.members["call"], fact.members["code"]) for fact in journal.of("call_ended")]
    assert ends == [("1", ""), ("2", "stale"), ("2s", "")]
