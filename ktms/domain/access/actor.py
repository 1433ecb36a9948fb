"""Who changes something over the admin plane, and with which right."""

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """Each role may do all that the ones before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    OWNER = "owner"

    def covers(self, needed: "Role") -> bool:
        """Whether this role includes the rights of `needed`."""
        return _RANK[self] >= _RANK[needed]


_RANK = {role: rank for rank, role in enumerate(Role)}


@dataclass(frozen=True, slots=True)
class Actor:
    """The admin key behind a change, as the audit names it."""

    name: str
    role: Role
