"""A fleet on a clock that stands still."""

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.domain.capacity.node_report import Look, ModelReport, NodeReport
from ktms.domain.capacity.seat import Health
from ktms.domain.catalogue import Catalogue
from ktms.domain.ids import NodeName, VendorModel
from ktms.engine.fleet import Fleet
from ktms.ports.fleet_board import BoardView, Seen
from tests.engine.machines import ONE, machine, machines
from tests.engine.rig import NODE_MODEL, snapshot

MODEL = VendorModel(NODE_MODEL)
PAIR = machines(machine("mac-1", slots=2), machine("mac-2", window=8192))


class Yard:
    """Two machines, where nothing else is said."""

    def __init__(self, catalogue: Catalogue = PAIR) -> None:
        self.clock = ManualClock()
        self.telemetry = MemoryTelemetry()
        self.fleet = Fleet(self.clock, self.telemetry, 0)
        self.follow(catalogue)

    def follow(self, catalogue: Catalogue, version: int = 1) -> None:
        self.fleet.sync(snapshot(catalogue, version))

    def health(self, node: NodeName = ONE) -> Health:
        state = self.fleet.state(node)
        assert state is not None
        return state.health

    def tell(self, report: NodeReport, age_s: float = 0.0) -> None:
        self.fleet.apply(BoardView(seen=(Seen(report, age_s),)))

    def tell_models(self, node: NodeName = ONE, **facts: object) -> None:
        """Tell of a look at one node; time has passed since the last one."""
        self.clock.advance(5)
        report = ModelReport(**facts)  # type: ignore[arg-type]  # members by name
        self.tell(NodeReport(node, Look.ANSWERED, models={MODEL: report}))
