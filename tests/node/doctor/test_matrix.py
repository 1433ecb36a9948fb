"""Cause by fault: each world has exactly one thing wrong with it, and exactly that is found; all else is quiet."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ktms.node.doctor import ask_tunnel
from ktms.node.doctor.cause import Id
from ktms.node.doctor.causes import CAUSES
from ktms.node.doctor.judge import judge, not_seen
from ktms.node.doctor.report import as_json, lines
from tests.node.doctor.rows import FAULTS, LINUX, MAC, WELL
from tests.node.doctor.world import World, facts_of
from tests.node.nodes import TOKEN
from tests.node.recordings import linux, mac

SYSTEMS = {MAC: mac, LINUX: linux}

HIDING = CAUSES[Id.NOT_REACHED].after
"""What keeps a node from answering keeps the gateway from getting an answer."""


def rows() -> Iterator[tuple[str, str]]:
    for name, fault in FAULTS.items():
        for system in fault.systems:
            yield system, name


def worlds() -> Iterator[tuple[str, str]]:
    for name, (_, systems) in WELL.items():
        for system in systems:
            yield system, name


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask_tunnel, "EDGE_S", 1.0)


@pytest.mark.parametrize(("system", "name"), list(rows()))
async def test_exactly_the_cause_is_found(system: str, name: str, tmp_path: Path) -> None:
    world = World(SYSTEMS[system]())
    FAULTS[name].make(world)
    facts = await facts_of(world, tmp_path)
    found = judge(facts)
    assert [one.id for one in found] == [FAULTS[name].cause]
    told = as_json(found, not_seen(facts)) + "\n".join(lines(found, not_seen(facts)))
    assert not [secret for secret in (TOKEN, world.key) if secret in told]


@pytest.mark.parametrize("name", [name for name, row in FAULTS.items() if row.cause in HIDING])
async def test_that_the_gateway_gets_no_token_is_a_symptom_of_it(name: str, tmp_path: Path) -> None:
    system = FAULTS[name].systems[0]
    world = World(SYSTEMS[system](), reason="The node answered 503.")
    FAULTS[name].make(world)
    assert [one.id for one in judge(await facts_of(world, tmp_path))] == [FAULTS[name].cause]


@pytest.mark.parametrize(("system", "name"), list(worlds()))
async def test_nothing_is_found_in_a_world_that_is_well(system: str, name: str, tmp_path: Path) -> None:
    world = World(SYSTEMS[system]())
    WELL[name][0](world)
    facts = await facts_of(world, tmp_path)
    assert (judge(facts), not_seen(facts)) == ((), ())


def test_every_cause_has_a_world() -> None:
    assert {fault.cause for fault in FAULTS.values()} == set(Id)


async def test_asking_changes_nothing_at_the_gateway(tmp_path: Path) -> None:
    world = World(linux())
    before = []
    world.late.append(lambda made, _: before.append(made.yard and made.yard.store.node_keys[0].announcement))
    await facts_of(world, tmp_path)
    assert world.yard is not None
    assert [world.yard.store.node_keys[0].announcement] == before
    assert len(world.yard.dialler.asked) == 1


async def test_asking_writes_nothing_and_loads_nothing(tmp_path: Path) -> None:
    world = World(linux())
    world.model.place = "disk"
    await facts_of(world, tmp_path)
    assert world.machine.written == {}
    assert {line for line in world.ollama.asked if line.startswith("POST")} == {"POST /api/show"}
    assert world.model.place == "disk"
