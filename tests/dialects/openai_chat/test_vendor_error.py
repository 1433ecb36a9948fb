"""Errors of vendors and engines: every shape met in the field, and what must not be shown of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktms.dialects.json import Members
from ktms.dialects.openai_chat.vendor_error import (
    MAX_MESSAGE_CHARS,
    WireError,
    clean_message,
    error_among,
    error_in,
    error_of_body,
)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (  # OpenAI
            '{"error":{"message":"no","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}',
            WireError(400, "context_length_exceeded", "invalid_request_error", "no", "messages"),
        ),
        (  # OpenAI: the code decides before the type
            '{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}',
            WireError(401, "invalid_api_key", "invalid_request_error", "no", None),
        ),
        (  # llama.cpp
            '{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}',
            WireError(503, None, "unavailable_error", "Loading model", None),
        ),
        (  # vLLM
            '{"error":{"message":"too long","type":"BadRequestError","param":"input_tokens","code":400}}',
            WireError(400, None, "BadRequestError", "too long", "input_tokens"),
        ),
        (  # vLLM before 0.9
            '{"object":"error","message":"too long","type":"BadRequestError","param":null,"code":40303}',
            WireError(400, None, "BadRequestError", "too long", None),
        ),
        (  # TGI
            '{"error":"Model is overloaded","error_type":"overloaded"}',
            WireError(429, None, "overloaded", "Model is overloaded", None),
        ),
        ('{"error":"model not found"}', WireError(None, None, None, "model not found", None)),  # Ollama
        (  # Ollama's OpenAI route
            '{"error":{"message":"model \'x\' not found","type":"not_found_error","param":null,"code":null}}',
            WireError(404, None, "not_found_error", "model 'x' not found", None),
        ),
        (  # Gemini's OpenAI route
            '[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}]',
            WireError(429, None, None, "quota", None),
        ),
        ('{"error":{"message":"x","status":"UNAVAILABLE"}}', WireError(503, None, None, "x", None)),
        ('{"error":{"message":{"detail":[1]},"code":"429"}}', WireError(429, None, None, '{"detail":[1]}', None)),
        ('{"error":{"message":"x","code":999}}', WireError(None, None, None, "x", None)),
        ('{"error":{"message":"x","code":-1,"type":7}}', WireError(None, None, "7", "x", None)),
        ('{"error":{"message":"x","code":"²","type":true}}', WireError(None, "²", None, "x", None)),
        ('{"error":{"code":500}}', WireError(500, None, None, "the upstream gave no message", None)),
        ('{"detail":"Not Found"}', WireError(None, None, None, "Not Found", None)),  # FastAPI
        (
            '{"detail":[{"loc":["body","messages",0],"msg":"field required"},{"msg":"b"},"c",{"x":1}]}',
            WireError(None, None, None, 'body.messages.0: field required; b; c; {"x":1}', None),
        ),
        ('{"message":"denied","code":"x_y"}', WireError(None, "x_y", None, "denied", None)),
        ('{"errors":[{"message":"a"}]}', WireError(None, None, None, "a", None)),  # Cloudflare
        ('{"title":"Bad","status":400}', WireError(400, None, None, "Bad", None)),  # RFC 9457
        ("{}", WireError(None, None, None, "the upstream gave no message", None)),
        ("[]", WireError(None, None, None, "the upstream gave no message", None)),
        ("null", WireError(None, None, None, "the upstream gave no message", None)),
        ('"busy"', WireError(None, None, None, "busy", None)),
        ("", WireError(None, None, None, "the upstream gave no message", None)),
        ("upstream\r\n connect  error", WireError(None, None, None, "upstream connect error", None)),
        (
            " <!DOCTYPE html><title>502</title>",
            WireError(None, None, None, "the upstream answered with a page instead of JSON", None),
        ),
        ("\ufeff<html>", WireError(None, None, None, "the upstream answered with a page instead of JSON", None)),
    ],
)
def test_every_shape_is_brought_into_one(body: str, error: WireError) -> None:
    assert error_of_body(body.encode()) == error


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_body_whatever_makes_it_raise(body: bytes) -> None:
    assert 0 < len(error_of_body(body).message) <= MAX_MESSAGE_CHARS


@pytest.mark.parametrize(
    "body",
    [b"\xff\xfe", b'{"error":' + b"[" * 5000, b'{"error":{"message":"\\ud83d","code":' + b"9" * 5000 + b"}}"],
)
def test_hostile_bodies_have_a_message_too(body: bytes) -> None:
    assert error_of_body(body).message


def test_names_are_short_and_on_one_line() -> None:
    error = error_of_body(b'{"error":{"message":"x","code":"a\\nb","type":"' + b"t" * 500 + b'","param":""}}')
    assert (error.code, len(error.type or ""), error.param) == ("a b", 64, None)


@pytest.mark.parametrize(
    "document", [{}, {"error": None}, {"error": ""}, {"error": {}}, {"error": 0}, [], [7], "x", None]
)
def test_a_document_without_an_error_holds_none(document: object) -> None:
    assert error_in(document) is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error":null}', None),
        (b'{"error":{}}', None),
        (b'{"object":"chat.completion"}', None),
        (b'{"object":"error","message":"m"}', "m"),
        (b'{"error":{"message":"m"}}', "m"),
    ],
)
def test_an_answer_is_parsed_again_only_if_it_may_hold_an_error(body: bytes, message: str | None) -> None:
    error = error_among(Members(body), body)
    assert (error and error.message) == message


def test_a_message_is_cut_to_its_limit() -> None:
    assert clean_message("a" * 300) == "a" * 300
    assert clean_message("a" * 301) == "a" * 299 + "…"
    assert len(clean_message("ab " * 100_000)) == MAX_MESSAGE_CHARS


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Incorrect API key provided: sk-proj-abcdEFGH1234.", "Incorrect API key provided: ***."),
        ("key sk-ant-api03-xxxx-yyyy_zzzz is bad", "key *** is bad"),
        ("ktms_sk_0123456789abcdefghij refused", "*** refused"),
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer ***"),
        ("basic dXNlcjpwYXNz", "basic ***"),
        ("bearer authentication required", None),
        ("AIzaSyA1234567890abcdefg", "***"),
        ("token eyJhbGciOi.eyJzdWIiOiIx.abc-_", "token ***"),
        ('api_key="0123456789abcdef"', 'api_key="***"'),
        ("password: hunter22", "password: ***"),
        ("redis://user:pass@db/0 away", "redis://db/0 away"),
        ("connect to 10.1.2.3:8080 failed", "connect to [internal address] failed"),
        ("http://127.0.0.1:11434/v1", "http://[internal address]/v1"),
        (
            "dial 192.168.1.5, 172.16.0.9, 169.254.169.254, 100.64.0.1, 0.0.0.0",
            "dial " + ", ".join(["[internal address]"] * 5),
        ),
        ("http://[::1]:80 and [fd00::1]", "http://[internal address] and [internal address]"),
        ("localhost:8000", "[internal address]"),
        ("lookup gpu-7.lan:80 and x.svc.cluster.local", "lookup [internal address] and [internal address]"),
        ("max_tokens 10.5 of 172.5 at version 1.10.0.0.1", "max_tokens 10.5 of 172.5 at version 1.10.0.0.1"),
        ("max_tokens: 1000000 is too large, see https://platform.openai.com/docs", None),
        ("sk-learn is no key, 8.8.8.8 is public", None),
        ("tab\tand\x00nul\u2028", "tab and nul"),
    ],
)
def test_secrets_and_internal_addresses_are_not_shown(text: str, shown: str | None) -> None:
    assert clean_message(text) == (text if shown is None else shown)
