import pytest

from ktms.node.plain_json import from_json


def test_what_is_json_is_given() -> None:
    assert from_json(b'{"a": [1, null]}') == {"a": [1, None]}


@pytest.mark.parametrize("text", ["", "[" * 100_000, '{"a": NaN}', "-Infinity", b"\xff", "9" * 10_000])
def test_whatever_else_it_is_ends_as_a_wrong_value(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        from_json(text)
