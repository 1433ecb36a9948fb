"""Requests whose end two parsers would see in different places are refused, and what follows them is not read.

Every case ends in a second request that must never reach a handler. `test_both_parsers.py` runs this file once
more with aiohttp's pure Python parser.
"""

import pytest

from ktms.api.body import BodyLimits
from tests.api.porch import Porch, porch_of
from tests.api.wire_client import ask, connected, request

SECOND = b"GET /tail/smuggled HTTP/1.1\r\nHost: gateway\r\n\r\n"


def post(*headers: bytes, body: bytes = b"") -> bytes:
    return b"\r\n".join((b"POST /echo HTTP/1.1", b"Host: gateway", *headers)) + b"\r\n\r\n" + body


CHUNKED = b"Transfer-Encoding: chunked"

HEADS = {
    "length and chunks": post(b"Content-Length: 5", CHUNKED, body=b"0\r\n\r\n"),
    "chunks and length": post(CHUNKED, b"Content-Length: 5", body=b"0\r\n\r\n"),
    "two lengths": post(b"Content-Length: 5", b"Content-Length: 6", body=b"hello!"),
    "two equal lengths": post(b"Content-Length: 5", b"Content-Length: 5", body=b"hello"),
    "a list of lengths": post(b"Content-Length: 5, 6", body=b"hello!"),
    "a signed length": post(b"Content-Length: +5", body=b"hello"),
    "a negative length": post(b"Content-Length: -5", body=b"hello"),
    "a hexadecimal length": post(b"Content-Length: 0x5", body=b"hello"),
    "a length of other digits": post("Content-Length: ٥".encode(), body=b"hello"),
    "an empty length": post(b"Content-Length:", body=b"hello"),
    "a space before the colon": post(b"Content-Length : 5", body=b"hello"),
    "a tab before the colon": post(b"Content-Length\t: 5", body=b"hello"),
    "a folded header": post(b"X-A: b\r\n c", b"Content-Length: 5", body=b"hello"),
    "a folded length": post(b"Content-Length:\r\n 5", body=b"hello"),
    "gzip in the coding": post(b"Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n"),
    "chunked not last": post(b"Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n"),
    "an unknown coding": post(b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n"),
    "a coding with a vertical tab": post(b"Transfer-Encoding: \x0bchunked", body=b"0\r\n\r\n"),
    "chunked twice": post(CHUNKED, CHUNKED, body=b"0\r\n\r\n"),
    "no host": b"POST /echo HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
    "two hosts": post(b"Host: other", b"Content-Length: 0"),
    "a nul in a value": post(b"X-A: a\x00b", b"Content-Length: 0"),
    "a bare line feed": b"POST /echo HTTP/1.1\nHost: gateway\nContent-Length: 0\n\n",
    "a bare line feed in a header": post(b"X-A: b\nContent-Length: 5", b"Content-Length: 0"),
    "a bare carriage return": post(b"X-A: b\rContent-Length: 5", b"Content-Length: 0"),
    "a name with a space": post(b"X A: b", b"Content-Length: 0"),
    "a header without a colon": post(b"Nonsense", b"Content-Length: 0"),
    "another version": b"POST /echo HTTP/1.2\r\nHost: gateway\r\nContent-Length: 0\r\n\r\n",
    "a version of the future": b"POST /echo HTTP/2.0\r\nHost: gateway\r\nContent-Length: 0\r\n\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("name", HEADS)
async def test_an_ambiguous_head_is_refused_and_nothing_after_it_is_read(porch: Porch, name: str) -> None:
    async with connected(porch.port) as wire:
        await wire.send(HEADS[name] + SECOND)
        answer = await wire.answer()
        assert (answer.status, answer.code) == (400, "invalid_request")
        assert answer.headers["connection"] == "close"
        assert "server" not in answer.headers
        assert await wire.ended()
    assert porch.seen == []


CHUNKS = {
    "a size that is no number": b"zz\r\nhello\r\n0\r\n\r\n",
    "a negative size": b"-5\r\nhello\r\n0\r\n\r\n",
    "a signed size": b"+5\r\nhello\r\n0\r\n\r\n",
    "a hexadecimal prefix": b"0x5\r\nhello\r\n0\r\n\r\n",
    "an endless size": b"f" * 17 + b"\r\nhello\r\n0\r\n\r\n",
    "no line end after the data": b"5\r\nhelloXX0\r\n\r\n",
    "data longer than its size": b"3\r\nhello\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("name", CHUNKS)
async def test_a_broken_chunk_ends_its_request_and_its_connection(name: str) -> None:
    async with porch_of(limits=BodyLimits(total_s=0.2)) as porch, connected(porch.port) as wire:
        await wire.send(post(CHUNKED, body=CHUNKS[name] + SECOND))
        answer = await wire.answer()
        assert answer.status in {400, 408}, "a parser may wait for as much as it was told to expect"
        wire.fin()
        assert await wire.ended()
    assert porch.seen == []


async def test_chunks_of_an_older_client_are_refused(porch: Porch) -> None:
    head = b"POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with connected(porch.port) as wire:
        await wire.send(head + b"5\r\nhello\r\n0\r\n\r\n" + SECOND)
        assert (await wire.answer()).status == 400
        assert await wire.ended()
    assert porch.seen == []


async def test_a_proper_body_of_chunks_is_taken_and_its_trailer_dropped(porch: Porch) -> None:
    body = b"5;ext=1\r\nhello\r\n3\r\n!!!\r\n0\r\nX-Trailer: /tail/x\r\n\r\n"
    async with connected(porch.port) as wire:
        await wire.send(post(CHUNKED, body=body), request("/tail/next"))
        assert (await wire.answer()).body == b"POST /echo hello!!!"
        assert (await wire.answer()).body == b"GET /tail/next"


async def test_a_body_that_was_not_read_is_not_taken_for_a_request(porch: Porch) -> None:
    async with connected(porch.port) as wire:
        await wire.send(request("/none", method="POST", body=SECOND), request("/tail/next"))
        assert (await wire.answer()).status == 404
        assert (await wire.answer()).body == b"GET /tail/next"
    assert porch.seen == ["GET /tail/next"]


@pytest.mark.parametrize("value", ["a\rb", "a\nb", "é", "x" * 1000])
async def test_odd_values_never_split_an_answer(porch: Porch, value: str) -> None:
    sent = request("/tail/x", headers=(f"X-Request-Id: {value}",))
    answer = await ask(porch.port, sent)
    assert answer.raw.count(b"HTTP/1.1") == 1
