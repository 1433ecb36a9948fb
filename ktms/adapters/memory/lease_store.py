"""Leases counted in this process: for one replica, for tests, and for installations without Redis."""

import math

from ktms.adapters.memory.clock import LoopClock
from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.ports.clock import Clock


class MemoryLeaseStore(MemoryReplica):
    """A store with one replica. Its leases do not expire: nothing outlives us."""

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__(MemoryFleetStore(clock or LoopClock(), ttl_s=math.inf), "alone")
