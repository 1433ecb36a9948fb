"""The OpenAI SDK for Python, unmodified, through `ktms up` to a real llama.cpp."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam, ChatCompletionToolParam
from openai.types.shared_params import ResponseFormatJSONSchema

from tests.e2e import declared
from tests.e2e.conftest import Gateway
from tests.e2e.engine.corpus import VALUES, words
from tests.e2e.engine.llama_process import LlamaServer, ask, prove

pytestmark = [pytest.mark.engine, pytest.mark.service]

HELLO: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hello, 한글 🙂"}]
WEATHER: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
STREAMS = 50
"""llama.cpp closes the connection after each stream: a pool that is not ready for that fails every second one."""


@pytest.fixture
def client(gateway: Gateway) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0) as made:
        yield made


SCHEMA: ResponseFormatJSONSchema = {
    "type": "json_schema",
    "json_schema": {
        "name": "place",
        "strict": True,
        "schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def as_if(client: OpenAI, key: str) -> OpenAI:
    return client.with_options(api_key=key)


def predicted(server: LlamaServer) -> float:
    """Tokens that this llama.cpp has made, by its own count."""
    prove(server)
    metrics = ask(server, "/metrics")[2]
    (line,) = [line for line in metrics.splitlines() if line.startswith("llamacpp:tokens_predicted_total ")]
    return float(line.split()[1])


def streamed(client: OpenAI, **more: Any) -> list[ChatCompletionChunk]:
    options = {"model": declared.HOUSE, "messages": HELLO, **more}
    with client.chat.completions.create(stream=True, **options) as stream:
        return list(stream)


def test_a_chat_is_answered_by_llama_cpp_itself(client: OpenAI, gateway: Gateway) -> None:
    before = predicted(gateway.llama)
    answer = client.chat.completions.create(model=declared.HOUSE, messages=HELLO, seed=3)
    assert answer.usage
    assert predicted(gateway.llama) - before == answer.usage.completion_tokens > 0


def test_a_chat_says_words_of_the_model(client: OpenAI) -> None:
    answer = client.chat.completions.create(model=declared.HOUSE, messages=HELLO, seed=7)
    said = (answer.choices[0].message.content or "").replace(".", " .").replace(",", " ,").split()
    assert said
    assert set(said) <= set(words())


@pytest.mark.parametrize("name", [declared.HOUSE, declared.ALIAS, f"{declared.HOUSE}:nodes-only"])
def test_a_whole_answer_carries_the_public_name(client: OpenAI, name: str) -> None:
    answer = client.chat.completions.create(model=name, messages=HELLO, temperature=0)
    assert answer.model == declared.HOUSE


def test_every_chunk_carries_the_public_name(client: OpenAI) -> None:
    assert {chunk.model for chunk in streamed(client, model=declared.ALIAS)} == {declared.HOUSE}


def test_a_stream_says_what_the_whole_answer_says(client: OpenAI) -> None:
    whole = client.chat.completions.create(model=declared.HOUSE, messages=HELLO, temperature=0)
    chunks = streamed(client, temperature=0)
    said = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert said == whole.choices[0].message.content


def test_a_stream_gives_usage_when_asked(client: OpenAI) -> None:
    *_, last = streamed(client, seed=2, stream_options={"include_usage": True})
    assert last.choices == []
    assert last.usage
    assert last.usage.completion_tokens > 0


def test_a_stream_gives_no_usage_when_not_asked(client: OpenAI) -> None:
    chunks = streamed(client, seed=2)
    assert all(chunk.choices and chunk.usage is None for chunk in chunks)


def test_fifty_streams_in_a_row_all_end_well(client: OpenAI) -> None:
    ends = [streamed(client, seed=seed)[-1].choices[0].finish_reason for seed in range(STREAMS)]
    assert ends == ["stop"] * STREAMS


def test_text_completions_work(client: OpenAI) -> None:
    answer = client.completions.create(model=declared.HOUSE, prompt="the bill", temperature=0)
    assert answer.choices[0].text.endswith(".")
    assert answer.model == declared.HOUSE


def test_streamed_text_completions_say_the_same(client: OpenAI) -> None:
    whole = client.completions.create(model=declared.HOUSE, prompt="the bill", temperature=0)
    with client.completions.create(model=declared.HOUSE, prompt="the bill", temperature=0, stream=True) as stream:
        assert "".join(chunk.choices[0].text for chunk in stream) == whole.choices[0].text


def test_embeddings_are_those_of_the_engine(client: OpenAI, gateway: Gateway) -> None:
    texts = ["the bill", "the truth"]
    through = client.embeddings.create(model=declared.EMBEDDER, input=texts)
    with OpenAI(base_url=f"{gateway.embedder.url}/v1", api_key="none") as direct:
        expected = direct.embeddings.create(model="any", input=texts)
    assert [one.embedding for one in through.data] == [one.embedding for one in expected.data]
    assert len(through.data[0].embedding) > 1
    assert through.model == declared.EMBEDDER


def test_embeddings_as_numbers_work_too(client: OpenAI) -> None:
    answer = client.embeddings.create(model=declared.EMBEDDER, input="the bill", encoding_format="float")
    assert all(isinstance(number, float) for number in answer.data[0].embedding)


def test_models_lists_names_aliases_and_nothing_of_the_vendors(client: OpenAI) -> None:
    assert {model.id for model in client.models.list()} == {
        declared.HOUSE,
        declared.ALIAS,
        declared.EMBEDDER,
        declared.FRAGILE,
        declared.CLOUD,
    }


def test_a_narrow_key_lists_what_it_may_use(client: OpenAI) -> None:
    assert [model.id for model in as_if(client, declared.NARROW_KEY).models.list()] == [declared.CLOUD]


def test_one_model_can_be_retrieved(client: OpenAI) -> None:
    assert client.models.retrieve(declared.HOUSE).id == declared.HOUSE


def test_a_tool_call_is_streamed_in_fragments_that_join_to_its_arguments(client: OpenAI) -> None:
    chunks = streamed(client, tools=[WEATHER], tool_choice="required", seed=1)
    calls = [call for c in chunks for choice in c.choices for call in choice.delta.tool_calls or []]
    assert calls[0].function
    assert calls[0].function.name == "get_weather"
    assert len(calls) > 1
    arguments = "".join(call.function.arguments or "" for call in calls if call.function)
    assert json.loads(arguments)["city"] in VALUES
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_a_schema_binds_the_answer(client: OpenAI) -> None:
    answer = client.chat.completions.create(model=declared.HOUSE, messages=HELLO, seed=5, response_format=SCHEMA)
    assert json.loads(answer.choices[0].message.content or "")["city"] in VALUES


def test_the_headers_say_who_answered(client: OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(model=declared.HOUSE, messages=HELLO, temperature=0)
    told = {name: raw.headers[f"x-ktms-{name}"] for name in ("model", "vendor", "node", "attempts")}
    assert told == {
        "model": declared.HOUSE,
        "vendor": "local",
        "node": "engine-1",
        "attempts": "local/engine-1:ok",
    }


def test_a_placement_in_the_body_goes_to_the_cloud(client: OpenAI, gateway: Gateway) -> None:
    before = gateway.cloud.dialled
    answer = client.chat.completions.create(
        model=declared.HOUSE, messages=HELLO, extra_body={"ktms": {"placement": "cloud_only"}}
    )
    assert (answer.choices[0].message.content, answer.model) == ("cloudy", declared.HOUSE)
    assert gateway.cloud.dialled == before + 1


def test_when_its_node_dies_a_model_is_answered_by_the_cloud(client: OpenAI, gateway: Gateway) -> None:
    gateway.kill_fragile()
    raw = client.chat.completions.with_raw_response.create(model=declared.FRAGILE, messages=HELLO)
    assert re.fullmatch(r"local/fragile:\w+, cloud:ok", raw.headers["x-ktms-attempts"])
    assert raw.parse().choices[0].message.content == "cloudy"


Mistake = Callable[[OpenAI], object]


def chat(client: OpenAI, model: str = declared.HOUSE, **more: Any) -> object:
    return client.chat.completions.create(model=model, messages=HELLO, **more)


MISTAKES: dict[str, tuple[Mistake, type[openai.APIStatusError], str]] = {
    "a wrong key": (lambda c: chat(as_if(c, "sk-nonsense")), openai.AuthenticationError, "invalid_api_key"),
    "an unknown model": (lambda c: chat(c, "nothing"), openai.NotFoundError, "model_not_found"),
    "an unknown model to retrieve": (
        lambda c: c.models.retrieve("nothing"),
        openai.NotFoundError,
        "model_not_found",
    ),
    "a model of others": (
        lambda c: chat(as_if(c, declared.NARROW_KEY)),
        openai.PermissionDeniedError,
        "model_not_allowed",
    ),
    "a field of the wrong kind": (
        lambda c: chat(c, extra_body={"max_tokens": "many"}),
        openai.BadRequestError,
        "invalid_request",
    ),
    "a vendor's refusal": (
        lambda c: c.chat.completions.create(
            model=declared.CLOUD, messages=[{"role": "user", "content": "refuse"}]
        ),
        openai.BadRequestError,
        "invalid_request",
    ),
    "a vendor's failure": (
        lambda c: c.chat.completions.create(
            model=declared.CLOUD, messages=[{"role": "user", "content": "fail"}], stream=True
        ),
        openai.InternalServerError,
        "upstream_error",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_error_becomes_the_exception_of_the_sdk(client: OpenAI, mistake: str) -> None:
    make, expected, code = MISTAKES[mistake]
    with pytest.raises(expected) as raised:
        make(client)
    assert raised.value.code == code


def test_too_long_a_prompt_is_a_bad_request_with_the_code_of_openai(client: OpenAI, gateway: Gateway) -> None:
    long = "bill " * gateway.llama.slot_context_tokens * 2
    with pytest.raises(openai.BadRequestError) as raised:
        client.chat.completions.create(
            model=f"{declared.HOUSE}:nodes-only", messages=[{"role": "user", "content": long}]
        )
    assert raised.value.code == "context_length_exceeded"
