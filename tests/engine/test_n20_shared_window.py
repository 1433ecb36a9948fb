"""N20: four slots of llama.cpp that each tell the whole window have a quarter of it each until more is proven."""

import pytest

from ktms.adapters.memory.upstream import Head, Script
from ktms.domain.catalogue import EngineKind
from tests.engine.ends import story
from tests.engine.machines import machine, machines, seat_of
from tests.engine.rig import JSON, NODE_MODEL, Rig, replica_of, whole
from tests.world.events import compact

PAGE: Script = (
    Head(200, JSON),
    compact(
        {
            "object": "list",
            "data": [{"id": NODE_MODEL, "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx": 1024}}],
        }
    ),
)


async def looked_at(slots: int, window: int | None = None) -> Rig:
    node = machine("mac-1", engine=EngineKind.LLAMACPP, slots=slots, window=window)
    rig = await replica_of(machines(node))
    rig.shows("mac-1", PAGE)
    rig.says("mac-1", whole())
    rig.says("alpha", whole())
    await rig.prober.round()
    await rig.sweeper.look()
    return rig


@pytest.mark.parametrize(
    ("slots", "declared", "window"), [(4, None, 256), (1, None, 1024), (4, 1024, 1024), (4, 200, 200)]
)
async def test_each_slot_has_its_part_unless_declared(slots: int, declared: int | None, window: int) -> None:
    rig = await looked_at(slots, declared)
    assert seat_of(rig.machines.fleet, "mac-1").window == window


@pytest.mark.parametrize(("slots", "goes_to"), [(4, "local/mac-1:unfit, alpha:ok"), (1, "local/mac-1:ok")])
async def test_a_call_that_no_part_holds_goes_elsewhere(slots: int, goes_to: str) -> None:
    rig = await looked_at(slots)
    call = rig.call("mixed", max_tokens=50, messages=[{"role": "user", "content": "word " * 320}])
    assert story(await rig.handle(call)) == goes_to
