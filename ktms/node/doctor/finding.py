"""A cause that was found, with the values of its places: they are names, numbers and URLs, never secrets."""

from dataclasses import dataclass
from types import MappingProxyType

from ktms.node.doctor.cause import Cause, Id
from ktms.node.doctor.causes import CAUSES

GB = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding; several of one cause may be found, as for two models."""

    id: Id
    values: tuple[tuple[str, str], ...] = ()

    @property
    def cause(self) -> Cause:
        """Give its row."""
        return CAUSES[self.id]

    @property
    def title(self) -> str:
        """Say what is wrong."""
        return self.cause.title.format_map(self._filled)

    @property
    def remedy(self) -> str:
        """Say what mends it."""
        return self.cause.remedy.format_map(self._filled)

    @property
    def _filled(self) -> MappingProxyType[str, str]:
        return MappingProxyType(dict(self.values))


def finding(name: Id, **values: object) -> Finding:
    """Make one."""
    return Finding(name, tuple((key, str(value)) for key, value in values.items()))


def size(count: int | None) -> str:
    """Write a number of bytes for a person."""
    return "an unknown amount" if count is None else f"{count / GB:.1f} GB"
