"""How much one script call handles: Redis serves nobody else meanwhile."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

CHUNK = 500
"""Nodes, leases or waiters per script call: about a millisecond of Redis."""

Item = TypeVar("Item")


def chunks(items: Sequence[Item], size: int = CHUNK) -> Iterator[Sequence[Item]]:
    """Cut into pieces, in order; nothing of nothing."""
    for at in range(0, len(items), size):
        yield items[at : at + size]
