"""A blocking HTTP client that shows everything: status, headers, body, and events as they come."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from tests.e2e.waiting import PATIENCE_S

CHAT = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: str

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The error's code."""
        return str(self.json["error"]["code"])


def ask(
    url: str, path: str, *, key: str | None = None, body: object = None, within_s: float = PATIENCE_S
) -> Answer:
    """GET a page, or POST a body as JSON, on a connection of its own.

    Raises:
        OSError: nobody listens, or the answer is late.
    """
    with _sent(url, path, key, body, within_s) as answer:
        return Answer(answer.status, _headers(answer), answer.read().decode())


def answers(url: str, path: str) -> Answer | None:
    """GET a page; None while nobody answers."""
    try:
        return ask(url, path)
    except (OSError, HTTPException):
        return None


class Stream:
    """A streamed answer, event by event."""

    def __init__(self, answer: HTTPResponse) -> None:
        self._answer = answer
        self.status = answer.status
        self.headers = _headers(answer)
        self.cut = False

    def event(self) -> str | None:
        """Give the next event's lines; None at the end, `cut` where the body has no proper end."""
        lines: list[str] = []
        try:
            while line := self._answer.readline().decode().rstrip("\r\n"):
                lines.append(line)
        except (OSError, HTTPException):
            self.cut = True
        if not lines and self._answer.chunked and self._answer.chunk_left is not None:
            self.cut = True  # closed between two chunks: the library takes that for an end
        return "\n".join(lines) or None

    def rest(self) -> list[str]:
        """Give all events that are left."""
        return list(iter(self.event, None))


@contextmanager
def streaming(url: str, key: str, body: Mapping[str, object], **headers: str) -> Iterator[Stream]:
    """Ask for a streamed chat; the connection ends with the block."""
    with _sent(url, CHAT, key, {"stream": True, **body}, PATIENCE_S, headers) as answer:
        yield Stream(answer)


def saying(text: str, **more: object) -> dict[str, object]:
    """Make the body of a chat in which the user says this."""
    return {"messages": [{"role": "user", "content": text}], **more}


def data_of(events: list[str]) -> list[Any]:
    """Decode events of a stream but the end mark."""
    payloads = [event.partition("data: ")[2] for event in events if "data: " in event]
    return [json.loads(payload) for payload in payloads if payload != "[DONE]"]


@contextmanager
def _sent(
    url: str, path: str, key: str | None, body: object, within_s: float, more: Mapping[str, str] | None = None
) -> Iterator[HTTPResponse]:
    place = urlsplit(url)
    assert place.hostname
    connection = HTTPConnection(place.hostname, place.port, timeout=within_s)
    headers = {**(more or {}), **({} if key is None else {"Authorization": f"Bearer {key}"})}
    try:
        if body is None:
            connection.request("GET", path, headers=headers)
        else:
            connection.request("POST", path, json.dumps(body), {**headers, "Content-Type": "application/json"})
        with connection.getresponse() as answer:
            yield answer
    finally:
        connection.close()


def _headers(answer: HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.getheaders()}
