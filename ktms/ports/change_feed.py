"""News of changes other replicas made."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from ktms.domain.ids import KeyId


@dataclass(frozen=True, slots=True)
class CatalogueChanged:
    """A newer version of the catalogue is stored."""


@dataclass(frozen=True, slots=True)
class KeyChanged:
    """This key was revoked or changed."""

    key_id: KeyId


News = CatalogueChanged | KeyChanged


class ChangeFeed(Protocol):
    """Hears of changes at once; may miss some, so whoever listens also polls."""

    def listen(self) -> AsyncIterator[News]:
        """Yield news until the connection is lost, then end normally; a lost feed is no error.

        Raises:
            StoreAway: the feed cannot be opened right now (ports/catalogue.py).
        """
        ...
