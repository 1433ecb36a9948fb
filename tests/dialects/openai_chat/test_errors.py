"""What we write ourselves, in the shapes that OpenAI's clients read."""

import json

from ktms.dialects.openai_chat.errors import (
    KEEPALIVE,
    ModelEntry,
    error_body,
    error_event,
    model_body,
    models_body,
)
from ktms.domain.errors import ErrorCode, Problem, problem
from ktms.domain.placement import Placement

ENTRY = ModelEntry("qwen3:4b", 1_700_000_000, "ktms", 32768, Placement.NODES_FIRST)


def test_an_error_has_its_four_members_in_order() -> None:
    body = error_body(problem(ErrorCode.INVALID_REQUEST, 'bad "é"', param="model"))
    want = '{"error":{"message":"bad \\"é\\"","type":"invalid_request_error","param":"model",'
    want += '"code":"invalid_request"}}'
    assert body.decode() == want


def test_a_missing_param_is_null() -> None:
    assert json.loads(error_body(Problem("x", "y", "z")))["error"]["param"] is None


def test_an_error_event_is_one_data_line() -> None:
    event = error_event(problem(ErrorCode.STREAM_INTERRUPTED, "two\nlines"))
    assert event.startswith(b"data: {")
    assert event.endswith(b"}\n\n")
    assert event.count(b"\n") == 2
    assert json.loads(event[6:])["error"]["code"] == "stream_interrupted"


def test_p06_a_keepalive_is_a_comment_and_nothing_else() -> None:
    assert KEEPALIVE.startswith(b":")
    assert KEEPALIVE.endswith(b"\n\n")
    assert KEEPALIVE.count(b"\n") == 2


def test_a_model_is_shown_with_window_and_placement() -> None:
    assert json.loads(model_body(ENTRY)) == {
        "id": "qwen3:4b",
        "object": "model",
        "created": 1_700_000_000,
        "owned_by": "ktms",
        "context_window": 32768,
        "placement": "nodes_first",
    }


def test_the_list_keeps_its_order() -> None:
    other = ModelEntry("auto", 0, "ktms", None, Placement.CLOUD_ONLY)
    listed = json.loads(models_body([ENTRY, other]))
    assert listed["object"] == "list"
    assert [(entry["id"], entry["context_window"]) for entry in listed["data"]] == [
        ("qwen3:4b", 32768),
        ("auto", None),
    ]


def test_an_empty_list_is_a_list() -> None:
    assert models_body([]) == b'{"object":"list","data":[]}'
