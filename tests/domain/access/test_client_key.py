"""What a verified key may do."""

from ktms.domain.access.client_key import ClientKey
from ktms.domain.ids import KeyId, TenantName


def test_a_key_is_shown_without_its_digest() -> None:
    key = ClientKey(KeyId("0123456789"), b"\x01" * 32, "app-1", TenantName("team-a"))

    assert repr(key) == "ClientKey(0123456789 'app-1' of team-a)"
