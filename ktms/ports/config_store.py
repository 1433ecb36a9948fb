"""The stored catalogue, as the admin plane changes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ktms.domain.access.actor import Actor
from ktms.domain.catalogue import Catalogue
from ktms.domain.catalogue_diff import Change


@dataclass(frozen=True, slots=True)
class NewKey:
    """A client key made by `apply`: the only time its token is shown."""

    name: str
    token: str


@dataclass(frozen=True, slots=True)
class Applied:
    """Outcome of an apply: the version in force after it, what changed, which keys were made."""

    version: int
    changes: Sequence[Change]
    new_keys: Sequence[NewKey]


class ConfigStore(Protocol):
    """Reads and replaces the declared catalogue, atomically and audited."""

    async def export(self) -> Catalogue:
        """Give the stored catalogue; secrets are absent (None or empty).

        Raises:
            StoreAway: the database did not answer in time.
        """
        ...

    async def apply(self, wanted: Catalogue, *, actor: Actor, prune: bool, dry_run: bool) -> Applied:
        """Make the stored catalogue what is wanted, in one transaction, or change nothing.

        Without `prune`, entries that are stored but not wanted stay. Secrets that are not given are kept. Amounts
        already spent are never touched. A dry run computes the same result and rolls back.

        Raises:
            StoreAway: the database did not answer; nothing was changed.
            CatalogueInvalid: the result would not compile.
        """
        ...
