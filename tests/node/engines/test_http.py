"""Pages of an engine: bounded, never raising, no connection kept."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from ktms.node.engines.http import PAGE_MAX_BYTES, EngineAway, EngineHttp, Page
from tests.e2e.ports import any_port

SHORT_S = 0.2


@asynccontextmanager
async def answering(data: bytes, *, closes: bool = True) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Answer every connection with these bytes."""
    heads: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(data)
        if closes:
            writer.close()
        else:
            await reader.read()
            writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", heads


def http(body: bytes, status: str = "200 OK", *more: str) -> bytes:
    head = "\r\n".join((f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *more))
    return head.encode() + b"\r\n\r\n" + body


async def test_a_page_is_read_with_its_status(session: aiohttp.ClientSession) -> None:
    async with answering(http(b'{"a":1}', "503 Busy")) as (url, heads):
        page = await EngineHttp(url, session).page("/x")
    assert page == Page(503, b'{"a":1}')
    assert heads[0].startswith(b"GET /x HTTP/1.1\r\n")
    assert b"Connection: close" in heads[0]


async def test_only_a_200_with_json_is_said(session: aiohttp.ClientSession) -> None:
    async with answering(http(b'{"a":1}')) as (url, _):
        assert await EngineHttp(url, session).said("/x") == {"a": 1}
    async with answering(http(b'{"a":1}', "404 No")) as (url, _):
        assert await EngineHttp(url, session).said("/x") is None


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b"[" * 100_000, b"9" * 10_000])
def test_what_is_no_json_has_no_value(body: bytes) -> None:
    assert Page(200, body).value is None


@pytest.mark.parametrize("body", [b"", b'"x"', b'{"error":"text"}'])
def test_an_error_of_another_shape_is_empty(body: bytes) -> None:
    assert Page(500, body).error == {}


@pytest.mark.parametrize(
    "data", [b"SSH-2.0-x\r\n", b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"], ids=["ssh", "cut", "short"]
)
async def test_what_is_no_whole_answer_is_none(session: aiohttp.ClientSession, data: bytes) -> None:
    async with answering(data) as (url, _):
        assert await EngineHttp(url, session).page("/x") is None


async def test_silence_ends_in_time(session: aiohttp.ClientSession) -> None:
    async with answering(b"", closes=False) as (url, _):
        assert await EngineHttp(url, session).page("/x", within_s=SHORT_S) is None
        with pytest.raises(EngineAway, match=r"no answer within 0\.2 s"):
            await EngineHttp(url, session).post("/x", {}, within_s=SHORT_S)


async def test_nobody_there_is_said_so(session: aiohttp.ClientSession) -> None:
    away = EngineHttp(f"http://127.0.0.1:{any_port()}", session)
    assert await away.page("/x") is None
    with pytest.raises(EngineAway, match="nobody listens"):
        await away.post("/x", {}, within_s=SHORT_S)


async def test_a_redirect_is_not_followed(session: aiohttp.ClientSession) -> None:
    async with answering(http(b"", "302 Found", "Location: http://127.0.0.1:1/")) as (url, heads):
        page = await EngineHttp(url, session).page("/x")
    assert page is not None
    assert page.status == 302
    assert len(heads) == 1


async def test_a_long_page_is_read_to_the_bound(session: aiohttp.ClientSession) -> None:
    async with answering(http(b"x" * (PAGE_MAX_BYTES + 5))) as (url, _):
        page = await EngineHttp(url, session).page("/x")
    assert page is not None
    assert len(page.body) == PAGE_MAX_BYTES
