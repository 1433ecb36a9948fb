"""A balancer before the gateways: it asks each for its readiness, and leads new calls to those that are ready.

As in production a replica that leaves says so before it takes nothing more, and who is asked often enough hears it
in time. Not here: the calls themselves (`caller.py`).
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

ASK_EVERY_S = 0.2
"""Several times within the shortest delay of a leaving replica that a stand sets (1 s)."""


class Asked(Protocol):
    """Whoever is asked: a gateway."""

    name: str

    async def readyz(self) -> tuple[int, dict[str, object]]:
        """Give the status of /readyz and what it says; 0 where nobody answers."""
        ...


class Balancer:
    """Knows which gateways are ready; all count as ready until the first is asked."""

    def __init__(self, gateways: Sequence[Asked]) -> None:
        self._gateways = tuple(gateways)
        self._ready = {gateway.name: True for gateway in gateways}

    def in_turn(self) -> tuple[str, ...]:
        """Name those that are ready; all where none is, since somebody must be asked."""
        return tuple(name for name, ready in self._ready.items() if ready) or tuple(self._ready)

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            async with asyncio.TaskGroup() as asks:
                for gateway in self._gateways:
                    asks.create_task(self.ask(gateway))
            await asyncio.sleep(ASK_EVERY_S)

    async def ask(self, gateway: Asked) -> None:
        """Ask one of them."""
        status, _ = await gateway.readyz()
        self._ready[gateway.name] = status == 200
