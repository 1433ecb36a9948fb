"""The door: who is let in, what a body must be, what is told while the node drains.

`test_both_parsers.py` runs this file once more with aiohttp's parser in Python.
"""

import asyncio
import json
import ssl
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ktms.node.filter.door import Filter
from ktms.node.filter.target import Route
from ktms.node.state import EngineState, NodeState
from tests.api.wire_client import ask, connected
from tests.node.filter.gate import (
    ASKED,
    BEARER,
    TOKEN,
    Gate,
    chat,
    engine_state,
    gate_of,
    head_of,
    models,
    piece_of,
    settings_of,
    streamed,
)

WRONG_TOKENS = {
    "none": None,
    "another": "Authorization: Bearer other",
    "the first half": f"Authorization: Bearer {TOKEN[:8]}",
    "one letter more": f"Authorization: Bearer {TOKEN}x",
    "another scheme": f"Authorization: Basic {TOKEN}",
    "no scheme": f"Authorization: {TOKEN}",
    "empty": "Authorization: Bearer ",
    "in another header": f"X-Api-Key: {TOKEN}",
}


@pytest.mark.parametrize("row", WRONG_TOKENS)
@pytest.mark.parametrize("asks", [chat, models])
async def test_without_the_token_nobody_is_served(gate: Gate, row: str, asks: object) -> None:
    sent = chat(token=WRONG_TOKENS[row]) if asks is chat else models(token=WRONG_TOKENS[row])
    answer = await gate.refuses(sent)
    assert (answer.status, answer.code) == (401, "invalid_api_key")
    assert (answer.headers["www-authenticate"], answer.headers["connection"]) == ("Bearer", "close")


async def test_all_wrong_tokens_are_told_the_same(gate: Gate) -> None:
    bodies = {(await gate.refuses(models(token=token))).body for token in WRONG_TOKENS.values()}
    assert len(bodies) == 1


async def test_who_has_no_token_does_not_learn_whether_the_node_drains(gate: Gate) -> None:
    gate.state.drain()
    answer = await gate.refuses(chat(token=None))
    assert (answer.status, "x-ktms-node-state" in answer.headers) == (401, False)


async def test_the_scheme_of_the_token_may_be_written_in_any_case(gate: Gate) -> None:
    assert (await ask(gate.port, models(token=BEARER.replace("Bearer", "bearer")))).status == 200


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"NaN", b'{"model": NaN}', b"[" * 100_000])
async def test_a_body_that_is_no_json_object_is_refused(gate: Gate, body: bytes) -> None:
    answer = await gate.refuses(chat(body))
    assert (answer.status, answer.code) == (400, "invalid_request")


@pytest.mark.parametrize("name", ["other", "qwen3", "qwen3:4b:latest", "gpt-oss:120b-cloud", "x:cloud"])
async def test_a_model_of_somebody_else_is_refused(gate: Gate, name: str) -> None:
    answer = await gate.refuses(chat({**ASKED, "model": name}))
    assert (answer.status, answer.code, answer.json["error"]["param"]) == (404, "model_not_found", "model")


async def test_a_model_without_its_tag_is_sent_by_the_engines_own_name() -> None:
    async with gate_of("llama:latest") as gate, connected(gate.port) as wire:
        await wire.send(chat({**ASKED, "model": "llama"}))
        asked = await gate.engine.asked()
        await asked.answer(b"{}")
        assert json.loads(asked.body)["model"] == "llama:latest"


async def test_a_model_that_the_owner_did_not_name_is_refused() -> None:
    async with gate_of("qwen3:4b", "private:1b", models=("qwen3:4b",)) as gate:
        assert (await gate.refuses(chat({**ASKED, "model": "private:1b"}))).status == 404


async def test_what_loads_a_model_anew_never_reaches_the_engine(gate: Gate) -> None:
    tampered = {
        **ASKED,
        "options": {"num_ctx": 1},
        "num_ctx": 1,
        "keep_alive": 0,
        "Options": {"num_ctx": 1},
        "seed": 7,
    }
    async with connected(gate.port) as wire:
        await wire.send(chat(tampered))
        asked = await gate.engine.asked()
        await asked.answer(b"{}")
    assert json.loads(asked.body) == {**ASKED, "seed": 7}


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/x", "https://x/y.png", "file:///etc/passwd", "HTTP://X", " data:"]
)
async def test_a_picture_from_elsewhere_is_refused(gate: Gate, url: str) -> None:
    content = [{"type": "image_url", "image_url": {"url": url}}]
    answer = await gate.refuses(chat({**ASKED, "messages": [{"role": "user", "content": content}]}))
    assert (answer.status, answer.json["error"]["param"]) == (400, "messages")


