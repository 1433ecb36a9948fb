"""The real engine by itself: facts the gateway relies on, and the quirks it must cope with."""

import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.e2e.engine.corpus import VALUES, words
from tests.e2e.engine.llama_process import LlamaServer, NotLlamaCpp, ask, model_file, prove
from tests.world.client import RawClient, get, post
from tests.world.ground import Listening
from tests.world.sse_text import Event
from tests.world.world import World

pytestmark = pytest.mark.engine

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "hello, 한글 🙂"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


async def connected(world: World, server: LlamaServer) -> RawClient:
    return await world.client(Listening("llama", server.host, server.port, lambda: None))


async def answered(world: World, server: LlamaServer, path: str, body: Mapping[str, object]) -> dict[str, Any]:
    client = await connected(world, server)
    client.send(post(path, body))
    assert (await client.head()).status == 200
    return await client.json()


async def streamed(world: World, server: LlamaServer, **body: object) -> tuple[RawClient, list[Event]]:
    client = await connected(world, server)
    client.send(post(CHAT, {"stream": True, "messages": HELLO, **body}))
    assert (await client.head()).header("content-type") == "text/event-stream"
    return client, [event async for event in client.events()]


def text_of(events: list[Event]) -> str:
    chunks: list[Any] = [event.json() for event in events if not event.is_done]
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


async def test_a_stream_has_words_a_finish_usage_and_an_end_mark(world: World, llama_server: LlamaServer) -> None:
    client, events = await streamed(world, llama_server, temperature=0, stream_options={"include_usage": True})
    assert events[-1].is_done
    usage: Any = events[-2].json()
    assert usage["choices"] == []
    finish: Any = events[-3].json()
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert finish["choices"][0]["delta"] == {}
    assert usage["usage"]["completion_tokens"] == len(events) - 3
    assert not client.cut


async def test_without_being_asked_there_is_no_usage_chunk(world: World, llama_server: LlamaServer) -> None:
    _, events = await streamed(world, llama_server, temperature=0)
    assert all(event.is_done or event.json()["choices"] for event in events)


async def test_the_first_delta_says_content_null(world: World, llama_server: LlamaServer) -> None:
    _, events = await streamed(world, llama_server, temperature=0)
    first: Any = events[0].json()
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": None}


async def test_the_text_is_made_of_the_words_of_the_corpus(world: World, llama_server: LlamaServer) -> None:
    _, events = await streamed(world, llama_server, seed=7)
    said = text_of(events).replace(".", " .").replace(",", " ,").split()
    assert said
    assert set(said) <= set(words())


async def test_the_same_seed_says_the_same(world: World, llama_server: LlamaServer) -> None:
    texts = {text_of((await streamed(world, llama_server, seed=seed))[1]) for seed in (1, 1, 2)}
    assert len(texts) == 2


async def test_after_a_stream_the_engine_closes_the_connection(world: World, llama_server: LlamaServer) -> None:
    client, _ = await streamed(world, llama_server, temperature=0)
    await client.closed()
    assert client.is_over


async def test_a_length_limit_ends_with_length(world: World, llama_server: LlamaServer) -> None:
    answer = await answered(world, llama_server, CHAT, {"messages": HELLO, "max_tokens": 2})
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 2


async def test_usage_adds_up(world: World, llama_server: LlamaServer) -> None:
    usage = (await answered(world, llama_server, CHAT, {"messages": HELLO, "seed": 3}))["usage"]
    assert usage["prompt_tokens"] > 0
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


async def test_text_completions_work(world: World, llama_server: LlamaServer) -> None:
    answer = await answered(world, llama_server, "/v1/completions", {"prompt": "the bill", "temperature": 0})
    assert answer["choices"][0]["text"].endswith(".")


