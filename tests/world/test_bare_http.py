from tests.world.bare_http import Requests

HEAD = b"POST /x HTTP/1.1\r\nhost: h\r\nContent-Length: 3"
REQUEST = HEAD + b"\r\n\r\nabc"


def test_a_request_is_found_in_whatever_pieces_it_comes() -> None:
    requests = Requests()
    found = [one for at in range(len(REQUEST)) for one in requests.fed(REQUEST[at : at + 1])]
    assert found == [(HEAD, b"abc")]


def test_requests_that_come_together_are_found_in_their_order() -> None:
    other = b"GET /y HTTP/1.1"
    assert list(Requests().fed(REQUEST + other + b"\r\n\r\n")) == [(HEAD, b"abc"), (other, b"")]
