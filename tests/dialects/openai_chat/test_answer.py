"""Whole answers: one edit, usage, errors inside a 200."""

import json

import pytest

from ktms.dialects.openai_chat.answer import BadAnswer, WholeAnswer, read_answer, read_error
from ktms.domain.call import Route
from ktms.domain.capacity.speed import EngineTimings
from ktms.domain.conversation.usage import Usage

BODY = (
    '{"id":"c-1","model" : "gpt-2024","choices":[{"index":0,"message":{"content":"\\"model\\":\\"gpt-2024\\""},'
    '"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2},"x":{"model":"gpt-2024"},"f":1.50}'
)


def read(body: str | bytes, route: Route = Route.CHAT) -> WholeAnswer:
    return read_answer(body if isinstance(body, bytes) else body.encode(), public_model="public", route=route)


def test_only_the_models_value_is_replaced() -> None:
    answer = read(BODY)
    assert answer == WholeAnswer(
        BODY.replace('"model" : "gpt-2024"', '"model" : "public"').encode(),
        Usage(9, 2),
        None,
        finished=True,
        model_told="gpt-2024",
    )


@pytest.mark.parametrize("value", ['""', "null", '"/m/x.gguf"', '{"model":1}'])
def test_any_value_of_the_model_is_replaced(value: str) -> None:
    assert read(f'{{"model":{value}}}').body == b'{"model":"public"}'


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('{"model":"qwen3:4b"}', "qwen3:4b"),
        ('{"model":"a\\u00e9"}', "aé"),
        ('{"model":""}', None),
        ('{"model":7}', None),
        ("{}", None),
    ],
)
def test_n27_an_answer_tells_the_name_the_upstream_gave(body: str, told: str | None) -> None:
    assert read(body).model_told == told


def test_no_model_is_added_and_a_nested_one_is_not_ours() -> None:
    body = b'{"choices":[{"model":"x"}]}'
    assert read(body).body == body


def test_a_repeated_model_does_not_hinder_an_answer() -> None:
    assert read('{"model":"a","model":"bc"}').body == b'{"model":"public","model":"bc"}'


@pytest.mark.parametrize(
    ("choices", "finished"),
    [
        ('[{"finish_reason":"stop"}]', True),
        ('[{"finish_reason":"stop"},{"finish_reason":"length"}]', True),
        ('[{"finish_reason":"stop"},{"finish_reason":null}]', False),
        ('[{"finish_reason":""}]', False),
        ("[{}]", False),
        ("[]", False),
    ],
)
def test_an_answer_is_finished_when_each_choice_is(choices: str, finished: bool) -> None:
    assert read(f'{{"choices":{choices}}}').finished is finished


def test_without_choices_nothing_is_finished() -> None:
    assert not read("{}").finished


def test_embeddings_are_finished_with_their_data() -> None:
    body = (
        '{"object":"list","data":[{"embedding":[0.1]}],"model":"e","usage":{"prompt_tokens":5,"total_tokens":5}}'
    )
    answer = read(body, Route.EMBEDDINGS)
    assert (answer.finished, answer.usage) == (True, Usage(5))
    assert not read("{}", Route.EMBEDDINGS).finished


def test_p33_an_error_inside_a_200_is_an_error() -> None:
    answer = read('{"error":{"message":"context too long","type":"invalid_request_error","code":400}}')
    assert answer.error is not None
    assert (answer.error.status, answer.error.message) == (400, "context too long")
    assert not answer.finished


def test_an_answer_without_usage_has_none() -> None:
    assert read('{"usage":null}').usage is None
    assert read("{}").usage is None


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"null", b'{"a":', b'{"choices":7}', b'{"choices":[7]}', b'{"a":' + b"[" * 9999],
)
def test_what_is_no_answer_is_bad(body: bytes) -> None:
    with pytest.raises(BadAnswer):
        read(body)


def test_a_lone_surrogate_in_an_answer_passes() -> None:
    body = b'{"model":"x","choices":[{"message":{"content":"\\ud83d"},"finish_reason":"stop"}]}'
    assert read(body).body == body.replace(b'"x"', b'"public"')
    assert read(body).finished


def test_without_usage_the_generated_text_is_measured() -> None:
    body = '{"choices":[{"message":{"content":"é\\n","reasoning":"ab"},"finish_reason":"stop"}]'
    assert read(body + "}").text_bytes == 5
    assert read(body + ',"usage":{"prompt_tokens":1,"completion_tokens":1}}').text_bytes == 0
    assert read("{}").text_bytes == 0


def test_a_public_name_is_written_as_json() -> None:
    body = read_answer(b'{"model":"x"}', public_model='a"é', route=Route.CHAT).body
    assert json.loads(body) == {"model": 'a"é'}


def test_error_bodies_are_read_whatever_they_are() -> None:
    assert read_error(b'{"error":{"message":"no","code":"x"}}').message == "no"
    assert read_error(b"").message == "the upstream gave no message"


def test_llama_cpps_own_clock_is_read() -> None:
    timings = '{"timings":{"cache_n":1,"prompt_n":12,"prompt_ms":31.5,"predicted_n":35,"predicted_ms":661}}'
    assert read(timings).timings == EngineTimings(12, 31.5, 35, 661.0)
    assert read('{"timings":null}').timings is None
    assert read("{}").timings is None
