"""Requests whose end two parsers would see in different places are refused, and what follows them is not read.

`test_both_parsers.py` runs this file once more with aiohttp's parser in Python.
"""

import pytest

from ktms.node.filter.bounds import Bounds
from tests.api.wire_client import connected
from tests.node.filter.gate import ASKED, BEARER, Gate, chat, gate_of, models

SECOND = models()
CHUNKED = b"Transfer-Encoding: chunked"


def post(*headers: bytes, body: bytes = b"") -> bytes:
    start = (b"POST /v1/chat/completions HTTP/1.1", b"Host: node", BEARER.encode())
    return b"\r\n".join((*start, *headers)) + b"\r\n\r\n" + body


HEADS = {
    "length and chunks": post(b"Content-Length: 5", CHUNKED, body=b"0\r\n\r\n"),
    "chunks and length": post(CHUNKED, b"Content-Length: 5", body=b"0\r\n\r\n"),
    "two lengths": post(b"Content-Length: 5", b"Content-Length: 6", body=b"hello!"),
    "two equal lengths": post(b"Content-Length: 5", b"Content-Length: 5", body=b"hello"),
    "a list of lengths": post(b"Content-Length: 5, 5", body=b"hello"),
    "a signed length": post(b"Content-Length: +5", body=b"hello"),
    "a hexadecimal length": post(b"Content-Length: 0x5", body=b"hello"),
    "an endless length": post(b"Content-Length: " + b"0" * 30 + b"5", body=b"hello"),
    "a space before the colon": post(b"Transfer-Encoding : chunked", body=b"0\r\n\r\n"),
    "an unknown coding": post(b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n"),
    "gzip in the coding": post(b"Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n"),
    "chunked not last": post(b"Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n"),
    "chunked twice": post(CHUNKED, CHUNKED, body=b"0\r\n\r\n"),
    "a folded header": post(b"X-A: b\r\n c", b"Content-Length: 5", body=b"hello"),
    "a folded length": post(b"Content-Length:\r\n 5", body=b"hello"),
    "bare line feeds": post(b"Content-Length: 5", body=b"hello").replace(b"\r\n", b"\n"),
    "a bare line feed": post(b"X-A: b\nContent-Length: 5", b"Content-Length: 0"),
    "a bare carriage return": post(b"X-A: b\rContent-Length: 5", b"Content-Length: 0"),
    "a nul in a value": post(b"X-A: a\x00b", b"Content-Length: 0"),
    "two hosts": post(b"Host: other", b"Content-Length: 0"),
    "no host": b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
    "two tokens": post(BEARER.encode(), b"Content-Length: 0"),
    "a header without a colon": post(b"Nonsense", b"Content-Length: 0"),
    "a body where none is taken": models("Content-Length: 5") + b"hello",
    "chunks where none are taken": models("Transfer-Encoding: chunked") + b"0\r\n\r\n",
    "another version": models(line=b"GET /v1/models HTTP/1.2"),
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("row", HEADS)
async def test_an_ambiguous_head_is_refused_and_nothing_after_it_is_read(gate: Gate, row: str) -> None:
    async with connected(gate.port) as wire:
        await wire.send(HEADS[row] + SECOND)
        answer = await wire.answer()
        assert (answer.status, answer.code) == (400, "invalid_request")
        assert answer.headers["connection"] == "close"
        wire.fin()
        assert await wire.ended()
    assert gate.engine.heads == []


CHUNKS = {
    "a size that is no number": b"zz\r\nhello\r\n0\r\n\r\n",
    "a signed size": b"+5\r\nhello\r\n0\r\n\r\n",
    "a hexadecimal prefix": b"0x5\r\nhello\r\n0\r\n\r\n",
    "an endless size": b"f" * 17 + b"\r\nhello\r\n0\r\n\r\n",
    "no line end after the data": b"5\r\nhelloXX0\r\n\r\n",
    "data longer than its size": b"3\r\nhello\r\n0\r\n\r\n",
    "an extension with a bare line feed": b"5;a=b\nhello\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("row", CHUNKS)
async def test_a_broken_chunk_ends_its_request_and_its_connection(row: str) -> None:
    async with gate_of(bounds=Bounds(body_s=0.2)) as gate, connected(gate.port) as wire:
        await wire.send(post(CHUNKED, body=CHUNKS[row] + SECOND))
        assert (await wire.answer()).status in {400, 408}, "a parser may wait for as much as it was told to expect"
        wire.fin()
        assert await wire.ended()
        assert gate.engine.heads == []


async def test_a_proper_body_of_chunks_is_taken_and_its_trailer_dropped(gate: Gate) -> None:
    whole = chat().partition(b"\r\n\r\n")[2]
    body = b"%x;ext=1\r\n%b\r\n0\r\nX-Trailer: x\r\n\r\n" % (len(whole), whole)
    async with connected(gate.port) as wire:
        await wire.send(post(CHUNKED, body=body), SECOND)
        asked = await gate.engine.asked()
        await asked.answer(b'{"first":1}')
        assert (await wire.answer()).json == {"first": 1}
        assert (await wire.answer()).json["object"] == "list"
    assert b"railer" not in asked.head


async def test_a_body_that_is_a_request_is_not_taken_for_one(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        await wire.send(chat(SECOND), chat({**ASKED, "model": "other"}))
        assert (await wire.answer()).status == 400
        assert (await wire.answer()).status == 404


@pytest.mark.parametrize("coding", ["gzip", "zstd", "deflate", "br", "identity, gzip"])
async def test_a_coded_body_is_refused(gate: Gate, coding: str) -> None:
    answer = await gate.refuses(chat(b"\x1f\x8b\x08", f"Content-Encoding: {coding}"))
    assert (answer.status, answer.code) == (415, "unsupported_encoding")
