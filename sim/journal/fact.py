"""One plain fact: when, what kind, where, and its members."""

from collections.abc import Mapping
from dataclasses import dataclass

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Fact:
    """`at` is seconds of the run's clock (virtual time, or monotonic time in a chaos run)."""

    at: float
    kind: str
    host: str
    members: Mapping[str, Value]

    def text(self, name: str) -> str:
        """Give a member that is text."""
        value = self.members[name]
        assert isinstance(value, str), (self.kind, name, value)
        return value

    def number(self, name: str) -> float:
        """Give a member that is a number."""
        value = self.members[name]
        assert isinstance(value, int | float), (self.kind, name, value)
        return value

    def has(self, name: str) -> bool:
        """Whether a member is there and true, not empty, not zero."""
        return bool(self.members.get(name))
