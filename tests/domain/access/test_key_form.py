"""The form of key texts."""

import hashlib
import os
import string
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.access.key_form import ALPHABET, KeyKind, KeyText, digest_of, make_key, read_key, same_digest
from ktms.domain.ids import KeyId

KINDS = st.sampled_from(KeyKind)
BASE62 = st.sampled_from(ALPHABET)


def checksum(stem: str) -> str:
    """CRC-32 in six base62 digits, written down a second time and the other way round."""
    value = zlib.crc32(stem.encode())
    return "".join(ALPHABET[value // 62**place % 62] for place in range(5, -1, -1))


def constant(byte: int) -> Callable[[int], bytes]:
    return lambda count: bytes([byte]) * count


@given(KINDS)
def test_a_made_key_reads_back(kind: KeyKind) -> None:
    text = make_key(kind, os.urandom)

    key_id = KeyId(text.removeprefix(kind.value)[1:11])

    assert read_key(text) == KeyText(kind, key_id, hashlib.sha256(text.encode()).digest())


@given(KINDS, st.text(BASE62, min_size=10, max_size=10), st.text(BASE62, min_size=32, max_size=32))
def test_every_well_formed_key_is_read(kind: KeyKind, key_id: str, secret: str) -> None:
    stem = f"{kind.value}_{key_id}_{secret}"

    read = read_key(stem + checksum(stem))

    assert read is not None
    assert (read.kind, read.id) == (kind, key_id)


def test_a_small_checksum_is_padded_with_zeros() -> None:
    stems = (f"ktms_sk_{'0' * 10}_{'0' * 28}{number:04d}" for number in range(10_000))
    stem = next(stem for stem in stems if zlib.crc32(stem.encode()) < 62**5)

    assert checksum(stem)[0] == "0"
    assert read_key(stem + checksum(stem)) is not None


def test_a_known_key_stays_valid() -> None:
    # A literal, so that a change of alphabet, digit order or padding is noticed.
    assert read_key("ktms_sk_0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef1K8cQw") is not None


@given(KINDS, st.data())
def test_one_changed_character_is_noticed(kind: KeyKind, data: st.DataObject) -> None:
    text = make_key(kind, os.urandom)
    place = data.draw(st.integers(min_value=0, max_value=len(text) - 1))
    other = data.draw(BASE62.filter(lambda character: character != text[place]))

    assert read_key(text[:place] + other + text[place + 1 :]) is None


@given(st.text())
def test_no_other_text_is_a_key(text: str) -> None:
    assert read_key(text) is None


@pytest.mark.parametrize(
    "change", [str.upper, lambda text: text + "\n", lambda text: " " + text, lambda text: text[:-1]]
)
def test_case_and_white_space_and_length_count(change: Callable[[str], str]) -> None:
    assert read_key(change(make_key(KeyKind.CLIENT, os.urandom))) is None


def test_bytes_that_would_favour_the_first_characters_are_thrown_away() -> None:
    source = iter([255, 248, 247, 0])
    rest = constant(1)

    def entropy(count: int) -> bytes:
        return (bytes(source) + rest(count))[:count]

    assert make_key(KeyKind.CLIENT, entropy)[len("ktms_sk_") :].startswith("z0" + "1" * 8)


def test_a_source_that_gives_nothing_usable_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError, match="entropy"):
        make_key(KeyKind.NODE, constant(255))


def test_more_is_drawn_until_enough_is_there() -> None:
    calls: list[int] = []

    def one_at_a_time(count: int) -> bytes:
        calls.append(count)
        return bytes([7])

    text = make_key(KeyKind.ADMIN, one_at_a_time)

    assert text.startswith("ktms_adm_7777777777_")
    assert len(calls) == 42


def test_every_character_of_the_alphabet_occurs() -> None:
    text = "".join(make_key(KeyKind.CLIENT, os.urandom)[8:] for _ in range(200))

    assert set(text) >= set(string.ascii_letters + string.digits)


def test_digests_compare_by_value() -> None:
    assert same_digest(digest_of("a"), digest_of("a"))
    assert not same_digest(digest_of("a"), digest_of("b"))
