"""The keyring of the tests as an environment would say it."""

import base64

import pytest

from ktms.domain.access.keyring import Keyring
from ktms.domain.access.secret import Secret


@pytest.fixture
def keyring_text(keyring: Keyring) -> Secret:
    keys = {
        key_id: base64.urlsafe_b64encode(keyring.key(key_id)).decode().rstrip("=") for key_id in ("new", "old")
    }
    return Secret(",".join(f"{key_id}:{key}" for key_id, key in keys.items()))
