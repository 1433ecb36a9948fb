"""N07: a new catalogue makes no node look idle, and sends the next call to no fixed place."""

import asyncio
from collections import Counter

from ktms.adapters.memory.upstream import Wait
from tests.engine.ends import story
from tests.engine.machines import machine, machines
from tests.engine.rig import replica_of, snapshot, whole
from tests.engine.virtual_loop import settle

NODES = tuple(machine(f"mac-{number}", slots=2) for number in (1, 2, 3))


async def test_slots_in_use_are_still_in_use_under_every_new_catalogue() -> None:
    rig = await replica_of(machines(*NODES))
    gate = asyncio.Event()
    for node in NODES:
        rig.says(node.name, (Wait(gate), *whole()))
    rig.says("alpha", whole())
    async with rig.at_work() as group:
        for number in range(6):
            group.create_task(rig.handle(rig.call("homely")))
            await settle()
            rig.current.swap(snapshot(machines(*NODES), version=number + 2))
        assert story(await rig.handle(rig.call("mixed"))) == "local:busy, alpha:ok"
        gate.set()
    assert Counter(rig.dialled) == {"mac-1": 2, "mac-2": 2, "mac-3": 2, "alpha": 1}


async def test_turns_go_on_under_every_new_catalogue() -> None:
    rig = await replica_of(machines(*NODES))
    for node in NODES:
        rig.says(node.name, whole())
    for number in range(9):
        rig.current.swap(snapshot(machines(*NODES), version=number + 2))
        await rig.handle(rig.call("homely"))
    assert Counter(rig.dialled) == {"mac-1": 3, "mac-2": 3, "mac-3": 3}
