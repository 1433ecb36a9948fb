"""Calls that wait for machines: what is known beforehand, who holds the slots, how long a call took."""

import asyncio

from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.domain.catalogue import Catalogue
from ktms.domain.ids import NodeName
from ktms.engine.call import Result
from ktms.ports.lease_store import Lease, SlotWish
from tests.engine.machines import ONE, machine, machines
from tests.engine.rig import Rig, replica_of, whole

LONE = machines(machine("mac-1"))
PAIR = machines(machine("mac-1"), machine("mac-2"))


async def rig_with(catalogue: Catalogue = LONE, *, holding_s: float | None = 1.0, **members: object) -> Rig:
    """Make a rig that knows how long slots are held, whose targets all answer."""
    rig = await replica_of(catalogue, **members)  # type: ignore[arg-type]  # settings
    for desk in rig.machines.fleet.desks:
        for _ in range(10 if holding_s is not None else 0):
            desk.holding.take(holding_s or 0.0)
    for name in ("mac-1", "mac-2", "alpha"):
        rig.says(name, whole())
    return rig


async def held(rig: Rig, node: NodeName = ONE) -> tuple[MemoryReplica, Lease]:
    """Let another replica hold a slot."""
    other = MemoryReplica(rig.fleet_store, "other")
    grant = await other.take((SlotWish(node, 1),), rig.identities.lease())
    assert grant.lease is not None
    return other, grant.lease


def later(seconds: float, rig: Rig, taken: tuple[MemoryReplica, Lease]) -> None:
    """Give a slot back after a while."""
    asyncio.get_running_loop().call_later(seconds, taken[0].release, taken[1])


async def timed(rig: Rig, model: str = "homely", **members: object) -> tuple[Result, float]:
    """Make a call; give its end and how long it took."""
    began_at = rig.clock.monotonic()
    result = await rig.handle(rig.call(model, **members))  # type: ignore[arg-type]  # members of the body
    return result, rig.clock.monotonic() - began_at
