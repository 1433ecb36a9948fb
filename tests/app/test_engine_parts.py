from dataclasses import replace

import pytest

from ktms.adapters.memory.client import MemoryClient
from ktms.app.engine_parts import EngineParts, engine_of, engine_parts
from ktms.app.gateway import GatewaySettings
from ktms.domain.errors import ErrorCode
from ktms.engine.call import Failed
from ktms.engine.settings import EngineSettings
from tests.api.house import House
from tests.engine.rig import CATALOGUE, Rig, snapshot


@pytest.fixture
def house() -> House:
    return House(GatewaySettings(), CATALOGUE)


@pytest.fixture
def parts(house: House) -> EngineParts:
    return engine_parts(house.ports, snapshot(), EngineSettings())


def nodes(parts: EngineParts) -> set[str]:
    return {str(state.node.name) for state in parts.machines.fleet.nodes}


async def test_the_machines_of_the_first_snapshot_are_known_at_once(parts: EngineParts) -> None:
    assert (parts.current.version, nodes(parts)) == (1, {"mac-1", "mac-2"})


async def test_machines_follow_each_newer_snapshot(parts: EngineParts) -> None:
    parts.current.swap(snapshot(replace(CATALOGUE, nodes=CATALOGUE.nodes[:1]), version=2))
    assert nodes(parts) == {"mac-1"}


async def test_without_a_snapshot_there_are_no_machines_yet(house: House) -> None:
    parts = engine_parts(house.ports, None, EngineSettings())
    assert (parts.current.version, nodes(parts)) == (0, set())


async def test_the_engine_leans_on_the_parts_that_others_see(house: House, parts: EngineParts) -> None:
    engine = engine_of(house.ports, EngineSettings(), parts)
    parts.drain.close()
    result = await engine.handle(Rig(EngineSettings(), CATALOGUE).call(), MemoryClient())
    assert isinstance(result, Failed)
    assert result.problem.code == ErrorCode.DRAINING
