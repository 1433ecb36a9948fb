"""Client keys, as the data plane verifies them."""

from collections.abc import Collection, Mapping
from typing import Protocol

from ktms.domain.access.client_key import ClientKey
from ktms.domain.ids import KeyId


class KeyStore(Protocol):
    """Looks keys up by their public id."""

    async def find(self, ids: Collection[KeyId]) -> Mapping[KeyId, ClientKey]:
        """Give the stored keys among `ids`, revoked ones included; unknown ids are absent. One round trip.

        No ids at all are asked for too: the answer, empty as it is, tells that the database answers.

        Raises:
            StoreAway: the database did not answer in time (ports/catalogue.py).
        """
        ...
