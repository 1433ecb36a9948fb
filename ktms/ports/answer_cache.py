"""Complete answers kept for a while, shared by all replicas. The one place outside batches where content lies."""

from typing import Protocol


class CacheAway(Exception):
    """The store cannot be asked; whoever asked treats it as a miss. `kind` is one word for the metric.

    After "timeout" nothing that lies in the same store answers, so the call asks it nothing more (FR8).
    """

    def __init__(self, kind: str = "away") -> None:
        super().__init__(f"kept answers cannot be read: {kind}")
        self.kind = kind


class AnswerCache(Protocol):
    """Keeps bytes under a digest until their time is over; may lose any of them at any moment."""

    async def get(self, key: bytes) -> bytes | None:
        """Give what was kept under a digest of 32 bytes; None: nothing, or no longer.

        Raises:
            CacheAway: the store did not answer.
        """
        ...

    def put(self, key: bytes, answer: bytes, ttl_s: float) -> None:
        """Keep an answer; returns at once, and nobody learns whether it was kept."""
        ...