async def test_the_engine_gets_one_head_made_of_constants(gate: Gate) -> None:
    noise = ("User-Agent: evil", "Cookie: a=b", "X-Forwarded-For: 1.2.3.4", "Accept: */*", "Accept-Encoding: gzip")
    async with connected(gate.port) as wire:
        await wire.send(chat(ASKED, *noise))
        asked = await gate.engine.asked()
        await asked.answer(b"{}")
    assert asked.lines == [
        "POST /v1/chat/completions HTTP/1.1",
        f"Host: 127.0.0.1:{gate.engine.port}",
        "Content-Type: application/json",
        "Accept: application/json",
        "Accept-Encoding: identity",
        "User-Agent: ktms-node",
        f"Content-Length: {len(asked.body)}",
    ]


async def test_the_list_of_models_is_the_nodes_own_and_asks_no_engine(gate: Gate) -> None:
    answer = await gate.refuses(models())
    assert [entry["id"] for entry in answer.json["data"]] == ["qwen3:4b"]
    assert answer.headers["x-ktms-node-state"] == "ready"


async def test_an_engine_that_does_not_answer_has_no_list(gate: Gate) -> None:
    gate.state.saw(EngineState(gate.state.engine.kind))
    assert (await gate.refuses(models())).status == 503


async def test_a_node_that_drains_refuses_new_calls_and_finishes_those_that_run(gate: Gate) -> None:
    async with connected(gate.port) as running:
        await running.send(streamed())
        asked = await gate.engine.asked()
        await asked.begin_events()
        await head_of(running)
        gate.state.drain()
        refused = await ask(gate.port, chat())
        assert (refused.status, refused.code, refused.headers["x-ktms-node-state"]) == (
            503,
            "draining",
            "draining",
        )
        assert (await ask(gate.port, models())).headers["x-ktms-node-state"] == "draining"
        await asked.piece(b"data: [DONE]\n\n")
        await asked.end()
        assert await piece_of(running) == b"data: [DONE]\n\n"
        assert await piece_of(running) == b""
    assert len(gate.engine.heads) == 1


async def test_of_each_answer_the_route_and_the_status_are_told(gate: Gate) -> None:
    await ask(gate.port, models())
    await ask(gate.port, chat(token=None))
    await ask(gate.port, models(line=b"GET /secret HTTP/1.1"))
    assert gate.served == [(Route.MODELS, 200), (Route.CHAT, 401), (None, 404)]


async def test_a_connection_serves_one_request_after_the_other(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        for _ in range(3):
            await wire.send(models())
            assert (await wire.answer()).status == 200
        await wire.send(chat())
        await (await gate.engine.asked()).answer(b"{}")
        assert (await wire.answer()).status == 200


async def test_a_port_that_is_taken_is_told(gate: Gate) -> None:
    settings = settings_of()
    other = Filter(settings, NodeState(engine_state("x")), now=lambda: 0.0)
    await other.start()
    try:
        taken = Filter(replace(settings, listen_port=other.port), NodeState(engine_state("x")), now=lambda: 0.0)
        with pytest.raises(OSError, match="address already in use"):
            await taken.start()
    finally:
        await other.stop()


async def test_the_port_speaks_tls_when_it_is_given_a_certificate(tmp_path: Path) -> None:
    async with gate_of(tls=_tls(tmp_path)) as gate:
        trusting = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        reader, writer = await asyncio.open_connection("127.0.0.1", gate.port, ssl=trusting)
        writer.write(models())
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        writer.transport.abort()


def _tls(folder: Path) -> ssl.SSLContext:
    """Make a certificate for loopback, as the installer does."""
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subject = ("-subj", "/CN=node", "-addext", "subjectAltName=IP:127.0.0.1")
    kind = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1")
    made = ["openssl", "req", *kind, *subject, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context


async def test_a_stopped_filter_listens_no_more_and_cuts_what_runs() -> None:
    async with gate_of() as gate, connected(gate.port) as wire:
        await wire.send(streamed())
        asked = await gate.engine.asked()
        await gate.filter.stop()
        assert await asked.left()
        with pytest.raises(OSError, match=r"[Cc]onnect"):
            await ask(gate.port, models())


async def test_a_mistake_of_ours_is_told_without_a_word_of_what_it_was(gate: Gate) -> None:
    gate.state.engine = None  # type: ignore[assignment]
    answer = await gate.refuses(chat())
    assert (answer.status, answer.code) == (500, "internal_error")
    assert "NoneType" not in answer.message
    assert gate.state.under_way == 0
