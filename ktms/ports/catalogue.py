"""The stored catalogue, as the engine reads it."""

from typing import Protocol

from ktms.domain.snapshot import Snapshot


class StoreAway(Exception):
    """The database cannot be asked right now: refused, hung, or exhausted. Says nothing about the answer."""


class CatalogueStore(Protocol):
    """Gives the newest catalogue in compiled form."""

    async def version(self) -> int:
        """Give the number of the newest version; 0 when nothing was ever applied.

        Raises:
            StoreAway: the database did not answer in time.
        """
        ...

    async def snapshot(self) -> Snapshot:
        """Read and compile the newest version, secrets opened.

        A vendor key or node token that cannot be decrypted is left out (and reported), never fatal.

        Raises:
            StoreAway: the database did not answer in time.
            CatalogueInvalid: what is stored does not compile.
        """
        ...
