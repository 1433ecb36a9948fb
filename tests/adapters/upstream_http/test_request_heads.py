"""Heads of requests: their bytes, what is kept, what cannot be smuggled in."""

import pytest

from ktms.adapters.upstream_http.request_heads import PROLOGUES_MAX, RequestHeads
from ktms.domain.snapshot import Origin, Reach
from ktms.ports.upstream import Prologue, UpstreamRequest
from tests.adapters.upstream_http.scripted import GENEROUS

VENDOR = Origin("https", "api.example.com", 443, "/v1", Reach.PUBLIC)


def request(
    prologue: Prologue,
    *,
    origin: Origin = VENDOR,
    body: bytes = b"{}",
    extra: tuple[tuple[str, str], ...] = (),
) -> UpstreamRequest:
    return UpstreamRequest(origin, prologue, body, GENEROUS, extra)


def head(prologue: Prologue, origin: Origin = VENDOR) -> bytes:
    return RequestHeads().head(request(prologue, origin=origin))[1]


def test_a_head_is_complete() -> None:
    assert head(Prologue("POST", "/v1/x?a=b", (("Authorization", "Bearer k"),))) == (
        b"POST /v1/x?a=b HTTP/1.1\r\n"
        b"Host: api.example.com\r\n"
        b"Accept-Encoding: identity\r\n"
        b"Authorization: Bearer k\r\n"
        b"Content-Length: 2\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (Origin("https", "h", 443, "", Reach.PUBLIC), b"h"),
        (Origin("http", "h", 80, "", Reach.PUBLIC), b"h"),
        (Origin("http", "h", 443, "", Reach.PUBLIC), b"h:443"),
        (Origin("https", "h", 8443, "", Reach.PUBLIC), b"h:8443"),
        (Origin("http", "fd00::1", 8000, "", Reach.NODE), b"[fd00::1]:8000"),
    ],
)
def test_host_names_the_port_unless_it_is_the_usual_one(origin: Origin, host: bytes) -> None:
    assert b"\r\nHost: " + host + b"\r\n" in head(Prologue("POST", "/", ()), origin)


def test_another_accept_encoding_is_not_asked_for() -> None:
    made = head(Prologue("POST", "/", (("accept-encoding", "gzip"),)))
    assert b"gzip" not in made
    assert made.lower().count(b"accept-encoding") == 1


def test_an_empty_post_says_its_length_and_an_empty_get_does_not() -> None:
    heads = RequestHeads()
    assert b"Content-Length: 0" in heads.head(request(Prologue("POST", "/", ()), body=b""))[1]
    assert b"Content-Length" not in heads.head(request(Prologue("GET", "/", ()), body=b""))[1]


def test_the_same_prologue_at_another_origin_is_made_anew() -> None:
    heads, prologue = RequestHeads(), Prologue("POST", "/", ())
    other = Origin("https", "other.example.com", 443, "", Reach.PUBLIC)
    first, _ = heads.head(request(prologue))
    second, made = heads.head(request(prologue, origin=other))
    assert first != second
    assert b"Host: other.example.com\r\n" in made


def test_lanes_differ_by_reach() -> None:
    heads = RequestHeads()
    as_node = Origin(VENDOR.scheme, VENDOR.host, VENDOR.port, "", Reach.NODE)
    assert (
        heads.head(request(Prologue("POST", "/", ())))[0]
        != heads.head(request(Prologue("POST", "/", ()), origin=as_node))[0]
    )


def test_kept_prologues_are_bounded() -> None:
    heads = RequestHeads()
    for _ in range(PROLOGUES_MAX + 10):
        heads.head(request(Prologue("POST", "/", ())))
    assert len(heads._known) == PROLOGUES_MAX


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X", "a\r\nEvil: 1"),
        ("X", "a\nb"),
        ("X", "a\0b"),
        ("X\r\nEvil", "1"),
        ("X Y", "1"),
        ("", "1"),
        ("Host", "evil"),
        ("content-length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "close"),
        ("Expect", "100-continue"),
        ("X", "\u20ac"),
    ],
)
def test_such_a_header_is_never_sent(name: str, value: str) -> None:
    with pytest.raises(ValueError):
        head(Prologue("POST", "/", ((name, value),)))
    with pytest.raises(ValueError):
        RequestHeads().head(request(Prologue("POST", "/", ()), extra=((name, value),)))


def test_a_refused_header_does_not_show_its_value() -> None:
    with pytest.raises(ValueError) as refused:
        head(Prologue("POST", "/", (("Authorization", "Bearer secret\r\n"),)))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/a b"),
        ("POST", "/a\r\nEvil: 1"),
        ("POST", "no-slash"),
        ("POST", "http://other/"),
        ("POST", "/caf\u00e9"),
        ("PO ST", "/"),
        ("", "/"),
    ],
)
def test_such_a_request_line_is_never_sent(method: str, path: str) -> None:
    with pytest.raises(ValueError):
        head(Prologue(method, path, ()))


def test_a_host_that_would_break_the_head_is_never_sent() -> None:
    with pytest.raises(ValueError):
        head(Prologue("POST", "/", ()), Origin("http", "h\r\nEvil: 1", 80, "", Reach.PUBLIC))
