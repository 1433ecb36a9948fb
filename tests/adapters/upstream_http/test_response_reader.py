"""The reader alone: what it takes, what it refuses, and that it does not matter how the bytes were cut."""

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.adapters.upstream_http.response_reader import (
    DRY_BYTES_MAX,
    HEAD_BYTES_MAX,
    HEADERS_MAX,
    INTERIM_MAX,
    ResponseReader,
)
from ktms.domain.routing.outcome import FailureKind
from tests.adapters.upstream_http.scripted import LAST_CHUNK, answer, chunk, stream_head

INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"

TAKEN = {
    "length": (answer(b"body"), b"body"),
    "empty": (answer(b""), b""),
    "chunked": (stream_head() + chunk(b"one") + chunk(b"two" * 99) + LAST_CHUNK, b"one" + b"two" * 99),
    "chunk-extension": (stream_head() + b"3;a=b\r\nabc\r\n" + LAST_CHUNK, b"abc"),
    "trailers": (stream_head() + chunk(b"x") + b"0\r\nTransfer-Encoding: gzip\r\n\r\n", b"x"),
    "no-content": (b"HTTP/1.1 204 No Content\r\nX: 1\r\n\r\n", b""),
    "not-modified": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", b""),
    "interim": (b"HTTP/1.1 100 Continue\r\n\r\n" + INTERIM * 3 + answer(b"body"), b"body"),
    "http-1.0": (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", b"x"),
    "no-reason": (b"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", b"x"),
    "leading-crlf": (b"\r\n" + answer(b"x"), b"x"),
    "identity": (answer(b"x", "Content-Encoding: identity"), b"x"),
    "bytes-in-header": (answer(b"x").replace(b"Content", b"X-Name: caf\xc3\xa9\r\nContent"), b"x"),
}

REFUSED = {
    "length-and-coding": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "coding-and-length": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "two-lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    "same-length-twice": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
    "length-list": b"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\nx",
    "length-sign": b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx",
    "length-hex": b"HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\nx",
    "length-zeros": b"HTTP/1.1 200 OK\r\nContent-Length: " + b"0" * 5000 + b"1\r\n\r\nx",
    "coding-gzip-chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "coding-gzip": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc",
    "coding-identity": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nabc",
    "coding-twice": stream_head("Transfer-Encoding: chunked") + LAST_CHUNK,
    "coding-in-1.0": b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "folded-header": b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "nul": b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n",
    "bare-cr": b"HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 0\r\n\r\n",
    "bare-lf": b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    "space-before-colon": b"HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n",
    "http-2": b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    "http-0.9": b"HTTP/0.9 200 OK\r\nContent-Length: 0\r\n\r\n",
    "http-1.2": b"HTTP/1.2 200 OK\r\nContent-Length: 0\r\n\r\n",
    "status-600": b"HTTP/1.1 600 No\r\nContent-Length: 0\r\n\r\n",
    "status-099": b"HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n",
    "switching": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw",
    "interim-with-body": b"HTTP/1.1 103 Early\r\nContent-Length: 2\r\n\r\nhi" + answer(),
    "interim-flood": INTERIM * (INTERIM_MAX + 1) + answer(),
    "tls": b"\x15\x03\x01\x00\x02\x02\x46",
    "ssh": b"SSH-2.0-OpenSSH\r\n",
    "two-encodings": answer(b"", "Content-Encoding: identity", "Content-Encoding: gzip"),
    "too-many-headers": answer(b"", *["X: 1"] * HEADERS_MAX),
}


@dataclass
class Outcome:
    """What a caller can see of a response once all bytes are in."""

    status: int
    headers: dict[str, bytes]
    body: bytes
    head_ready: bool
    complete: bool
    keep_alive: bool
    surplus: bool
    fault: FailureKind | None


def outcome(*pieces: bytes) -> Outcome:
    reader = ResponseReader()
    body = b""
    for piece in pieces:
        reader.feed(piece)
        body += b"".join(reader.pieces)
        reader.pieces = []
        if reader.fault is not None or reader.surplus:
            break
    return Outcome(
        reader.status if reader.head_ready else 0,
        reader.headers if reader.head_ready else {},
        body,
        reader.head_ready,
        reader.complete,
        reader.keep_alive,
        reader.surplus,
        reader.fault.kind if reader.fault else None,
    )


@pytest.mark.parametrize("name", TAKEN)
def test_a_response_is_taken_however_it_is_cut_in_two(name: str) -> None:
    raw, body = TAKEN[name]
    whole = outcome(raw)
    assert (whole.body, whole.complete, whole.fault, whole.surplus) == (body, True, None, False)
    for at in range(1, len(raw)):
        assert outcome(raw[:at], raw[at:]) == whole
    assert outcome(*(raw[at : at + 1] for at in range(len(raw)))) == whole


@given(name=st.sampled_from(sorted(TAKEN)), cuts=st.lists(st.integers(0, 400), max_size=12))
def test_a_response_is_taken_however_often_it_is_cut(name: str, cuts: list[int]) -> None:
    raw, _ = TAKEN[name]
    marks = [0, *sorted({cut % len(raw) for cut in cuts} - {0}), len(raw)]
    pieces = [raw[start:end] for start, end in itertools.pairwise(marks)]
    assert outcome(*pieces) == outcome(raw)


@pytest.mark.parametrize("name", REFUSED)
def test_such_a_response_is_refused_however_it_is_cut(name: str) -> None:
    raw = REFUSED[name]
    refused = Outcome(0, {}, b"", head_ready=False, complete=False, keep_alive=False, surplus=False, fault=None)
    refused.fault = FailureKind.MALFORMED
    whole = outcome(raw)
    whole.keep_alive = False
    assert whole == refused
    step = max(1, len(raw) // 500)
    for at in range(1, len(raw), step):
        cut = outcome(raw[:at], raw[at:])
        cut.keep_alive = False
        assert cut == refused, at


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "x"])
def test_any_content_encoding_but_identity_is_encoded(encoding: str) -> None:
    assert outcome(answer(b"x", f"Content-Encoding: {encoding}")).fault is FailureKind.ENCODED


