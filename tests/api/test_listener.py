import asyncio
import logging
import socket
from contextlib import AsyncExitStack

import pytest

from ktms.api.body import BodyLimits
from ktms.api.listener import ListenerSettings
from ktms.api.request_head import HEADERS_MAX
from tests.api.porch import FLOOD_BYTES, Porch, porch_of
from tests.api.wire_client import ask, connected, request, silent

SOON = ListenerSettings(head_s=0.15, idle_s=0.3)


async def test_a_request_reaches_its_route(porch: Porch) -> None:
    answer = await ask(porch.port, request("/echo?a=b"))
    assert (answer.status, answer.body) == (200, b"GET /echo?a=b")


async def test_no_answer_names_a_server(porch: Porch) -> None:
    for sent in (request(), request("/none"), b"garbage\r\n\r\n"):
        assert "server" not in (await ask(porch.port, sent)).headers


@pytest.mark.parametrize(
    "target", ["/", "/none", "//", "/tail", "/%2f", "/./", "/../echo", "/TAIL/", "/broken/", "/tail%2fx"]
)
async def test_an_unknown_route_is_not_found(porch: Porch, target: str) -> None:
    answer = await ask(porch.port, request(target))
    assert (answer.status, answer.code, porch.seen) == (404, "not_found", [])


@pytest.mark.parametrize("tail", ["x", "a/b", "a%2Fb", ".."])
async def test_a_route_that_ends_in_a_slash_takes_what_follows(porch: Porch, tail: str) -> None:
    assert (await ask(porch.port, request(f"/tail/{tail}"))).body == f"GET /tail/{tail}".encode()


async def test_a_wrong_method_says_which_ones_are_right(porch: Porch) -> None:
    answer = await ask(porch.port, request(method="DELETE"))
    assert (answer.status, answer.code, answer.headers["allow"]) == (405, "method_not_allowed", "GET, POST")


@pytest.mark.parametrize(
    "line",
    [
        b"GET http://evil.example/ HTTP/1.1",
        b"GET https://gateway/ HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
    ],
)
async def test_a_target_that_is_no_path_is_refused_and_the_connection_closed(porch: Porch, line: bytes) -> None:
    async with connected(porch.port) as wire:
        await wire.send(line + b"\r\nHost: gateway\r\n\r\n")
        answer = await wire.answer()
        assert (answer.status, answer.code) == (400, "invalid_request")
        assert await wire.ended()
    assert porch.seen == []


async def test_a_tunnel_is_refused(porch: Porch) -> None:
    async with connected(porch.port) as wire:
        await wire.send(b"CONNECT evil.example:443 HTTP/1.1\r\nHost: gateway\r\n\r\n", request())
        answer = await wire.answer()
        assert (answer.status, answer.headers["connection"]) == (400, "close")
        wire.fin()
        assert await wire.ended()
    assert porch.seen == []


@pytest.mark.parametrize(
    "headers",
    [
        ("X-Original-URL: /tail/admin",),
        ("X-Rewrite-URL: /tail/admin",),
        ("X-Forwarded-Host: evil.example", "X-Forwarded-Prefix: /tail"),
        ("X-HTTP-Method-Override: DELETE",),
    ],
)
async def test_headers_that_name_another_route_are_not_followed(porch: Porch, headers: tuple[str, ...]) -> None:
    assert (await ask(porch.port, request("/echo", headers=headers))).body == b"GET /echo"


