"""Which files there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ktms.domain.batch.batch import StoredFile
from ktms.domain.batch.names import FileId
from ktms.domain.ids import KeyId


@dataclass(frozen=True, slots=True)
class FilePage:
    """What is asked of a list: so many at most, behind this one, in which order, for which purpose."""

    limit: int
    after: FileId | None = None
    newest_first: bool = True
    purpose: str | None = None


class FileIndex(Protocol):
    """Finds finished files of one key. Both raise StoreAway (ports/catalogue.py) when it does not answer."""

    async def find(self, file: FileId, owner: KeyId) -> StoredFile | None:
        """Give a file; None when there is none, or another key's."""
        ...

    async def list(self, owner: KeyId, page: FilePage) -> Sequence[StoredFile]:
        """Give files in the order of their names, which is that of their making."""
        ...