def test_as_many_headers_as_allowed_are_taken() -> None:
    assert outcome(answer(b"", *["X: 1"] * (HEADERS_MAX - 1))).fault is None


def test_a_head_of_many_bytes_is_refused_before_it_ends() -> None:
    reader = ResponseReader()
    reader.feed(b"HTTP/1.1 200 OK\r\nX: ")
    fed = 0
    while reader.fault is None:
        reader.feed(b"y" * 1000)
        fed += 1000
        assert fed <= HEAD_BYTES_MAX + 1000
    assert reader.fault.kind is FailureKind.MALFORMED


def test_a_head_of_many_bytes_is_refused_even_in_one_piece() -> None:
    assert outcome(answer(b"", f"X: {'y' * HEAD_BYTES_MAX}")).fault is FailureKind.MALFORMED


@pytest.mark.parametrize("endless", [b"1;", b"0\r\nX: "], ids=["extension", "trailer"])
def test_endless_framing_is_refused(endless: bytes) -> None:
    reader = ResponseReader()
    reader.feed(stream_head() + chunk(b"x"))
    reader.pieces = []
    reader.feed(endless)
    fed = 0
    while reader.fault is None:
        reader.feed(b"y" * 1000)
        fed += 1000
        assert fed <= DRY_BYTES_MAX + 1000
    assert reader.fault.kind is FailureKind.MALFORMED


def test_a_long_body_is_no_endless_framing() -> None:
    reader = ResponseReader()
    reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    for _ in range(1000):
        reader.feed(b"y" * 1000)
        reader.pieces = []
    assert reader.complete
    assert reader.fault is None


@pytest.mark.parametrize("extra", [b"H", b"X", answer(), b"\x00"])
def test_bytes_after_a_whole_response_are_surplus(extra: bytes) -> None:
    seen = outcome(answer(b"body") + extra)
    assert (seen.body, seen.complete, seen.surplus, seen.fault) == (b"body", True, True, None)


def test_a_surplus_response_changes_nothing_of_the_first() -> None:
    second = b"HTTP/1.1 500 No\r\nX-Evil: 1\r\nContent-Length: 4\r\n\r\nevil"
    seen = outcome(answer(b"good", "X-Good: 1") + second)
    assert (seen.status, seen.body, set(seen.headers)) == (200, b"good", {"x-good", "content-length"})


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (answer(b"x"), True),
        (answer(b"x", "Connection: close"), False),
        (answer(b"x", "Connection: keep-alive, Close"), False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", True),
    ],
)
def test_keep_alive_is_what_the_peer_said(raw: bytes, kept: bool) -> None:
    assert outcome(raw).keep_alive is kept


def test_a_body_without_framing_never_completes_by_itself() -> None:
    reader = ResponseReader()
    reader.feed(b"HTTP/1.1 200 OK\r\n\r\nabc")
    assert (reader.until_eof, reader.complete, reader.pieces) == (True, False, [b"abc"])


def test_one_reader_reads_one_response_after_the_other() -> None:
    reader = ResponseReader()
    for number in range(3):
        reader.expect()
        reader.feed(stream_head(f"X-Number: {number}") + chunk(b"%d" % number) + LAST_CHUNK)
        assert (reader.complete, reader.keep_alive, reader.pieces) == (True, True, [b"%d" % number])
        assert reader.headers["x-number"] == b"%d" % number


def test_long_header_names_are_read_too() -> None:
    assert outcome(answer(b"", f"X-{'Y' * 200}: 1")).headers[f"x-{'y' * 200}"] == b"1"


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    outcome(raw)
    outcome(stream_head(), raw)
    outcome(b"HTTP/1.1 200 OK\r\n" + raw)