async def test_a_forged_host_changes_nothing(porch: Porch) -> None:
    answer = await ask(porch.port, b"GET /echo HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    assert answer.body == b"GET /echo"


async def test_requests_in_a_row_are_answered_in_their_order(porch: Porch) -> None:
    async with connected(porch.port) as wire:
        await wire.send(b"".join(request(f"/tail/{number}") for number in range(50)))
        answers = [(await wire.answer()).body for _ in range(50)]
    assert answers == [f"GET /tail/{number}".encode() for number in range(50)]


async def test_a_head_may_come_in_any_pieces(porch: Porch) -> None:
    sent = request(method="POST", body=b"hello")
    async with connected(porch.port) as wire:
        await wire.send(*(sent[at : at + 1] for at in range(len(sent))))
        assert (await wire.answer()).body == b"POST /echo hello"


@pytest.mark.parametrize("target", ["/echo", "/none"])
async def test_head_is_refused_without_a_body_that_would_be_taken_for_an_answer(porch: Porch, target: str) -> None:
    async with connected(porch.port) as wire:
        await wire.send(request(target, method="HEAD"), request("/tail/next"))
        assert (await wire.answer(to_head=True)).status in {404, 405}
        assert (await wire.answer()).body == b"GET /tail/next"


async def test_an_older_client_is_answered_and_let_go(porch: Porch) -> None:
    async with connected(porch.port) as wire:
        await wire.send(b"GET /echo HTTP/1.0\r\n\r\n")
        answer = await wire.answer()
        assert (answer.body, answer.headers["connection"]) == (b"GET /echo", "close")
        assert await wire.ended()


async def test_an_older_client_may_ask_to_stay(porch: Porch) -> None:
    async with connected(porch.port) as wire:
        for _ in range(2):
            await wire.send(b"GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            assert (await wire.answer()).headers["connection"] == "keep-alive"


async def test_a_client_that_asks_to_close_is_let_go(porch: Porch) -> None:
    async with connected(porch.port) as wire:
        await wire.send(request(headers=("Connection: close",)))
        assert (await wire.answer()).headers["connection"] == "close"
        assert await wire.ended()


@pytest.mark.parametrize("upgrade", ["h2c", "websocket", "TLS/1.0"])
async def test_an_offer_to_upgrade_is_ignored(porch: Porch, upgrade: str) -> None:
    headers = ("Connection: Upgrade", f"Upgrade: {upgrade}")
    async with connected(porch.port) as wire:
        await wire.send(request(method="POST", headers=headers, body=b"hello"))
        assert (await wire.answer()).body == b"POST /echo hello"


async def test_our_own_mistake_is_a_500_without_a_word_of_it_and_logged(porch: Porch) -> None:
    async with connected(porch.port) as wire:
        await wire.send(request("/broken"))
        answer = await wire.answer()
        assert (answer.status, answer.code) == (500, "internal_error")
        assert await wire.ended()
    assert b"secret" not in answer.body
    (event,) = porch.telemetry.events
    assert (event.level, event.name, event.facts["kind"]) == ("error", "internal_error", "ValueError")
    assert "secret" not in repr(event)


async def test_what_is_no_http_is_refused_in_our_shape_and_nothing_is_logged(
    porch: Porch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        async with connected(porch.port) as wire:
            await wire.send(b"\x16\x03\x01\x02\x00\x01secret\r\n\r\n")
            answer = await wire.answer()
            assert (answer.status, answer.code) == (400, "invalid_request")
            assert await wire.ended()
    assert b"secret" not in answer.body
    assert "secret" not in caplog.text
    assert porch.telemetry.events == []


async def test_too_many_headers_are_refused(porch: Porch) -> None:
    headers = tuple(f"X-{number}: 1" for number in range(HEADERS_MAX + 5))
    assert (await ask(porch.port, request(headers=headers))).status == 400
    assert porch.seen == []


async def test_as_many_headers_as_any_client_sends_are_taken(porch: Porch) -> None:
    headers = tuple(f"X-{number}: 1" for number in range(HEADERS_MAX - 10))
    assert (await ask(porch.port, request(headers=headers))).status == 200


@pytest.mark.parametrize("sent", [request("/" + "x" * 9000), request(headers=("X-Long: " + "x" * 9000,))])
async def test_a_line_too_long_is_refused(porch: Porch, sent: bytes) -> None:
    assert (await ask(porch.port, sent)).status == 400
    assert porch.seen == []


@pytest.mark.parametrize("sent", [b"", b"GET /echo HT", b"GET /echo HTTP/1.1\r\nHost: gateway\r\nX-Half"])
async def test_a_head_has_its_deadline(sent: bytes) -> None:
    async with porch_of(ListenerSettings(head_s=0.15, idle_s=60)) as porch, connected(porch.port) as wire:
        began_at = asyncio.get_running_loop().time()
        await wire.send(sent)
        assert await wire.ended()
        assert 0.1 < asyncio.get_running_loop().time() - began_at < 8


async def test_a_drip_does_not_move_the_deadline_of_its_head() -> None:
    async with porch_of(SOON) as porch, connected(porch.port) as wire:

        async def drip() -> None:
            try:
                while True:
                    await wire.send(b"X-A: b\r\n")
            except ConnectionError:
                pass

        await wire.send(b"GET /echo HTTP/1.1\r\n")
        async with asyncio.TaskGroup() as group:
            dripping = group.create_task(drip())
            ended = group.create_task(wire.rest())
            await asyncio.wait((dripping, ended), return_when=asyncio.FIRST_COMPLETED)
            dripping.cancel()
    assert porch.seen == []


async def test_half_a_head_after_an_answer_has_its_deadline_too() -> None:
    async with porch_of(ListenerSettings(head_s=0.15, idle_s=60)) as porch, connected(porch.port) as wire:
        await wire.send(request())
        await wire.answer()
        await wire.send(b"GET /echo HT")
        assert await wire.ended()


async def test_an_idle_connection_has_its_deadline() -> None:
    async with porch_of(SOON) as porch, connected(porch.port) as wire:
        await wire.send(request())
        await wire.answer()
        began_at = asyncio.get_running_loop().time()
        assert await wire.ended()
        assert 0.2 < asyncio.get_running_loop().time() - began_at < 8


async def test_a_call_that_takes_long_has_no_deadline_here() -> None:
    async with porch_of(SOON) as porch, connected(porch.port) as wire:
        await wire.send(request("/hold"))
        await porch.until(1)
        asyncio.get_running_loop().call_later(0.6, porch.hold.set)
        assert (await wire.answer()).status == 200


async def test_many_half_heads_keep_nobody_waiting() -> None:
    async with porch_of(ListenerSettings(head_s=1, idle_s=60)) as porch, AsyncExitStack() as opened:
        wires = [await opened.enter_async_context(connected(porch.port)) for _ in range(100)]
        for wire in wires:
            await wire.send(b"GET /echo HT")
        assert (await ask(porch.port, request())).status == 200
        for wire in wires:
            assert await wire.ended()


async def test_a_client_that_leaves_cancels_its_call(porch: Porch) -> None:
    async with connected(porch.port) as wire:
        await wire.send(request("/hold"))
        await porch.until(1)
        wire.leave()
    async with asyncio.timeout(5):
        while not porch.cancelled:  # noqa: ASYNC110 - the handler knows nothing of this test
            await asyncio.sleep(0)


async def test_a_closed_port_takes_no_connection_and_ends_idle_ones(porch: Porch) -> None:
    async with connected(porch.port) as wire:
        await wire.send(request())
        await wire.answer()
        porch.listener.close()
        assert await wire.ended()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", porch.port)


async def test_a_call_under_way_outlives_the_closing_of_its_port(porch: Porch) -> None:
    async with connected(porch.port) as wire:
        await wire.send(request("/hold"))
        await porch.until(1)
        porch.listener.close()
        porch.hold.set()
        assert (await wire.answer()).status == 200
        assert await wire.ended()


async def test_a_body_under_way_outlives_the_closing_of_its_port(porch: Porch) -> None:
    sent = request(method="POST", body=b"hello")
    async with connected(porch.port) as wire:
        await wire.send(sent[:-3])
        await _settled()
        porch.listener.close()
        await wire.send(sent[-3:] + request("/tail/next"))
        assert (await wire.answer()).body == b"POST /echo hello"
        assert await wire.ended(), "no other request is taken"


async def test_a_broken_body_under_way_ends_with_its_connection(porch: Porch) -> None:
    head = b"POST /echo HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with connected(porch.port) as wire:
        await wire.send(head + b"3\r\nabc\r\n")
        await _settled()
        porch.listener.close()
        await wire.send(b"zz\r\n")
        await wire.rest()
    assert porch.seen == []


async def test_a_port_that_is_left_asks_its_clients_to_go(porch: Porch) -> None:
    async with connected(porch.port) as wire:
        await wire.send(request())
        assert "connection" not in (await wire.answer()).headers
        porch.listener.leave()
        await wire.send(request())
        answer = await wire.answer()
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert await wire.ended()
    assert (await ask(porch.port, request())).status == 200, "new ones are still served"


async def test_stopping_cancels_what_still_runs(porch: Porch) -> None:
    async with connected(porch.port) as wire:
        await wire.send(request("/hold"))
        await porch.until(1)
        await porch.listener.stop()
        assert await wire.ended()
    assert porch.cancelled == 1


async def test_a_closed_port_is_quiet_when_its_clients_have_their_answers(porch: Porch) -> None:
    async with connected(porch.port) as idle, silent(porch.port, request("/flood")) as sock:
        await idle.send(request())
        await idle.answer()
        await porch.until(2)
        porch.listener.close()
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            quiet = group.create_task(porch.listener.quiet())
            assert await idle.ended()
            assert not quiet.done()
            assert await _bytes_left(sock) > FLOOD_BYTES


async def test_stopping_twice_or_before_the_start_is_harmless(porch: Porch) -> None:
    await porch.listener.stop()
    await porch.listener.stop()
    idle = Porch(ListenerSettings(), porch.limits)
    idle.listener.leave()
    idle.listener.close()
    await idle.listener.stop()


async def test_a_taken_port_is_told(porch: Porch) -> None:
    with pytest.raises(OSError, match="in use"):
        await Porch(ListenerSettings(), porch.limits).listener.start("127.0.0.1", porch.port)


async def test_workers_may_share_a_port() -> None:
    first, second = (Porch(ListenerSettings(), BodyLimits()) for _ in range(2))
    port = await first.listener.start("127.0.0.1", 0, reuse_port=True)
    assert await second.listener.start("127.0.0.1", port, reuse_port=True) == port
    await first.listener.stop()
    await second.listener.stop()


async def _settled() -> None:
    for _ in range(200):
        await asyncio.sleep(0)


@pytest.mark.parametrize("target", ["/echo", "/none"])
async def test_a_length_of_thousands_of_digits_is_refused(porch: Porch, target: str) -> None:
    head = f"POST {target} HTTP/1.1\r\nHost: gateway\r\nContent-Length: {'0' * 5000}1\r\n\r\n"
    async with connected(porch.port) as wire:
        await wire.send(head.encode() + b"x")
        said = await wire.rest()
    assert said == b"" or said.startswith(b"HTTP/1.1 400 ")  # the parser in Python just closes
    assert porch.seen == []
    assert porch.telemetry.events == []


@pytest.mark.parametrize("wish", [(), ("Connection: close",)], ids=["kept", "closing"])
async def test_a_client_that_never_reads_is_cut_off(wish: tuple[str, ...]) -> None:
    async with (
        porch_of(ListenerSettings(idle_s=0.1, stall_s=0.1)) as porch,
        silent(porch.port, request("/flood", headers=wish) + (b"" if wish else request("/echo"))) as sock,
    ):
        await porch.until(1)
        assert porch.flooded is not None
        async with asyncio.timeout(10):
            while not porch.flooded.is_closing():  # noqa: ASYNC110 - a transport tells nobody
                await asyncio.sleep(0)
        assert await _bytes_left(sock) < FLOOD_BYTES
    assert porch.seen == ["flood"]


async def _bytes_left(sock: socket.socket) -> int:
    """Read until the connection ends, however it does."""
    count = 0
    try:
        while piece := await asyncio.get_running_loop().sock_recv(sock, 1 << 20):
            count += len(piece)
    except ConnectionResetError:
        pass
    return count
