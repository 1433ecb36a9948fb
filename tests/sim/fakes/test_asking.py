"""What a fake reads out of a request."""

import json

import pytest

from sim.fakes.asking import (
    TOKENS_UNASKED,
    header_of,
    inputs_total,
    prompt_of,
    prompt_tokens,
    read_asked,
    tokens_wanted,
    unread,
)
from sim.fakes.steps import Asked


def asked(members: dict[str, object]) -> Asked:
    made = read_asked(7, "/v1/x", (("X-Name", "v"),), json.dumps(members).encode())
    assert made is not None
    return made


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_none(body: bytes) -> None:
    assert read_asked(1, "/", (), body) is None


def test_the_last_user_message_says_what_is_wanted() -> None:
    messages = [
        {"role": "user", "content": "call=old tokens=1"},
        {"role": "assistant", "content": "call=no"},
        {"role": "user", "content": [{"type": "text", "text": "call=c9 tokens=12 x"}]},
        {"role": "assistant", "content": "prefix"},
    ]
    made = asked({"messages": messages})
    assert (made.call, tokens_wanted(made), made.exchange) == ("c9", 12, 7)


@pytest.mark.parametrize("members", [{"prompt": "call=c1 x"}, {"input": "call=c1"}, {"input": ["call=c1", "b"]}])
def test_other_routes_have_other_prompts(members: dict[str, object]) -> None:
    assert asked(members).call == "c1"


def test_a_prompt_that_says_nothing_has_no_call_and_a_usual_length() -> None:
    made = asked({"messages": "odd"})
    assert (made.call, tokens_wanted(made), prompt_of(made.members)) == ("", TOKENS_UNASKED, "")


def test_flags_and_bounds_are_read() -> None:
    made = asked({"model": "m", "stream": True, "stream_options": {"include_usage": True}, "max_tokens": 4})
    assert (made.model, made.streamed, made.usage_asked, made.max_tokens) == ("m", True, True, 4)
    assert asked({"max_tokens": True, "max_completion_tokens": 2}).max_tokens == 2


def test_prompts_are_counted_over_all_messages() -> None:
    two = [{"role": "system", "content": "x" * 40}, {"role": "user", "content": "y" * 8}]
    assert prompt_tokens(asked({"messages": two})) == 11 + 3
    assert prompt_tokens(asked({"prompt": "x" * 40})) == 11


def test_inputs_are_counted() -> None:
    assert [inputs_total(asked({"input": given})) for given in ("a", ["a", "b"])] == [1, 2]


def test_headers_are_found_whatever_their_case() -> None:
    assert header_of(asked({}), "x-name") == "v"
    assert header_of(unread(1, "/", ()), "x-name") is None


def test_a_header_that_travels_on_says_whose_call_it_is_before_the_prompt() -> None:
    body = json.dumps({"prompt": "call=q tokens=3"}).encode()
    made = read_asked(7, "/v1/x", (("Traceparent", "call=8"),), body)
    assert made is not None
    assert (made.call, tokens_wanted(made)) == ("8", 3)
