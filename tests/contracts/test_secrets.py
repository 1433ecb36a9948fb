"""Contract of `ktms/ports/secrets.py`; its one implementation is pure, so simulated worlds use it as it is."""

import pytest

from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.domain.access.keyring import Keyring
from ktms.ports.entropy import Entropy
from ktms.ports.secrets import DecryptFailed, Place, Secrets

HERE = Place(
    "vendor_key", "secret", "0b0d1f2e-0000-4000-8000-000000000001", "0b0d1f2e-0000-4000-8000-000000000002"
)


@pytest.fixture
def secrets(keyring: Keyring, entropy: Entropy) -> Secrets:
    return KeyringSecrets(keyring, entropy)


def test_what_is_sealed_opens_again_at_its_place(secrets: Secrets) -> None:
    for key_id in secrets.key_ids():
        assert secrets.open(secrets.seal(b"sk-x", HERE, key_id), HERE) == b"sk-x"


def test_the_preferred_key_comes_first(secrets: Secrets) -> None:
    assert secrets.key_ids() == ("new", "old")


def test_sealing_the_same_twice_gives_different_ciphertext(secrets: Secrets) -> None:
    assert secrets.seal(b"sk-x", HERE, "new") != secrets.seal(b"sk-x", HERE, "new")


def test_ciphertext_holds_no_piece_of_the_plain_text(secrets: Secrets) -> None:
    assert b"canary" not in secrets.seal(b"canary" * 10, HERE, "new")


def test_a_check_value_is_eight_bytes_that_tell_keys_and_ids_apart(secrets: Secrets) -> None:
    assert {len(secrets.check_value(key_id)) for key_id in secrets.key_ids()} == {8}
    assert secrets.check_value("new") != secrets.check_value("old")
    assert secrets.check_value("new") == secrets.check_value("new")


def test_an_opening_that_fails_names_table_and_row_only(secrets: Secrets) -> None:
    with pytest.raises(DecryptFailed) as told:
        secrets.open(b"", HERE)
    assert str(told.value) == f"vendor_key: row {HERE.row} cannot be decrypted"
