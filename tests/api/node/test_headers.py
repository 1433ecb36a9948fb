import pytest

from ktms.api.node.headers import read_headers
from ktms.domain.access.key_form import KeyKind, make_key, read_key

TOKEN = make_key(KeyKind.NODE, lambda count: bytes(range(count)))


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER  "])
def test_a_node_key_is_read_whatever_the_case_of_its_scheme(scheme: str) -> None:
    found = read_headers(((b"AUTHORIZATION", f"{scheme}{TOKEN}".encode()),))
    assert found.key == read_key(TOKEN)


@pytest.mark.parametrize("value", [TOKEN, f"Basic {TOKEN}", "Bearer", "", f"Bearer {TOKEN} x"])
def test_anything_else_is_no_key(value: str) -> None:
    assert read_headers(((b"Authorization", value.encode()),)).key is None


def test_how_the_body_comes_is_read_in_lower_case() -> None:
    found = read_headers(((b"Content-Encoding", b" GZIP "), (b"Expect", b"100-Continue"), (b"X", b"\xff")))
    assert (found.encoding, found.expects) == ("gzip", "100-continue")


def test_a_repeated_encoding_is_no_plain_one() -> None:
    assert (
        read_headers(((b"Content-Encoding", b"identity"), (b"content-encoding", b"gzip"))).encoding != "identity"
    )
