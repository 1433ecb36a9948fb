"""Fresh identities: UUIDv7 from the clock and the entropy port."""

from ktms.domain.ids import EventId, LeaseId, RequestId, uuid7
from ktms.ports.clock import Clock
from ktms.ports.entropy import Entropy

_RANDOM_BYTES = 10  # the random part of a UUIDv7 (RFC 9562, 5.7)


class Identities:
    """Makes ids that sort by time and never repeat."""

    def __init__(self, clock: Clock, entropy: Entropy) -> None:
        self._clock = clock
        self._entropy = entropy

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
        return uuid7(int(self._clock.wall() * 1000), self._entropy.token_bytes(_RANDOM_BYTES))
