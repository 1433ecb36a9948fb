"""The demo node over HTTP, byte by byte and through OpenAI's own client."""

import asyncio
import json
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
from openai import AsyncOpenAI, NotFoundError

from ktms.adapters.demo_node import DemoNode
from ktms.adapters.demo_node.speech import MODEL, TEXT, VECTOR_LENGTH
from ktms.domain.catalogue import EngineKind
from tests.world.client import get, post
from tests.world.ground import Listening
from tests.world.real import RealWorld


@pytest.fixture
async def node() -> AsyncIterator[DemoNode]:
    async with DemoNode(word_s=0) as node:
        yield node


@pytest.fixture
async def client(node: DemoNode) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{node.url}/v1", api_key="none") as client:
        yield client


async def asked(node: DemoNode, request: bytes) -> tuple[int, bytes]:
    address = urlsplit(node.url)
    assert address.hostname is not None
    assert address.port is not None
    async with RealWorld() as world:
        client = await world.client(Listening("demo", address.hostname, address.port, lambda: None))
        client.send(request)
        status = (await client.head()).status
        return status, await client.body()


async def test_it_has_one_model(client: AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()] == [MODEL]


async def test_a_chat_is_answered_with_usage(client: AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "two words"}])
    assert answer.choices[0].message.content == TEXT
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == 2
    assert answer.usage.completion_tokens == len(TEXT.split())


async def test_a_streamed_chat_comes_word_by_word(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": "hi"}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = [chunk async for chunk in stream]
    said = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert "".join(word or "" for word in said) == TEXT
    assert said[1:3] == ["This", " is"]
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == len(TEXT.split())


async def test_a_stream_without_the_option_has_no_usage_and_ends_with_done(node: DemoNode) -> None:
    request = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    status, body = await asked(node, post("/v1/chat/completions", request))
    assert status == 200
    assert b"usage" not in body
    assert body.endswith(b'"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')


async def test_the_same_request_gives_the_same_bytes(node: DemoNode) -> None:
    request = post("/v1/chat/completions", {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]})
    assert await asked(node, request) == await asked(node, request)


async def test_no_word_of_the_prompt_comes_back(node: DemoNode) -> None:
    for path, member in (("chat/completions", "messages"), ("completions", "prompt"), ("embeddings", "input")):
        text = "xyzzy-canary"
        prompt = [{"role": "user", "content": text}] if member == "messages" else text
        _, body = await asked(node, post(f"/v1/{path}", {"model": MODEL, member: prompt}))
        assert b"xyzzy" not in body


async def test_text_completions_are_cut_at_the_limit(client: AsyncOpenAI) -> None:
    answer = await client.completions.create(model=MODEL, prompt="hi", max_tokens=2)
    assert (answer.choices[0].text, answer.choices[0].finish_reason) == ("This is", "length")


async def test_text_completions_stream(client: AsyncOpenAI) -> None:
    stream = await client.completions.create(model=MODEL, prompt="hi", stream=True)
    assert "".join([chunk.choices[0].text async for chunk in stream]) == TEXT


async def test_each_input_gets_its_vector_in_both_encodings(client: AsyncOpenAI) -> None:
    encoded = await client.embeddings.create(model=MODEL, input=["a", "b"])
    plain = await client.embeddings.create(model=MODEL, input=["a", "b"], encoding_format="float")
    assert [len(item.embedding) for item in encoded.data] == [VECTOR_LENGTH] * 2
    for one, other in zip(encoded.data, plain.data, strict=True):
        assert one.embedding == pytest.approx(other.embedding)


async def test_another_model_is_not_found(client: AsyncOpenAI) -> None:
    with pytest.raises(NotFoundError, match="one model: ktms-demo"):
        await client.chat.completions.create(model="other", messages=[{"role": "user", "content": "hi"}])


async def test_an_error_has_openais_shape(node: DemoNode) -> None:
    status, body = await asked(node, post("/v1/chat/completions", b"{"))
    assert status == 400
    assert set(json.loads(body)["error"]) == {"message", "type", "param", "code"}


async def test_another_path_is_not_found(node: DemoNode) -> None:
    assert (await asked(node, get("/admin")))[0] == 404


async def test_its_catalogue_entries_name_it_a_demo(node: DemoNode) -> None:
    assert node.spec.engine is EngineKind.DEMO
    assert node.spec.url == node.url
    assert [model.name for model in node.spec.models] == [node.model.name]
    assert [(target.vendor, target.model) for target in node.model.targets] == [("local", MODEL)]


async def test_leaving_it_ends_running_answers_at_once() -> None:
    async with RealWorld() as world, asyncio.timeout(5):
        async with DemoNode(word_s=60) as node:
            port = urlsplit(node.url).port
            assert port is not None
            client = await world.client(Listening("demo", "127.0.0.1", port, lambda: None))
            request = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
            client.send(post("/v1/chat/completions", request))
            await client.event()
        await client.closed()
