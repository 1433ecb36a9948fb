import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.fakes.redis.resp import (
    ARGUMENTS_MAX,
    LINE_MAX_BYTES,
    REQUEST_MAX_BYTES,
    Answer,
    FramingBroken,
    Refusal,
    RequestReader,
    Status,
    encode,
)
from tests.sim.fakes.redis.paper import request

REQUESTS = [[b"SET", b"key", b"a\r\nb"], [b"GET", b""], [b"PING"]]
BYTES = b"".join(request(*one) for one in REQUESTS) + b"PING hello\r\n\r\n*0\r\n"


def read(*pieces: bytes) -> list[list[bytes]]:
    reader, found = RequestReader(), []
    for piece in pieces:
        reader.feed(piece)
        while (one := reader.take()) is not None:
            found.append(one)
    return found


@pytest.mark.parametrize("at", range(len(BYTES) + 1))
def test_requests_are_the_same_wherever_their_bytes_are_split(at: int) -> None:
    assert read(BYTES[:at], BYTES[at:]) == [*REQUESTS, [b"PING", b"hello"]]


def test_requests_may_come_byte_by_byte() -> None:
    assert read(*(BYTES[at : at + 1] for at in range(len(BYTES)))) == [*REQUESTS, [b"PING", b"hello"]]


@given(st.lists(st.lists(st.binary(max_size=40), min_size=1, max_size=5), max_size=5))
def test_any_arguments_are_read_as_they_were_sent(requests: list[list[bytes]]) -> None:
    assert read(b"".join(request(*one) for one in requests)) == requests


@pytest.mark.parametrize(
    "data",
    [
        b"*x\r\n",
        b"*%d\r\n" % (ARGUMENTS_MAX + 1),
        b"*1\r\n+PING\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$%d\r\n" % (REQUEST_MAX_BYTES + 1),
        b"*1\r\n$" + b"9" * 5000 + b"\r\n",
        b"*1\r\n$4\r\nPINGx\r\n",
        b"x" * (LINE_MAX_BYTES + 1),
    ],
)
def test_broken_or_oversized_framing_is_refused(data: bytes) -> None:
    with pytest.raises(FramingBroken):
        read(data)


def test_many_arguments_together_are_bounded_too() -> None:
    half = request(b"x" * (REQUEST_MAX_BYTES // 2))[4:]
    with pytest.raises(FramingBroken):
        read(b"*3\r\n" + half * 3)


def test_what_waits_is_counted() -> None:
    reader = RequestReader()
    reader.feed(b"*2\r\n$4\r\nPING\r\n$5\r\nabc")
    assert reader.take() is None
    assert reader.waiting_bytes == len(b"PING") + len(b"abc")


@pytest.mark.parametrize(
    ("answer", "version", "wanted"),
    [
        (Status(b"OK"), 2, b"+OK\r\n"),
        (Refusal(b"ERR no"), 2, b"-ERR no\r\n"),
        (7, 3, b":7\r\n"),
        (b"ab", 2, b"$2\r\nab\r\n"),
        (None, 2, b"$-1\r\n"),
        (None, 3, b"_\r\n"),
        ([1, b"a"], 2, b"*2\r\n:1\r\n$1\r\na\r\n"),
        ({b"a": 1}, 2, b"*2\r\n$1\r\na\r\n:1\r\n"),
        ({b"a": 1}, 3, b"%1\r\n$1\r\na\r\n:1\r\n"),
    ],
)
def test_answers_are_written_in_the_version_of_the_session(answer: Answer, version: int, wanted: bytes) -> None:
    assert encode(answer, version) == wanted
