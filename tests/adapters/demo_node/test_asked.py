"""What the demo node reads out of a request."""

import json

import pytest

from ktms.adapters.demo_node.asked import BadRequest, read
from ktms.adapters.demo_node.speech import MODEL


def body(**members: object) -> bytes:
    return json.dumps({"model": MODEL, "messages": [{"role": "user", "content": "hi there"}], **members}).encode()


def test_text_is_found_in_strings_and_in_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    asked = read(body(messages=[{"role": "user", "content": parts}, {"role": "user", "content": "b"}]), "messages")
    assert asked.texts == ("a", "b")


def test_by_default_nothing_is_streamed_or_limited() -> None:
    asked = read(body(), "messages")
    assert (asked.stream, asked.include_usage, asked.tokens_max, asked.base64) == (False, False, None, False)


def test_streaming_and_usage_are_taken_when_asked_for() -> None:
    asked = read(body(stream=True, stream_options={"include_usage": True}), "messages")
    assert (asked.stream, asked.include_usage) == (True, True)


def test_the_newer_name_of_the_limit_wins() -> None:
    assert read(body(max_tokens=5, max_completion_tokens=3), "messages").tokens_max == 3


@pytest.mark.parametrize(
    ("bad", "param"),
    [
        (b"{", None),
        (b"[" * 100_000, None),
        (b"[]", None),
        (b'{"messages":"x"}', "model"),
        (body(messages=[]), "messages"),
        (body(messages=7), "messages"),
        (body(max_tokens=0), "max_tokens"),
        (body(max_tokens=True), "max_tokens"),
        (body(max_tokens=1.5), "max_tokens"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_member(bad: bytes, param: str | None) -> None:
    with pytest.raises(BadRequest) as caught:
        read(bad, "messages")
    assert (caught.value.status, caught.value.param) == (400, param)


def test_another_model_is_not_found() -> None:
    with pytest.raises(BadRequest) as caught:
        read(body(model="gpt-4o"), "messages")
    assert caught.value.status == 404
