"""What engines mean, by their words alone."""

import pytest

from ktms.dialects.openai_chat.vendor_error import error_of_body
from ktms.domain.routing.engine_words import (
    is_busy,
    is_generation_failed,
    is_loading,
    is_too_long,
    may_be_too_long,
)

MEANINGS = {
    "loading": is_loading,
    "busy": is_busy,
    "too_long": is_too_long,
    "may_be_too_long": may_be_too_long,
    "generation": is_generation_failed,
}


@pytest.mark.parametrize(
    ("body", "meant"),
    [
        (b'{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}', {"loading"}),
        (b'{"error":{"code":503,"message":"Service unavailable","type":"unavailable_error"}}', set()),
        (b'{"error":{"code":500,"message":"Loading model","type":"server_error"}}', set()),
        (b'{"error":"Model is overloaded","error_type":"overloaded"}', {"busy"}),
        (b'{"error":"model is overloaded"}', {"busy"}),
        (
            b'{"error":{"message":"server busy, wait. maximum pending requests exceeded","type":"api_error"}}',
            {"busy"},
        ),
        (b'{"error":{"message":"The gateway of this node stops","code":"draining"}}', {"busy"}),
        (b'{"error":{"message":"x","code":"OVERLOADED"}}', {"busy"}),
        (b'{"error":{"code":500,"message":"x","type":"exceed_context_size_error"}}', {"too_long"}),
        (
            b'{"error":{"message":"exceeds the available context size","type":"exceed_context_size_error"}}',
            {"too_long", "may_be_too_long"},
        ),
        (b'{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}', set()),
        (
            b'{"error":"`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 1","error_type":"validation"}',
            {"may_be_too_long"},
        ),
        (b'{"error":{"message":"prompt too long","code":"string_above_max_length"}}', set()),
        (
            b'{"error":{"message":"x","type":"BadRequestError","param":"input_tokens","code":400}}',
            {"may_be_too_long"},
        ),
        (b'{"error":"Request failed during generation","error_type":"generation"}', {"generation"}),
        (b'{"error":"Incomplete generation","error_type":"incomplete_generation"}', {"generation"}),
        (b"", set()),
    ],
)
def test_an_error_means_this_and_nothing_else(body: bytes, meant: set[str]) -> None:
    error = error_of_body(body)

    assert {name for name, means in MEANINGS.items() if means(error)} == meant
