import pytest

from ktms.domain.access.secret import Secret
from ktms.node.filter.token import TokenCheck

CHECK = TokenCheck(Secret("s3cret"))


@pytest.mark.parametrize("value", [b"Bearer s3cret", b"bearer s3cret", b"BEARER s3cret"])
def test_the_token_passes(value: bytes) -> None:
    assert CHECK.passes(((b"Host", b"x"), (b"authorization", value)))


@pytest.mark.parametrize(
    "value", [b"", b"Bearer", b"Bearer ", b"s3cret", b"Bearer s3cre", b"Bearer s3crets", b"Bearer  s3cret"]
)
def test_anything_else_does_not(value: bytes) -> None:
    assert not CHECK.passes(((b"Authorization", value),))


def test_no_header_does_not_pass() -> None:
    assert not CHECK.passes(())
    assert not CHECK.passes(((b"X-Authorization", b"Bearer s3cret"),))


def test_an_empty_token_is_no_way_in() -> None:
    with pytest.raises(AssertionError):
        TokenCheck(Secret(""))
