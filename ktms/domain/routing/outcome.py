"""How one attempt ended, and what follows from it.

The classification is a table over facts; nothing here dials, waits or logs. Breaker and cooldown rules read the
outcome, they do not look at statuses themselves.
"""

from enum import Enum


class FailureKind(Enum):
    """Why an exchange did not work out, as seen from our end of the wire."""

    REFUSED = "refused"  # nobody listens, unreachable, name unknown
    TLS = "tls"
    CLOSED = "closed"  # reset or closed before the answer was complete
    CONNECT_TIMEOUT = "connect_timeout"
    POOL_TIMEOUT = "pool_timeout"  # our own limit on connections: not the target's fault
    FIRST_TOKEN_TIMEOUT = "first_token_timeout"
    IDLE_TIMEOUT = "idle_timeout"
    TOTAL_TIMEOUT = "total_timeout"
    MALFORMED = "malformed"  # not HTTP, bad framing, not SSE
    TOO_LARGE = "too_large"
    ENCODED = "encoded"  # compressed although identity was asked for
    ADDRESS_REFUSED = "address_refused"  # our address guard said no

    @property
    def is_timeout(self) -> bool:
        """Whether a timer of ours ended the exchange."""
        return self in _TIMEOUTS


_TIMEOUTS = frozenset(
    {
        FailureKind.CONNECT_TIMEOUT,
        FailureKind.FIRST_TOKEN_TIMEOUT,
        FailureKind.IDLE_TIMEOUT,
        FailureKind.TOTAL_TIMEOUT,
        FailureKind.POOL_TIMEOUT,
    }
)
