import json

import pytest

from ktms.dialects.openai_chat.batch_line import (
    CUSTOM_ID_MAX,
    BadLine,
    answered_line,
    read_line,
    refused_line,
    unrun_line,
)
from ktms.domain.batch.names import batch_id
from ktms.domain.call import Route
from ktms.domain.errors import ErrorCode, problem
from ktms.domain.ids import uuid7

BATCH = batch_id(uuid7(1_790_000_000_000, bytes(10)))
BODY = {"model": "m", "messages": []}
GOOD = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": BODY}


def text(**changes: object) -> bytes:
    members = {**GOOD, **changes}
    return json.dumps({name: value for name, value in members.items() if value is not None}).encode()


def bad(raw: bytes, route: Route = Route.CHAT) -> tuple[str, str | None, str | None]:
    with pytest.raises(BadLine) as found:
        read_line(raw, route)
    return found.value.problem.code, found.value.problem.param, found.value.custom_id


def test_a_line_is_read() -> None:
    line = read_line(text(), Route.CHAT)
    assert (line.custom_id, line.body.facts.model) == ("a", "m")


def test_an_id_may_be_as_long_as_may_be() -> None:
    longest = "x" * CUSTOM_ID_MAX
    assert read_line(text(custom_id=longest), Route.CHAT).custom_id == longest


@pytest.mark.parametrize("route", Route)
def test_each_route_has_its_url(route: Route) -> None:
    assert read_line(text(url=f"/v1{route.value}"), route).custom_id == "a"


def test_unknown_members_are_left_alone() -> None:
    assert read_line(text(extra=1), Route.CHAT).custom_id == "a"


@pytest.mark.parametrize(
    ("raw", "param", "custom_id"),
    [
        (b"{", None, None),
        (b"[]", None, None),
        (b'{"a":1,"a":2}', None, None),
        (text(custom_id=None), "custom_id", None),
        (text(custom_id=""), "custom_id", None),
        (text(custom_id=7), "custom_id", None),
        (text(custom_id="x" * (CUSTOM_ID_MAX + 1)), "custom_id", None),
        (text(method="GET"), "method", "a"),
        (text(method=None), "method", "a"),
        (text(url="/v1/embeddings"), "url", "a"),
        (text(url="/v1/models"), "url", "a"),
        (text(url=None), "url", "a"),
        (text(body=None), "body", "a"),
        (text(body=[]), "body", "a"),
        (text(body={"model": 1}), "body.model", "a"),
        (text(body={**BODY, "stream": True}), "body.stream", "a"),
    ],
)
def test_a_line_that_is_not_run_says_why(raw: bytes, param: str | None, custom_id: str | None) -> None:
    assert bad(raw) == ("invalid_request", param, custom_id)


def test_an_answer_stands_on_one_line_whatever_it_looks_like() -> None:
    written = answered_line(BATCH, 3, 'a"\n', "request", b'{\n "a":\r\n "b\\nc"\n}')
    assert written.count(b"\n") == 1
    assert written.endswith(b"\n")
    assert json.loads(written) == {
        "id": f"batch_req_{BATCH.removeprefix('batch_')}_3",
        "custom_id": 'a"\n',
        "response": {"status_code": 200, "request_id": "request", "body": {"a": "b\nc"}},
        "error": None,
    }


def test_a_refusal_has_its_status_and_the_error_of_the_api() -> None:
    cause = problem(ErrorCode.MODEL_NOT_FOUND, "no such", param="model")
    written = json.loads(refused_line(BATCH, 1, "a", "request", 404, cause))
    assert written["response"]["status_code"] == 404
    error = {"message": "no such", "type": "not_found_error", "param": "model", "code": "model_not_found"}
    assert written["response"]["body"] == {"error": error}
    assert written["error"] is None


def test_a_line_that_was_not_run_has_no_response() -> None:
    written = json.loads(unrun_line(BATCH, 9, None, problem(ErrorCode.BATCH_EXPIRED, "late")))
    assert (written["custom_id"], written["response"]) == (None, None)
    assert written["error"] == {"code": "batch_expired", "message": "late", "param": None, "line": 9}
