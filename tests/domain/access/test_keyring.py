"""The keyring as operators write it."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.access.keyring import KEYS_MAX, Keyring, KeyringInvalid, parse_keyring

STRONG = bytes(range(200, 232))


def value(key: bytes) -> str:
    return base64.urlsafe_b64encode(key).decode().rstrip("=")


def strong(seed: int) -> bytes:
    return bytes((seed + place * 7) % 256 for place in range(32))


def refused(text: str) -> str:
    with pytest.raises(KeyringInvalid) as caught:
        parse_keyring(text)
    return str(caught.value)


@given(st.lists(st.from_regex(r"[a-z0-9][a-z0-9-]{0,15}", fullmatch=True), min_size=1, max_size=8, unique=True))
def test_keys_keep_their_order_and_bytes(ids: list[str]) -> None:
    text = ",".join(f"{key_id}:{value(strong(index))}" for index, key_id in enumerate(ids))

    keyring = parse_keyring(text)

    assert keyring.ids == tuple(ids)
    assert [keyring.key(key_id) for key_id in ids] == [strong(index) for index in range(len(ids))]


def test_the_line_end_of_a_file_is_ignored() -> None:
    assert parse_keyring(f"k1:{value(STRONG)}\n").ids == ("k1",)


def test_a_key_that_is_not_held_is_not_given() -> None:
    keyring = parse_keyring(f"k1:{value(STRONG)}")

    assert "k1" in keyring
    assert "k2" not in keyring
    with pytest.raises(KeyError):
        keyring.key("k2")


def test_its_repr_shows_ids_only() -> None:
    assert repr(parse_keyring(f"k2:{value(STRONG)},k1:{value(strong(1))}")) == "Keyring(k2, k1)"


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_an_empty_keyring_is_refused(text: str) -> None:
    assert "empty" in refused(text)


def test_too_many_keys_are_refused() -> None:
    text = ",".join(f"k{index}:{value(strong(index))}" for index in range(KEYS_MAX + 1))

    assert "at most 8" in refused(text)


@pytest.mark.parametrize("key_id", ["", "K1", "-k", "k_1", "k" * 17, " k1", "k1 ", "schlüssel", "k1\n"], ids=repr)
def test_an_id_of_another_form_is_refused(key_id: str) -> None:
    assert refused(f"ok:{value(STRONG)},{key_id}:{value(strong(1))}").startswith("key 2: must begin with an id")


def test_an_entry_without_an_id_is_refused() -> None:
    assert refused(value(STRONG)).startswith("key 1: must begin with an id")


def test_a_comma_too_many_is_refused() -> None:
    assert refused(f"k1:{value(STRONG)},").startswith("key 2:")


@pytest.mark.parametrize(
    "text",
    [
        "",
        value(STRONG)[:-1],
        value(STRONG) + "A",
        value(STRONG) + "=",
        value(STRONG)[:20] + " " + value(STRONG)[21:],
        value(STRONG)[:20] + "+" + value(STRONG)[21:],
        value(STRONG)[:20] + "/" + value(STRONG)[21:],
        value(STRONG[:31]),
        value(STRONG + b"\xe8"),
    ],
)
def test_a_value_that_is_not_32_bytes_of_base64url_is_refused(text: str) -> None:
    assert "key 1 (k1): must be 43 characters" in refused(f"k1:{text}")


def test_bits_that_belong_to_no_byte_are_refused() -> None:
    canonical = value(STRONG)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    sloppy = canonical[:-1] + alphabet[alphabet.index(canonical[-1]) + 1]

    assert "belong to no byte" in refused(f"k1:{sloppy}")


def test_an_id_given_twice_is_refused() -> None:
    assert "key 2 (k1): this id" in refused(f"k1:{value(STRONG)},k1:{value(strong(1))}")


def test_one_key_under_two_ids_is_refused() -> None:
    assert "key 2 (k2): the same key" in refused(f"k1:{value(STRONG)},k2:{value(STRONG)}")


@pytest.mark.parametrize("key", [bytes(32), b"\xff" * 32, b"correct horse battery staple 012"])
def test_a_weak_key_is_refused(key: bytes) -> None:
    assert "key 1 (k1): too weak" in refused(f"k1:{value(key)}")


@given(st.text(max_size=120))
def test_no_complaint_repeats_a_value(text: str) -> None:
    secret = value(STRONG)
    for broken in (f"{secret}:{text}", f"k1:{secret}{text}!", f"K1{text}:{secret}", f"k1:{secret},k1:{secret}"):
        assert secret[:20] not in refused(broken)


def test_a_keyring_without_keys_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError):
        Keyring({})
