"""A model on several nodes, with or without a cloud behind them."""

from dataclasses import dataclass

from ktms.domain.catalogue import EngineKind
from tests.cases.calls import UPSTREAM
from tests.world.catalogues import catalogue, node, vendor
from tests.world.vendor import MockVendor
from tests.world.world import GatewayUnderTest, World

CLOUD = "cloud"


@dataclass(frozen=True, slots=True)
class FleetCase:
    """The nodes by name, the cloud behind them, the gateway in front."""

    nodes: dict[str, MockVendor]
    cloud: MockVendor
    gateway: GatewayUnderTest

    @property
    def node(self) -> MockVendor:
        """The node, where there is one."""
        return self.nodes[UPSTREAM]


async def fleet_of(
    world: World,
    *names: str,
    cloud: bool = True,
    slots: int = 4,
    engine: EngineKind = EngineKind.VLLM,
    window: int | None = None,
) -> FleetCase:
    """Start a gateway whose model has these nodes (one, if none is named), then a cloud."""
    nodes = {name: await world.vendor(name) for name in names or (UPSTREAM,)}
    behind = await world.vendor(CLOUD)
    specs = tuple(
        node(name, one.listening, slots=slots, engine=engine, window=window) for name, one in nodes.items()
    )
    made = catalogue(*((vendor(CLOUD, behind.url),) if cloud else ()), nodes=specs)
    return FleetCase(nodes, behind, await world.gateway(made))
