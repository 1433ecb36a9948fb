"""A target as a server: framing, keep-alive, back-pressure, and what ends a connection."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest

from sim.draft import VENDOR_MODEL
from tests.sim.fakes.desk import PORT, Desk, chat, whole
from tests.sim.fakes.targets import OPENAI, VLLM

Make = Callable[..., Desk]

BODY = b'{"model":"%b","messages":[{"role":"user","content":"call=c1 tokens=2"}]%b}'
NAMED = BODY % (VENDOR_MODEL.encode(), b"")
STREAMED = BODY % (VENDOR_MODEL.encode(), b',"stream":true')


def request(body: bytes = NAMED, *lines: bytes, version: bytes = b"1.1") -> bytes:
    head = b"POST /v1/chat/completions HTTP/%b\r\nHost: x\r\nAuthorization: Bearer k\r\n" % version
    return head + b"".join(line + b"\r\n" for line in lines) + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Raw(asyncio.Protocol):
    """A client that only writes and keeps."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.eof = False
        self.error: Exception | None = None
        self.lost = False

    @property
    def got(self) -> bytes:
        return b"".join(self.pieces)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.pieces.append(data)

    def eof_received(self) -> None:
        self.eof = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.error, self.lost = exc, True


def dial(at: Desk) -> Raw:
    async def connect() -> Raw:
        _, made = await at.loop.create_connection(Raw, at.origin.host, PORT)
        return cast("Raw", made)

    return at.run(connect())


def test_a_whole_answer_has_a_length_and_the_connection_stays(desk: Make) -> None:
    at = desk(OPENAI)
    client = dial(at)
    client.transport.write(request())
    at.pass_s(5)
    head, _, body = client.got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert b"Content-Length: %d" % len(body) in head
    assert not client.eof


def test_a_stream_is_chunked(desk: Make) -> None:
    at = desk(OPENAI)
    client = dial(at)
    client.transport.write(request(STREAMED))
    at.pass_s(5)
    assert b"Transfer-Encoding: chunked" in client.got
    assert client.got.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")


def test_a_request_may_come_byte_by_byte(desk: Make) -> None:
    at = desk(OPENAI)
    client = dial(at)
    for byte in request():
        client.transport.write(bytes([byte]))
    at.pass_s(5)
    assert client.got.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "asked", [request(NAMED, b"Connection: close"), request(version=b"1.0")], ids=["close", "1.0"]
)
def test_the_connection_ends_where_the_client_wants_it(desk: Make, asked: bytes) -> None:
    at = desk(OPENAI)
    client = dial(at)
    client.transport.write(asked)
    at.pass_s(5)
    assert b"Connection: close" in client.got
    assert client.eof


def test_requests_in_a_row_are_answered_in_order_on_one_connection(desk: Make) -> None:
    at = desk(OPENAI)
    client = dial(at)
    client.transport.write(request() * 4)
    at.pass_s(20)
    assert client.got.count(b"HTTP/1.1 200") == 4
    assert [client.got.find(b"%d.1 " % n) for n in range(1, 5)] == sorted(
        client.got.find(b"%d.1 " % n) for n in range(1, 5)
    )


def test_what_is_no_request_is_400_and_the_end(desk: Make) -> None:
    at = desk(OPENAI)
    client = dial(at)
    client.transport.write(b"\x16\x03\x01 hello\r\n\r\n")
    at.pass_s()
    assert (client.got[:12], client.eof) == (b"HTTP/1.1 400", True)


def test_an_idle_connection_is_closed_when_the_engine_has_waited_long_enough(desk: Make) -> None:
    at = desk(VLLM)
    client = dial(at)
    at.pass_s(VLLM.first_token_s + 4)
    assert not client.eof
    at.pass_s(2)
    assert client.eof


def test_a_connection_dropped_while_idle_costs_the_gateway_no_call(desk: Make) -> None:
    at = desk(VLLM)
    assert at.post(whole()).status == 200
    at.pass_s(5.1)
    assert (at.post(whole()).status, at.house.open_total) == (200, 1)


def test_connections_are_used_again(desk: Make) -> None:
    at = desk(OPENAI)
    for _ in range(3):
        at.post()
        at.pass_s(0.2)
    assert (at.house.open_total, at.wire.open_connections) == (1, 1)


@pytest.mark.parametrize("by_reset", [True, False])
def test_a_lost_connection_closes_the_answer_at_once(desk: Make, by_reset: bool) -> None:
    at = desk(OPENAI)
    client = dial(at)
    client.transport.write(request(STREAMED.replace(b"tokens=2", b"tokens=9999")))
    at.pass_s(3)
    if by_reset:
        at.network.reset(client.transport)
    else:
        client.transport.close()
    at.pass_s(0.1)
    told = at.told
    assert (told.members["how"], told.members["visible"], at.target.busy) == ("left", True, 0)
    assert told.at < at.loop.time() - 0.05
    assert at.house.open_total == 0


def test_a_client_that_does_not_read_holds_the_answer_back(desk: Make) -> None:
    at = desk(replace(OPENAI, token_s=0.0001))
    client = dial(at)
    client.transport.write(request(STREAMED.replace(b"tokens=2", b"tokens=9000")))
    at.pass_s(1)
    client.transport.pause_reading()
    at.pass_s(60)
    assert at.target.busy == 1
    client.transport.resume_reading()
    at.pass_s(60)
    assert at.told.members["how"] == "whole"
    assert client.got.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize("seed", range(6))
def test_a_cut_is_a_fin_or_a_reset(desk: Make, seed: int) -> None:
    at = desk(OPENAI, seed=seed)
    at.target.fault("cut", 1, on=True)
    client = dial(at)
    client.transport.write(request(STREAMED))
    at.pass_s(5)
    assert client.lost
    assert client.eof != isinstance(client.error, ConnectionResetError)


def test_a_silent_target_hears_its_peer_leave(desk: Make) -> None:
    at = desk(OPENAI)
    at.target.fault("silent", 0, on=True)
    client = dial(at)
    client.transport.write(request())
    at.pass_s(100)
    assert at.target.busy == 1
    client.transport.close()
    at.pass_s(0.1)
    assert (at.told.members["how"], at.target.busy) == ("silent", 0)


def test_the_gateway_is_named_by_whoever_knows_the_network(desk: Make) -> None:
    at = desk(OPENAI)
    at.post(chat())
    assert at.facts("asked")[0].members["gateway"] == "10.0.0.1"
    at.house.gateway_of = lambda _: "gateway"
    at.post(chat())
    assert at.facts("asked")[1].members["gateway"] in ("10.0.0.1", "gateway")  # that of the connection
