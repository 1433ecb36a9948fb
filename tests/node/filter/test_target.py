from collections.abc import Sequence

import pytest

from ktms.node.filter.refused import Refused
from ktms.node.filter.target import HEADERS_MAX, Head, Route, route_of

HOST = (b"Host", b"node")
Headers = Sequence[tuple[bytes, bytes]]


def told(method: bytes, target: bytes, *headers: tuple[bytes, bytes], version: tuple[int, int] = (1, 1)) -> object:
    """Give the route, or the status of the refusal."""
    route = route_of(Head(method, target, version, (HOST, *headers)))
    return route.status if isinstance(route, Refused) else route


def test_there_are_two_routes() -> None:
    assert told(b"GET", b"/v1/models") is Route.MODELS
    assert told(b"POST", b"/v1/chat/completions") is Route.CHAT


def test_each_route_has_one_method() -> None:
    assert told(b"POST", b"/v1/models") == 405
    assert told(b"GET", b"/v1/chat/completions") == 405


@pytest.mark.parametrize("version", [(1, 0), (0, 9), (2, 0), (1, 2)])
def test_one_version_is_spoken(version: tuple[int, int]) -> None:
    assert told(b"GET", b"/v1/models", version=version) == 400


@pytest.mark.parametrize("query", [b"?", b"?a=b", b"?x=/../", b"??", b"?%2e%2e"])
def test_a_query_says_nothing(query: bytes) -> None:
    assert told(b"GET", b"/v1/models" + query) is Route.MODELS


@pytest.mark.parametrize(
    "target", [b"", b"*", b"models", b"/v1/models#", b"/v1/models?a#b", b"/v1/models?\xff", b"/ "]
)
def test_a_target_of_another_form_is_odd(target: bytes) -> None:
    assert told(b"GET", target) == 400


def test_every_refusal_ends_its_connection() -> None:
    heads = (
        Head(b"GET", b"/", (1, 1), (HOST,)),
        Head(b"PUT", b"/v1/models", (1, 1), (HOST,)),
        Head(b"GET", b"/v1/models", (1, 1), ()),
        Head(b"GET", b"/v1/models", (1, 1), (HOST, (b"Origin", b"x"))),
        Head(b"GET", b"/v1/models", (1, 1), (HOST, (b"Expect", b"x"))),
        Head(b"GET", b"/v1/models", (1, 1), (HOST, (b"Content-Encoding", b"gzip"))),
    )
    refusals = [route_of(head) for head in heads]
    assert [isinstance(one, Refused) and one.ends for one in refusals] == [True] * len(heads)


HEADERS: dict[str, tuple[Headers, int]] = {
    "an origin": ([(b"ORIGIN", b"")], 403),
    "an upgrade": ([(b"upgrade", b"h2c")], 400),
    "a connection that is to be upgraded": ([(b"Connection", b"close, UPGRADE")], 400),
    "settings of HTTP/2": ([(b"HTTP2-Settings", b"")], 400),
    "an expectation": ([(b"Expect", b"200-ok")], 417),
    "a coded body": ([(b"Content-Encoding", b"zstd")], 415),
    "two codings of the body": ([(b"Content-Encoding", b"identity"), (b"content-encoding", b"gzip")], 400),
    "two hosts": ([HOST], 400),
    "two tokens": ([(b"Authorization", b"a"), (b"authorization", b"a")], 400),
    "two lengths": ([(b"Content-Length", b"1"), (b"content-length", b"1")], 400),
    "length and chunks": ([(b"Content-Length", b"1"), (b"Transfer-Encoding", b"chunked")], 400),
    "an unknown coding": ([(b"Transfer-Encoding", b"gzip")], 400),
    "a signed length": ([(b"Content-Length", b"+1")], 400),
    "an endless length": ([(b"Content-Length", b"1" * 21)], 400),
    "too many": ([(b"X", b"")] * HEADERS_MAX, 400),
}


@pytest.mark.parametrize("row", HEADERS)
def test_an_odd_header_is_refused(row: str) -> None:
    headers, status = HEADERS[row]
    assert told(b"POST", b"/v1/chat/completions", *headers) == status


PLAIN: dict[str, Headers] = {
    "none": [],
    "a length": [(b"Content-Length", b"12")],
    "chunks": [(b"Transfer-Encoding", b"Chunked")],
    "an expectation that is met": [(b"Expect", b"100-Continue")],
    "no coding by name": [(b"Content-Encoding", b"identity")],
    "others, twice": [(b"X-A", b"1"), (b"X-A", b"2"), (b"Accept", b"*/*")],
}


@pytest.mark.parametrize("row", PLAIN)
def test_plain_headers_pass(row: str) -> None:
    assert told(b"POST", b"/v1/chat/completions", *PLAIN[row]) is Route.CHAT


def test_the_list_of_models_takes_no_body_but_an_empty_one() -> None:
    assert told(b"GET", b"/v1/models", (b"Content-Length", b"0")) is Route.MODELS
    assert told(b"GET", b"/v1/models", (b"Content-Length", b"1")) == 400
    assert told(b"GET", b"/v1/models", (b"Transfer-Encoding", b"chunked")) == 400
