"""The test world's own reading of HTTP is right at every split, or it would blame the gateway."""

import pytest

from tests.world.http_message import Malformed, MessageHead, MessageReader

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\nTrailer: x\r\n\r\n"
    b"HTTP/1.1 429 No\r\nContent-Length: 2\r\nRetry-After: 7\r\n\r\nnoHTTP/1.1 204 OK\r\n\r\n"
)


class Kept:
    def __init__(self) -> None:
        self.messages: list[tuple[MessageHead, bytes]] = []
        self.ends = 0

    def on_head(self, head: MessageHead) -> None:
        self.messages.append((head, b""))

    def on_body(self, data: bytes) -> None:
        head, body = self.messages[-1]
        self.messages[-1] = (head, body + data)

    def on_end(self) -> None:
        self.ends += 1


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 16, 64, 1000])
def test_three_answers_are_the_same_at_every_split(size: int) -> None:
    kept = Kept()
    reader = MessageReader(kept, response=True)
    for start in range(0, len(CHUNKED), size):
        reader.feed(CHUNKED[start : start + size])
    assert [(head.status, body) for head, body in kept.messages] == [(200, b"hello!"), (429, b"no"), (204, b"")]
    assert kept.messages[1][0].header("retry-after") == "7"
    assert kept.ends == 3
    assert reader.between_messages


def test_a_body_without_length_ends_with_its_connection() -> None:
    kept = Kept()
    reader = MessageReader(kept, response=True)
    reader.feed(b"HTTP/1.1 200 OK\r\n\r\nabc")
    assert kept.ends == 0
    assert reader.closed()
    assert kept.messages[0][1] == b"abc"


def test_a_chunked_body_cut_short_is_told_apart_from_a_complete_one() -> None:
    reader = MessageReader(Kept(), response=True)
    reader.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    assert not reader.closed()


def test_a_request_without_framing_has_no_body() -> None:
    kept = Kept()
    MessageReader(kept, response=False).feed(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (kept.messages[0][0].method, kept.messages[0][0].target) == ("GET", "/v1/models")
    assert kept.ends == 1


@pytest.mark.parametrize(
    "bad",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        b"nonsense\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused(bad: bytes) -> None:
    with pytest.raises(Malformed):
        MessageReader(Kept(), response=True).feed(bad)
