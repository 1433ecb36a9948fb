"""Which heads the fast lane takes, and what it knows of them. The list of odd ones runs in test_fast_lane.py."""

import pytest

from ktms.api.inbound import Inbound
from ktms.api.request_head import BODY_BYTES_MAX, HEADERS_MAX, LENGTH_DIGITS_MAX, RequestHead, read_head
from ktms.api.wire import Reply

TARGET = b"/hot"


async def serve(request: Inbound) -> Reply:
    raise AssertionError(request.raw_path)  # reading a head asks no handler


def head(*lines: str, host: bool = True) -> bytes:
    given = ("Host: a", *lines) if host else lines
    return "\r\n".join(("POST /hot HTTP/1.1", *given, "", "")).encode()


def read(data: bytes) -> RequestHead | None:
    return read_head(data, {TARGET: serve})


def test_a_plain_head_tells_its_handler_its_headers_and_where_the_body_is() -> None:
    data = head("Content-Length: 5", "X-Own: One")
    found = read(data)
    assert found is not None
    assert (found.handler, found.target) == (serve, TARGET)
    assert found.headers == [(b"Host", b"a"), (b"Content-Length", b"5"), (b"X-Own", b"One")]
    assert (found.body_at, found.body_bytes) == (len(data), 5)


@pytest.mark.parametrize("length", [0, 5])  # with an empty body the message is over when the parser returns
@pytest.mark.parametrize(
    ("line", "keeps"),
    [
        ("X-None: 1", True),
        ("Connection: keep-alive", True),
        ("Connection: close", False),
        ("Connection: X-Own, Close", False),
    ],
)
def test_a_head_tells_whether_the_connection_stays(line: str, keeps: bool, length: int) -> None:
    found = read(head(f"Content-Length: {length}", line))
    assert found is not None
    assert found.keeps is keeps


@pytest.mark.parametrize("name", ["Host", "Content-Length", "Authorization", "X-Api-Key", "Content-Type"])
def test_a_header_that_decides_something_comes_once(name: str) -> None:
    twice = (f"{name}: 1", f"{name.upper()}: 1")
    assert read(head("Content-Length: 1", *twice)) is None


@pytest.mark.parametrize("name", ["Transfer-Encoding", "Content-Encoding", "Expect", "TE", "Trailer"])
def test_a_header_that_changes_how_a_body_is_read_is_not_for_the_lane(name: str) -> None:
    assert read(head("Content-Length: 1", f"{name}: gzip")) is None


@pytest.mark.parametrize(
    ("length", "taken"),
    [
        (str(BODY_BYTES_MAX), True),
        (str(BODY_BYTES_MAX + 1), False),
        ("1".zfill(LENGTH_DIGITS_MAX), True),
        ("1".zfill(LENGTH_DIGITS_MAX + 1), False),
        ("+1", False),
        ("", False),
    ],
)
def test_a_length_is_a_number_within_bounds(length: str, taken: bool) -> None:
    assert (read(head(f"Content-Length: {length}")) is not None) is taken


def test_a_head_without_a_host_or_of_another_target_is_not_for_the_lane() -> None:
    assert read(head("Content-Length: 1", host=False)) is None
    assert read(head("Content-Length: 1").replace(TARGET, b"/cold")) is None


def test_so_many_headers_and_not_one_more() -> None:
    lines = ["Content-Length: 1", *("X: 1" for _ in range(HEADERS_MAX - 2))]
    assert read(head(*lines)) is not None
    assert read(head(*lines, "X: 1")) is None
