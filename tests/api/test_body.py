import asyncio

import pytest

from ktms.api import fast_lane
from ktms.api.body import BodyLimits, refuse_encoding
from ktms.domain.errors import CallFailed, ErrorCode
from tests.api.porch import Porch, porch_of
from tests.api.wire_client import ask, connected, request

SMALL = BodyLimits(max_bytes=1000)
CHUNKED = b"POST /echo HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(autouse=True)
def lane_without_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lane hands a slow body over after its second, which these tests need not wait for."""
    monkeypatch.setattr(fast_lane, "WHOLE_WITHIN_S", 0.02)


def announced(length: int, *headers: str) -> bytes:
    """A head that announces a body which is not sent."""
    return request(method="POST", headers=(*headers, f"Content-Length: {length}"))


async def test_a_body_arrives_whole(porch: Porch) -> None:
    body = bytes(range(256)) * 4000
    answer = await ask(porch.port, request(method="POST", body=body))
    assert answer.body == b"POST /echo " + body


async def test_an_empty_body_is_a_body(porch: Porch) -> None:
    assert (await ask(porch.port, request(method="POST", body=b""))).body == b"POST /echo"


async def test_a_body_at_the_bound_is_taken() -> None:
    async with porch_of(limits=SMALL) as porch:
        assert (await ask(porch.port, request(method="POST", body=b"x" * 1000))).status == 200


async def test_a_body_whose_length_is_beyond_the_bound_is_refused_unread() -> None:
    async with porch_of(limits=SMALL) as porch, connected(porch.port) as wire:
        await wire.send(announced(1001))
        answer = await wire.answer()
        assert (answer.status, answer.code) == (413, "request_too_large")
        assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("pieces", [1, 20])
async def test_chunks_are_counted_and_refused_beyond_the_bound(pieces: int) -> None:
    body = b"x" * (1020 // pieces)
    async with porch_of(limits=SMALL) as porch, connected(porch.port) as wire:
        await wire.send(CHUNKED, *[b"%x\r\n%b\r\n" % (len(body), body) for _ in range(pieces)])
        answer = await wire.answer()
        assert (answer.status, answer.code) == (413, "request_too_large")


async def test_chunks_within_the_bound_are_taken() -> None:
    async with porch_of(limits=SMALL) as porch:
        answer = await ask(porch.port, CHUNKED, b"3\r\nabc\r\n", b"2\r\nde\r\n0\r\n\r\n")
        assert answer.body == b"POST /echo abcde"


async def test_a_body_that_does_not_come_runs_into_its_deadline() -> None:
    async with porch_of(limits=BodyLimits(total_s=0.1)) as porch, connected(porch.port) as wire:
        began_at = asyncio.get_running_loop().time()
        await wire.send(announced(10))
        answer = await wire.answer()
        assert (answer.status, answer.code) == (408, "request_timeout")
        assert 0.05 < asyncio.get_running_loop().time() - began_at < 8


async def test_a_drip_does_not_move_the_deadline() -> None:
    limits = BodyLimits(total_s=0.15, rate_min_bytes_per_s=1_000_000)
    async with porch_of(limits=limits) as porch, connected(porch.port) as wire:
        await wire.send(announced(1_000_000))

        async def drip() -> None:
            while True:
                await wire.send(b"x")

        async with asyncio.TaskGroup() as group:
            dripping = group.create_task(drip())
            answer = await wire.answer()
            dripping.cancel()
        assert answer.status == 408


async def test_a_large_body_earns_its_time_by_its_rate() -> None:
    limits = BodyLimits(total_s=0.1, rate_min_bytes_per_s=1000)
    async with porch_of(limits=limits) as porch, connected(porch.port) as wire:
        sent = request(method="POST", body=b"x" * 4100)
        await wire.send(sent[:-100])  # four seconds' worth of bytes
        loop = asyncio.get_running_loop()
        later = loop.create_future()
        loop.call_later(0.25, later.set_result, None)
        await later
        await wire.send(sent[-100:])
        assert (await wire.answer()).status == 200


async def test_a_large_body_that_stalls_runs_into_its_deadline() -> None:
    limits = BodyLimits(total_s=0.1, rate_min_bytes_per_s=5000)
    async with porch_of(limits=limits) as porch, connected(porch.port) as wire:
        await wire.send(request(method="POST", body=b"x" * 1000)[:-1])
        assert (await wire.answer()).status == 408


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "deflate", "compress", "gzip, identity"])
async def test_an_encoded_body_is_refused_and_never_decoded(porch: Porch, encoding: str) -> None:
    headers = (f"Content-Encoding: {encoding}",)
    answer = await ask(porch.port, request(method="POST", headers=headers, body=b"\x1f\x8b" * 100))
    assert (answer.status, answer.code) == (415, "unsupported_encoding")


@pytest.mark.parametrize("encoding", ["", "identity"])
def test_a_body_as_it_is_may_say_so(encoding: str) -> None:
    refuse_encoding(encoding)


def test_any_other_word_is_an_encoding() -> None:
    with pytest.raises(CallFailed) as refused:
        refuse_encoding("x-none")
    assert refused.value.problem.code == ErrorCode.UNSUPPORTED_ENCODING


async def test_a_client_that_waits_for_leave_gets_it_once(porch: Porch) -> None:
    async with connected(porch.port) as wire:
        await wire.send(announced(5, "Expect: 100-Continue"))
        assert (await wire.answer(to_head=True)).status == 100
        await wire.send(b"hello")
        assert (await wire.answer()).body == b"POST /echo hello"


async def test_a_client_that_did_not_wait_for_leave_is_served_too(porch: Porch) -> None:
    async with connected(porch.port) as wire:
        await wire.send(announced(5, "Expect: 100-continue") + b"hello" + request("/tail/next"))
        answer = await wire.answer(to_head=True)
        if answer.status == 100:
            answer = await wire.answer(to_head=True)
        assert answer.status == 200


async def test_no_leave_is_given_to_a_body_beyond_the_bound() -> None:
    async with porch_of(limits=SMALL) as porch:
        assert (await ask(porch.port, announced(1001, "Expect: 100-continue"))).status == 413


async def test_another_expectation_is_not_met(porch: Porch) -> None:
    answer = await ask(porch.port, announced(5, "Expect: a-miracle"))
    assert (answer.status, answer.code) == (417, "expectation_failed")


async def test_an_older_clients_expectation_is_not_answered(porch: Porch) -> None:
    head = b"POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
    async with connected(porch.port) as wire:
        await wire.send(head)
        for _ in range(50):
            await asyncio.sleep(0)
        await wire.send(b"hello")
        assert (await wire.answer()).body == b"POST /echo hello"


async def test_a_client_that_leaves_in_its_body_reaches_no_handler(porch: Porch) -> None:
    async with connected(porch.port) as wire:
        await wire.send(announced(10) + b"half")
        wire.leave()
    assert (await ask(porch.port, request())).status == 200
    assert porch.seen == ["GET /echo"]


async def test_many_slow_bodies_keep_nobody_waiting() -> None:
    async with porch_of(limits=BodyLimits(total_s=0.3)) as porch:
        wires = [await asyncio.open_connection("127.0.0.1", porch.port) for _ in range(200)]
        for _, writer in wires:
            writer.write(announced(10) + b"x")
        assert (await ask(porch.port, request())).status == 200
        for reader, writer in wires:
            assert (await reader.readline()).startswith(b"HTTP/1.1 408")
            writer.transport.abort()


async def test_a_chunk_that_breaks_after_good_ones_ends_its_request_at_once(
    porch: Porch, caplog: pytest.LogCaptureFixture
) -> None:
    began_at = asyncio.get_running_loop().time()
    async with connected(porch.port) as wire:
        await wire.send(CHUNKED, b"3\r\nabc\r\n")
        for _ in range(200):
            await asyncio.sleep(0)
        await wire.send(b"zz\r\n")
        answer = await wire.answer()
        assert (answer.status, answer.code) == (400, "invalid_request")
        assert await wire.ended()
    assert porch.seen == []
    assert asyncio.get_running_loop().time() - began_at < 5
    assert caplog.text == ""
