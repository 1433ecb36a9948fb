"""Lines of batch files: requests as clients write them, results as we do.

A line that is not one that we run is a `BadLine`: it ends by itself, the others run. Results stand on one line
each, whatever the answer in them looks like. Not here: splitting a file into lines (`line_reader.py`), runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from ktms.dialects.json import BadJson, as_json, decoded, top_level
from ktms.dialects.openai_chat.request import BadRequest, RequestBody, read_request
from ktms.domain.batch.names import BatchId, hex_of
from ktms.domain.call import Route
from ktms.domain.errors import ErrorCode, Problem, problem

PREFIX = "/v1"
"""Before the path of a route, as a batch and its lines name it."""

ROUTES: Mapping[str, Route] = {f"{PREFIX}{route.value}": route for route in Route}
"""What a batch may ask for, by its name in the API."""

CUSTOM_ID_MAX = 512
"""It comes back in the result, and all of one file are held against each other."""

_string = msgspec.json.Decoder(str).decode
_ENDS = bytes.maketrans(b"\r\n", b"  ")


class BadLine(Exception):
    """A line that is not run. `custom_id` is the client's own name for it, where it could be read."""

    def __init__(self, cause: Problem, custom_id: str | None = None) -> None:
        super().__init__(cause.code)
        self.problem = cause
        self.custom_id = custom_id


@dataclass(frozen=True, slots=True)
class LineRequest:
    """One request of a batch."""

    custom_id: str
    body: RequestBody


def read_line(text: bytes, route: Route) -> LineRequest:
    """Read a line of a batch for this route.

    Raises:
        BadLine: it is none.
    """
    try:
        members = {name: text[span.start : span.end] for name, span in top_level(text).items()}
    except BadJson as error:
        raise BadLine(problem(ErrorCode.INVALID_REQUEST, error.message)) from error
    custom_id = _text(members, "custom_id")
    if not custom_id or len(custom_id) > CUSTOM_ID_MAX:
        raise _bad(f"`custom_id` must be a string of 1 to {CUSTOM_ID_MAX} characters", "custom_id")
    if _text(members, "method") != "POST":
        raise _bad("`method` must be POST", "method", custom_id)
    if ROUTES.get(_text(members, "url") or "") is not route:
        raise _bad(f"`url` must be that of the batch, {PREFIX}{route.value}", "url", custom_id)
    return LineRequest(custom_id, _body(members.get("body"), route, custom_id))


def _body(raw: bytes | None, route: Route, custom_id: str) -> RequestBody:
    if raw is None:
        raise _bad("`body` must be an object", "body", custom_id)
    try:
        body = read_request(raw, route)
    except BadRequest as error:
        param = "body" if error.param is None else f"body.{error.param}"
        raise _bad(error.message, param, custom_id) from error
    if body.facts.streamed:
        raise _bad("`stream` cannot be true in a batch", "body.stream", custom_id)
    return body


def answered_line(batch: BatchId, number: int, custom_id: str, request_id: str, body: bytes) -> bytes:
    """Write the result of a line that was answered; `body` is the answer, JSON."""
    response = b'{"status_code":200,"request_id":%b,"body":%b}' % (as_json(request_id), body.translate(_ENDS))
    return _line(batch, number, custom_id, response, b"null")


def refused_line(
    batch: BatchId, number: int, custom_id: str, request_id: str, status: int, cause: Problem
) -> bytes:
    """Write the result of a line that ran and got no answer."""
    error = {"message": cause.message, "type": cause.type, "param": cause.param, "code": cause.code}
    response = {"status_code": status, "request_id": request_id, "body": {"error": error}}
    return _line(batch, number, custom_id, as_json(response), b"null")


def unrun_line(batch: BatchId, number: int, custom_id: str | None, cause: Problem) -> bytes:
    """Write the result of a line that was not run; `line` in it counts from 1, as editors do."""
    error = {"code": cause.code, "message": cause.message, "param": cause.param, "line": number}
    return _line(batch, number, custom_id, b"null", as_json(error))


def _line(batch: BatchId, number: int, custom_id: str | None, response: bytes, error: bytes) -> bytes:
    name = f"batch_req_{hex_of(batch)}_{number}"
    return b'{"id":%b,"custom_id":%b,"response":%b,"error":%b}\n' % (
        as_json(name),
        as_json(custom_id),
        response,
        error,
    )


def _text(members: Mapping[str, bytes], name: str) -> str | None:
    raw = members.get(name, b"")
    return decoded(_string, raw) if raw.startswith(b'"') else None


def _bad(message: str, param: str, custom_id: str | None = None) -> BadLine:
    return BadLine(problem(ErrorCode.INVALID_REQUEST, message, param=param), custom_id)
