"""A rig whose looks at its nodes are counted."""

from dataclasses import dataclass

from ktms.domain.capacity.node_health import (
    Evidence,
)
from ktms.domain.capacity.seat import Health
from ktms.domain.catalogue import Catalogue
from ktms.domain.ids import NodeName
from tests.engine.machines import ONE, machine, machines
from tests.engine.rig import Rig, replica_of

NODES = tuple(machine(f"mac-{number}") for number in range(1, 6))


@dataclass
class Watch:
    """A rig whose looks are counted."""

    rig: Rig

    @property
    def looked(self) -> int:
        """Lists of models that were asked for."""
        return sum(path.endswith("/models") for path in self._read())

    @property
    def metrics_read(self) -> int:
        """Metrics that were asked for."""
        return sum(path.endswith("/metrics") for path in self._read())

    @property
    def tokens(self) -> list[str]:
        """Nodes that were asked for a token, in order; nothing else is a POST here."""
        return self.rig.dialled

    def _read(self) -> list[str]:
        asked = [exchange.request.prologue for exchange in self.rig.upstream.exchanges]
        return [prologue.path for prologue in asked if prologue.method == "GET"]

    def health(self, node: NodeName = ONE) -> Health:
        state = self.rig.machines.fleet.state(node)
        assert state is not None
        return state.health

    def ail(self, node: NodeName = ONE, count: int = 1) -> None:
        for _ in range(count):
            self.rig.machines.fleet.note(node, Evidence.CUT)


async def watch_of(*nodes: str, catalogue: Catalogue | None = None) -> Watch:
    chosen = tuple(node for node in NODES if node.name in nodes) or NODES[:2]
    return Watch(await replica_of(catalogue or machines(*chosen)))
