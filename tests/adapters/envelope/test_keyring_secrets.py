import hmac
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.adapters.envelope.keyring_secrets import PLAIN_BYTES_MAX, SEALED_BYTES_MAX, KeyringSecrets
from ktms.domain.access.keyring import Keyring
from ktms.ports.secrets import DecryptFailed, Place

HERE = Place(
    "vendor_key", "secret", "0b0d1f2e-0000-4000-8000-000000000001", "0b0d1f2e-0000-4000-8000-000000000002"
)
KEYS = {"a": bytes(range(32)), "b": bytes(range(1, 33)), "a-long-key-id-16": bytes(range(2, 34))}


class CountingEntropy:
    """Never the same bytes twice."""

    def __init__(self) -> None:
        self._drawn = 0

    def token_bytes(self, count: int) -> bytes:
        self._drawn += 1
        return self._drawn.to_bytes(count, "big")

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) / 2


SECRETS = KeyringSecrets(Keyring(KEYS), CountingEntropy())
key_ids = st.sampled_from(sorted(KEYS))
plains = st.binary(max_size=200)


def refused(sealed: bytes, place: Place = HERE, secrets: KeyringSecrets = SECRETS) -> bool:
    try:
        secrets.open(sealed, place)
    except DecryptFailed as error:
        return str(error) == f"{place.table}: row {place.row} cannot be decrypted"
    return False


@given(plains, key_ids)
def test_whatever_is_sealed_opens_again(plain: bytes, key_id: str) -> None:
    assert SECRETS.open(SECRETS.seal(plain, HERE, key_id), HERE) == plain


@given(plains, key_ids, st.integers(1, 255))
def test_no_byte_can_be_flipped(plain: bytes, key_id: str, bits: int) -> None:
    sealed = SECRETS.seal(plain, HERE, key_id)
    for at in range(len(sealed)):
        assert refused(sealed[:at] + bytes((sealed[at] ^ bits,)) + sealed[at + 1 :])


@given(plains, key_ids)
def test_nothing_can_be_cut_off_or_added(plain: bytes, key_id: str) -> None:
    sealed = SECRETS.seal(plain, HERE, key_id)
    assert all(refused(sealed[:length]) for length in range(len(sealed)))
    assert refused(sealed + b"\0")
    assert refused(b"\0" + sealed)


@given(key_ids, st.sampled_from(["table", "column", "row", "owner"]), st.text(max_size=40))
def test_it_opens_at_no_other_place(key_id: str, part: str, other: str) -> None:
    sealed = SECRETS.seal(b"sk-x", HERE, key_id)
    place = replace(HERE, **{part: other})
    assert refused(sealed, place) or place == HERE


def test_parts_of_a_place_cannot_be_shifted_into_each_other() -> None:
    sealed = SECRETS.seal(b"sk-x", Place("ab", "c", "d", "e"), "a")
    assert refused(sealed, Place("a", "bc", "d", "e"))


@given(st.binary(max_size=400))
def test_arbitrary_bytes_are_refused_alike(junk: bytes) -> None:
    assert refused(junk)
    assert refused(bytes((1, 1)) + b"a" + junk)


def test_ciphertext_cannot_be_relabelled_with_another_key_id() -> None:
    sealed = SECRETS.seal(b"sk-x", HERE, "a")
    assert refused(sealed[:2] + b"b" + sealed[3:])


def test_a_key_that_is_not_here_is_refused_alike() -> None:
    sealed = SECRETS.seal(b"sk-x", HERE, "a")
    assert refused(sealed, secrets=KeyringSecrets(Keyring({"b": KEYS["b"]}), CountingEntropy()))


def test_another_key_under_the_same_id_is_refused_by_its_commitment() -> None:
    sealed = SECRETS.seal(b"sk-x", HERE, "a")
    assert refused(sealed, secrets=KeyringSecrets(Keyring({"a": KEYS["b"]}), CountingEntropy()))


def test_more_bytes_than_any_envelope_has_are_refused_unread() -> None:
    assert refused(SECRETS.seal(b"", HERE, "a") + bytes(SEALED_BYTES_MAX))


def test_the_largest_plain_text_fits_under_the_longest_key_id() -> None:
    sealed = SECRETS.seal(bytes(PLAIN_BYTES_MAX), HERE, "a-long-key-id-16")
    assert len(sealed) == SEALED_BYTES_MAX
    assert SECRETS.open(sealed, HERE) == bytes(PLAIN_BYTES_MAX)


def test_a_longer_plain_text_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError):
        SECRETS.seal(bytes(PLAIN_BYTES_MAX + 1), HERE, "a")


def test_the_form_is_the_documented_one() -> None:
    sealed = SECRETS.seal(b"12345", HERE, "a")
    assert sealed[:3] == b"\x01\x01a"
    assert len(sealed) == 3 + 16 + 12 + 32 + 5 + 16


def test_the_check_value_is_the_documented_one() -> None:
    expected = hmac.digest(KEYS["a"], b"ktms/kcv/v1a", "sha256")[:8]
    assert SECRETS.check_value("a") == expected


def test_the_commitment_is_the_second_half_of_hkdf_over_salt_and_key_id() -> None:
    """RFC 5869 by hand, so that a library's default cannot change the form unseen."""
    sealed = SECRETS.seal(b"", HERE, "a")
    extracted = hmac.digest(sealed[3:19], KEYS["a"], "sha256")
    first = hmac.digest(extracted, b"ktms/enc/v1a" + b"\x01", "sha256")
    assert sealed[31:63] == hmac.digest(extracted, first + b"ktms/enc/v1a" + b"\x02", "sha256")


def test_an_envelope_written_earlier_still_opens() -> None:
    """Frozen bytes: whoever changes the form without a new version breaks every database."""
    assert SECRETS.open(bytes.fromhex(FROZEN), HERE) == b"sk-frozen"
    assert KeyringSecrets(Keyring(KEYS), CountingEntropy()).seal(b"sk-frozen", HERE, "a").hex() == FROZEN


FROZEN = (
    "0101610000000000000000000000000000000100000000000000000000000283ae431d73c7e8597ea1deab933da09bd8d4c1cae5e9e4"
    "18beafc3e099c810f7d5368c7b5ed32a2e00668554ca690df408fda92e66fc7db26b"
)
