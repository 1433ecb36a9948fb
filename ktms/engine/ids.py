"""Fresh identities: UUIDv7 from the clock and the entropy port."""

from ktms.domain.ids import UUID7_RANDOM_BYTES, EventId, LeaseId, RequestId, uuid7
from ktms.ports.clock import Clock
from ktms.ports.entropy import Entropy

_DRAWN_IDS = 64
"""Ids whose chance is drawn at once: a draw is a system call, and two per call are felt. Ids are no secrets."""


class Identities:
    """Makes ids that sort by time and never repeat."""

    def __init__(self, clock: Clock, entropy: Entropy) -> None:
        self._clock = clock
        self._entropy = entropy
        self._drawn = b""
        self._used_bytes = 0

    def request(self) -> RequestId:
        """Make the id of one call."""
        return RequestId(self._fresh())

    def event(self) -> EventId:
        """Make the id of one usage event."""
        return EventId(self._fresh())

    def lease(self) -> LeaseId:
        """Make the id of one lease."""
        return LeaseId(self._fresh())

    def _fresh(self) -> str:
        begin = self._used_bytes
        if begin >= len(self._drawn):
            self._drawn, begin = self._entropy.token_bytes(_DRAWN_IDS * UUID7_RANDOM_BYTES), 0
        self._used_bytes = end = begin + UUID7_RANDOM_BYTES
        return uuid7(int(self._clock.wall() * 1000), self._drawn[begin:end])