@pytest.mark.parametrize("choice", ["auto", "required"])
async def test_offered_tools_are_called_with_arguments_of_the_schema(
    world: World, llama_server: LlamaServer, choice: str
) -> None:
    for seed in range(6):
        body = {"messages": HELLO, "tools": [WEATHER], "tool_choice": choice, "seed": seed}
        answer = await answered(world, llama_server, CHAT, body)
        assert answer["choices"][0]["finish_reason"] == "tool_calls"
        (call,) = answer["choices"][0]["message"]["tool_calls"]
        assert call["function"]["name"] == "get_weather"
        assert json.loads(call["function"]["arguments"])["city"] in VALUES


async def test_after_a_tools_result_the_model_speaks(world: World, llama_server: LlamaServer) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Quito"}'}}
    messages = [
        *HELLO,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "rain"},
    ]
    answer = await answered(world, llama_server, CHAT, {"messages": messages, "tools": [WEATHER]})
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["choices"][0]["message"]["content"]


async def test_a_tool_call_is_streamed_in_fragments(world: World, llama_server: LlamaServer) -> None:
    _, events = await streamed(world, llama_server, tools=[WEATHER], tool_choice="required", seed=1)
    deltas: list[Any] = [event.json() for event in events if not event.is_done]
    calls = [call for e in deltas for c in e["choices"] for call in c["delta"].get("tool_calls", [])]
    assert len(calls) > 1
    arguments = "".join(call["function"].get("arguments", "") for call in calls)
    assert json.loads(arguments)["city"] in VALUES


async def test_a_schema_binds_the_answer(world: World, llama_server: LlamaServer) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["city", "n"],
    }
    shape = {"type": "json_schema", "json_schema": {"name": "s", "strict": True, "schema": schema}}
    body = {"messages": HELLO, "response_format": shape, "seed": 5}
    answer = await answered(world, llama_server, CHAT, body)
    value = json.loads(answer["choices"][0]["message"]["content"])
    assert value["city"] in VALUES
    assert isinstance(value["n"], int)


async def test_too_long_a_prompt_is_an_error_with_its_size(world: World, llama_server: LlamaServer) -> None:
    client = await connected(world, llama_server)
    long = [{"role": "user", "content": "bill " * llama_server.slot_context_tokens}]
    client.send(post(CHAT, {"messages": long}))
    assert (await client.head()).status == 400
    error: Any = (await client.json())["error"]
    assert error["type"] == "exceed_context_size_error"
    assert error["n_prompt_tokens"] > llama_server.slot_context_tokens


async def test_a_client_that_leaves_frees_its_slot(world: World, llama_server: LlamaServer) -> None:
    client = await connected(world, llama_server)
    endless = {"stream": True, "messages": HELLO, "ignore_eos": True, "max_tokens": 4000}
    client.send(post(CHAT, endless))
    await client.head()
    assert await busy_slots(world, llama_server) == 1
    client.rst()
    deadline = world.now() + 1
    while await busy_slots(world, llama_server) and world.now() < deadline:
        pass
    assert await busy_slots(world, llama_server) == 0


async def busy_slots(world: World, server: LlamaServer) -> int:
    client = await connected(world, server)
    client.send(get("/slots"))
    await client.head()
    slots = json.loads(await client.body())
    return sum(slot["is_processing"] for slot in slots)


def test_it_tells_its_slots_and_the_window_of_each(llama_server: LlamaServer) -> None:
    props = json.loads(ask(llama_server, "/props")[2])
    assert props["total_slots"] == llama_server.slots
    assert props["default_generation_settings"]["n_ctx"] == llama_server.slot_context_tokens


def test_the_model_file_is_generated_once(llama_server: LlamaServer) -> None:
    path = model_file()
    written = path.stat().st_mtime_ns
    assert model_file() == path
    assert path.stat().st_mtime_ns == written
    assert path.read_bytes()[:4] == b"GGUF"
    assert Path(f"/proc/{llama_server.pid}").exists()


def test_another_server_is_not_taken_for_llama_cpp() -> None:
    other = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    thread = Thread(target=other.handle_request)
    thread.start()
    with pytest.raises(NotLlamaCpp):
        prove(LlamaServer("127.0.0.1", other.server_port, 0))
    thread.join()
    other.server_close()
