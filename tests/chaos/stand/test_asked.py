"""What a target reads of a request."""

import json

from chaos.stand.asked import prompt, read_asked


def body(content: str, **more: object) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": content}], **more}).encode()


def test_a_prompt_says_for_which_call_and_through_whom_it_comes() -> None:
    asked = read_asked(7, body(prompt("12", "gw2", 5, "more words")), "")
    assert (asked.exchange, asked.call, asked.gateway, asked.tokens) == (7, "12", "gw2", 5)


def test_a_token_that_a_gateway_asks_for_by_itself_is_of_no_call() -> None:
    asked = read_asked(1, body("Hi", max_tokens=1), "")
    assert (asked.call, asked.gateway, asked.tokens) == ("", "", 1)


def test_no_more_is_written_than_the_client_allows() -> None:
    assert read_asked(1, body(prompt("1", "gw1", 50, ""), max_tokens=3), "").tokens == 3


def test_counts_of_a_stream_are_given_to_who_asks() -> None:
    assert read_asked(1, body("x", stream=True, stream_options={"include_usage": True}), "").usage_asked
    assert not read_asked(1, body("x", stream=True), "").usage_asked


def test_what_is_no_request_says_nothing() -> None:
    for junk in (b"", b"[]", b"\xff", b'{"messages": 3}'):
        assert read_asked(1, junk, "").call == ""
