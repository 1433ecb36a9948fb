"""Sorted sets of the simulated Redis, as far as our scripts and commands use them. Scores are whole milliseconds.

Not here: single values and their time to live (`keyspace.py`).
"""


class SortedSets:
    """Members with scores, by key; an empty set is no set, as in Redis."""

    def __init__(self) -> None:
        self._sets: dict[bytes, dict[bytes, int]] = {}

    def add(self, key: bytes, member: bytes, score: int) -> int:
        """Add a member or give it a new score; gives how many are new."""
        members = self._sets.setdefault(key, {})
        new = member not in members
        members[member] = score
        return int(new)

    def remove(self, key: bytes, member: bytes) -> int:
        """Remove a member; gives how many were there."""
        members = self._sets.get(key, {})
        there = members.pop(member, None) is not None
        if not members:
            self._sets.pop(key, None)
        return int(there)

    def remove_until(self, key: bytes, score: int) -> int:
        """Remove the members up to this score, it included; gives how many there were."""
        over = [member for member, its in self._sets.get(key, {}).items() if its <= score]
        return sum(self.remove(key, member) for member in over)

    def score(self, key: bytes, member: bytes) -> int | None:
        """Give a member's score."""
        return self._sets.get(key, {}).get(member)

    def members(self, key: bytes) -> list[bytes]:
        """Give the members by their scores, by their names where those are equal."""
        members = self._sets.get(key, {})
        return sorted(members, key=lambda member: (members[member], member))

    def count(self, key: bytes, above: int | None = None) -> int:
        """Count the members, or those with a score above this one."""
        return sum(above is None or score > above for score in self._sets.get(key, {}).values())

    def delete(self, key: bytes) -> bool:
        """Delete a set; False when there is none."""
        return self._sets.pop(key, None) is not None

    def copy(self) -> "SortedSets":
        """Give the same sets, which change no more with these."""
        copy = SortedSets()
        copy._sets = {key: dict(members) for key, members in self._sets.items()}
        return copy

    def clear(self) -> None:
        """Delete all."""
        self._sets.clear()
