"""How much the upstream leg may hold at once. What a phase may last comes with each request (`Timers`)."""

import ssl
from dataclasses import dataclass

CONNECTIONS_MAX = 4096
"""With as many clients and their sockets this still fits into 16,384 open files, a usual limit in production."""

CONNECTIONS_PER_ORIGIN_MAX = 1024
"""A quarter of all: one slow vendor cannot use up the others' connections (case P60)."""

IDLE_PER_ORIGIN_MAX = 128
"""What a burst leaves behind for the next one; more would only be descriptors that age."""

IDLE_AGE_S = 30.0
"""Shorter than the keep-alive of clouds and proxies (60 s and more): a reused connection is rarely a dead one."""


@dataclass(frozen=True, slots=True)
class UpstreamSettings:
    """Bounds of the pool. `ssl_context` None means the platform's trust store with host names checked."""

    connections_max: int = CONNECTIONS_MAX
    connections_per_origin_max: int = CONNECTIONS_PER_ORIGIN_MAX
    idle_per_origin_max: int = IDLE_PER_ORIGIN_MAX
    idle_age_s: float = IDLE_AGE_S
    ssl_context: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        assert 1 <= self.connections_per_origin_max <= self.connections_max
        assert self.idle_per_origin_max >= 0
        assert self.idle_age_s > 0
