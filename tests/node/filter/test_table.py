"""Every row of the table of targets and heads that got past other filters, over a raw socket.

`test_both_parsers.py` runs this file once more with aiohttp's parser in Python: the answers are the same.
"""

import asyncio

import pytest

from tests.api.wire_client import ask, connected
from tests.node.filter.gate import ASKED, BEARER, Gate, chat, head_of, models

SECOND = models()


def line(target: bytes, method: bytes = b"GET") -> bytes:
    return method + b" " + target + b" HTTP/1.1"


NOT_FOUND = {
    "two slashes before": b"//v1/models",
    "two slashes within": b"/v1//models",
    "a slash behind": b"/v1/models/",
    "capital letters": b"/V1/models",
    "a dot": b"/v1/./models",
    "two dots": b"/v1/x/../models",
    "a parameter": b"/v1/models;a=b",
    "a dot behind": b"/v1/models.",
    "an escaped nul": b"/v1/models%00",
    "an escaped space": b"/v1/models%20",
    "an escaped slash": b"/v1%2Fmodels",
    "an escaped slash in small letters": b"/v1%2fmodels",
    "an escaped letter": b"/v1/%6dodels",
    "escaped dots": b"/v1/%2e%2e/api/delete",
    "a backslash": b"/v1\\models",
    "the engine's own": b"/api/delete",
    "the root": b"/",
    "an escape of the first slash": b"/%2fv1/models",
}


@pytest.mark.parametrize("row", NOT_FOUND)
async def test_a_target_that_is_not_the_exact_bytes_is_none(gate: Gate, row: str) -> None:
    answer = await gate.refuses(models(line=line(NOT_FOUND[row])))
    assert (answer.status, answer.code) == (404, "not_found")
    assert answer.headers["connection"] == "close"


ODD_TARGETS = {
    "absolute form": line(b"http://evil/v1/models"),
    "absolute form with our own name": line(b"http://node/v1/models"),
    "a fragment": line(b"/v1/models#x"),
    "a fragment behind a query": line(b"/v1/models?x#y"),
    "bytes that are no UTF-8": line(b"/v1/models\xc0\xaf"),
    "bytes that are no UTF-8 in the middle": line(b"/v1\xc0\xafmodels"),
    "letters beyond ASCII": line("/v1/modèls".encode()),
    "small letters as method": b"get /v1/models HTTP/1.1",
    "mixed letters as method": b"Get /v1/models HTTP/1.1",
    "an asterisk": line(b"*"),
    "no slash": line(b"v1/models"),
    "HTTP/1.0": b"GET /v1/models HTTP/1.0",
    "no version": b"GET /v1/models",
    "a tab": b"GET\t/v1/models HTTP/1.1",
}


@pytest.mark.parametrize("row", ODD_TARGETS)
async def test_an_odd_request_line_is_refused(gate: Gate, row: str) -> None:
    answer = await gate.refuses(models(line=ODD_TARGETS[row]))
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert answer.headers["connection"] == "close"


async def test_more_spaces_in_a_request_line_change_nothing_of_what_the_engine_gets(gate: Gate) -> None:
    """The parser in C takes several for one, as RFC 9112 (3) allows; the one in Python refuses them."""
    async with connected(gate.port) as wire, asyncio.TaskGroup() as group:
        await wire.send(chat().replace(b"POST /v1", b"POST   /v1"))
        answer, asked = group.create_task(wire.answer()), group.create_task(gate.engine.asked())
        await asyncio.wait((answer, asked), return_when=asyncio.FIRST_COMPLETED)
        if asked.done():
            assert asked.result().lines[0] == "POST /v1/chat/completions HTTP/1.1"
            await asked.result().answer(b"{}")
        asked.cancel()
        assert (await answer).status in {200, 400}


async def test_http_of_the_last_century_without_host_is_refused(gate: Gate) -> None:
    answer = await gate.refuses(f"GET /v1/models HTTP/1.0\r\n{BEARER}\r\n\r\n".encode())
    assert answer.status == 400


async def test_a_query_is_dropped(gate: Gate) -> None:
    assert (await ask(gate.port, models(line=line(b"/v1/models?x=/../")))).status == 200
    async with connected(gate.port) as wire:
        await wire.send(chat(target="/v1/chat/completions?x=/../&api=%2fdelete"))
        asked = await gate.engine.asked()
        await asked.answer(b"{}")
    assert asked.lines[0] == "POST /v1/chat/completions HTTP/1.1"


async def test_connect_is_refused_and_what_follows_is_not_read(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        await wire.send(b"CONNECT 127.0.0.1:11434 HTTP/1.1\r\nHost: x\r\n\r\n" + SECOND)
        assert (await wire.answer()).status in {400, 405}
        assert await wire.ended()


async def test_connect_to_a_route_is_refused(gate: Gate) -> None:
    assert (await gate.refuses(models(line=line(b"/v1/models", b"CONNECT")))).status == 405


@pytest.mark.parametrize("protocol", ["websocket", "h2c", "tcp", "TLS/1.0"])
async def test_an_upgrade_is_refused_and_what_follows_is_not_read(gate: Gate, protocol: str) -> None:
    async with connected(gate.port) as wire:
        await wire.send(models("Connection: Upgrade", f"Upgrade: {protocol}"), SECOND)
        assert (await wire.answer()).status == 400
        assert await wire.ended()


@pytest.mark.parametrize("header", ["Connection: keep-alive, Upgrade", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"])
async def test_half_an_upgrade_is_refused_too(gate: Gate, header: str) -> None:
    assert (await gate.refuses(models(header))).status == 400


async def test_head_is_refused_without_a_body(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        await wire.send(models(line=line(b"/v1/models", b"HEAD")))
        assert b" 405 " in (await head_of(wire)).partition(b"\r\n")[0]
        assert await wire.ended()


@pytest.mark.parametrize("method", [b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"TRACE"])
async def test_another_method_is_told_which_is_taken(gate: Gate, method: bytes) -> None:
    answer = await gate.refuses(models(line=line(b"/v1/models", method)))
    assert (answer.status, answer.headers["allow"]) == (405, "GET")


async def test_a_method_nobody_knows_is_refused(gate: Gate) -> None:
    assert (await gate.refuses(models(line=line(b"/v1/models", b"BREW")))).status in {400, 405}


@pytest.mark.parametrize("name", ["X-HTTP-Method-Override", "X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Host"])
async def test_headers_that_would_rewrite_a_request_are_dropped(gate: Gate, name: str) -> None:
    assert (await ask(gate.port, models(f"{name}: DELETE"))).status == 200
    async with connected(gate.port) as wire:
        await wire.send(chat(ASKED, f"{name}: /api/delete"))
        asked = await gate.engine.asked()
    assert b"delete" not in asked.head


@pytest.mark.parametrize("origin", ["https://evil.example", "null", ""])
async def test_a_browser_is_refused(gate: Gate, origin: str) -> None:
    answer = await gate.refuses(models(f"Origin: {origin}"))
    assert answer.status == 403
    assert not any(name.startswith("access-control") for name in answer.headers)


async def test_no_answer_names_a_server_or_allows_an_origin(gate: Gate) -> None:
    answer = await ask(gate.port, models())
    assert set(answer.headers) == {"date", "content-type", "content-length", "x-ktms-node-state"}
