import pytest

from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.domain.capacity.node_health import Evidence
from ktms.engine import explained as module
from ktms.engine.settings import EngineSettings
from ktms.ports.lease_store import SlotWish
from tests.engine.machines import ONE, TWO, machine, machines
from tests.engine.rig import Rig, replica_of, whole


async def talkative(**members: object) -> Rig:
    """Make a rig that tells each choice."""
    catalogue = machines(machine("mac-1", slots=2), machine("mac-2"))
    rig = Rig(EngineSettings(), catalogue, explains=True, **members)  # type: ignore[arg-type]  # members by name
    await rig.start()
    for name in ("mac-1", "mac-2", "alpha"):
        rig.says(name, whole())
    return rig


def told(rig: Rig) -> list[dict[str, str | float | None]]:
    return [event.facts for event in rig.telemetry.events if event.name == "node_chosen"]


async def test_every_candidate_is_told_with_its_terms_and_the_one_that_was_chosen() -> None:
    rig = await talkative()
    rig.machines.fleet.note(TWO, Evidence.CUT)
    call = rig.call("homely")
    await rig.handle(call)
    (facts,) = told(rig)
    assert (facts["node"], facts["model"], facts["request_id"]) == ("mac-1", "homely", call.request_id)
    one, two = str(facts["candidates"]).split("; ")
    assert one.startswith("mac-1: considered (healthy, 0 of 2 busy, weight 2.00 = 2 x 1.00 x 1.00, finish ")
    assert two.startswith("mac-2: class (suspect, 0 of 1 busy, weight 1.00 = ")


async def test_what_is_told_is_how_it_was_before_the_slot_was_taken() -> None:
    rig = await talkative()
    await rig.handle(rig.call("homely"))
    assert "0 of 2 busy" in str(told(rig)[0]["candidates"])


async def test_a_choice_that_brought_no_slot_is_told_too() -> None:
    store = MemoryFleetStore()
    rig = await talkative(fleet_store=store, slots=MemoryReplica(store, "one"))
    for node, slots in ((ONE, 2), (ONE, 2), (TWO, 1)):
        await rig.slots.take((SlotWish(node, slots),), rig.identities.lease())
    await rig.handle(rig.call("mixed"))
    assert {facts["node"] for facts in told(rig)} == {None}


async def test_a_line_about_a_large_fleet_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MENTIONED_MAX", 1)
    rig = await talkative()
    await rig.handle(rig.call("homely"))
    assert "mac-2" not in str(told(rig)[0]["candidates"])


async def test_nothing_is_told_where_nobody_asked_for_it() -> None:
    rig = await replica_of(machines(machine("mac-1")))
    rig.says("mac-1", whole())
    await rig.handle(rig.call("homely"))
    assert told(rig) == []
