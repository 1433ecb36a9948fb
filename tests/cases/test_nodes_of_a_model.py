"""Which nodes a call may reach: the regions of its model too, and what becomes of it when its node is removed."""

from dataclasses import replace

from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.system.entropy import SystemEntropy
from ktms.ports.telemetry import Gauge
from tests.cases.calls import ask, call, reply
from tests.cases.forms import CHAT, CHAT_STREAM
from tests.world.catalogues import catalogue, node
from tests.world.events import DONE, C, F, U, role
from tests.world.gateway import TEST
from tests.world.script import chunk, end, head, wait
from tests.world.world import World

WORDS = [C("word ") for _ in range(40)]


async def test_the_regions_of_a_model_bind_its_nodes(world: World) -> None:
    inside, outside = await world.vendor("a"), await world.vendor("b")
    nodes = (
        replace(node("a", inside.listening), region="fr"),
        replace(node("b", outside.listening), region="us"),
    )
    made = catalogue(nodes=nodes)
    [model] = made.models
    gateway = await world.gateway(replace(made, models=(replace(model, allowed_regions=("fr",)),)))
    for vendor in (inside, outside):
        vendor.standing(CHAT.healthy())
    for _ in range(6):
        await call(world, gateway, CHAT)
    assert (len(inside.requests), len(outside.requests)) == (6, 0)


async def test_a_node_that_is_removed_while_it_answers_ends_its_answer(world: World) -> None:
    vendor, other = await world.vendor("a"), await world.vendor("b")
    made = catalogue(nodes=(node("a", vendor.listening),))
    gateway = await world.gateway(made)
    words = [chunk(event) for event in WORDS]
    vendor.standing(
        (
            head(),
            chunk(role()),
            chunk(C("x")),
            wait("go"),
            *words,
            chunk(F("stop")),
            chunk(U(100, 40)),
            chunk(DONE),
            end(),
        )
    )
    client = await ask(world, gateway, CHAT_STREAM)
    await vendor.request()
    without = replace(made, nodes=(node("c", other.listening),))
    applied = await MemoryConfigStore(gateway.store, SystemEntropy()).apply(
        without, actor=TEST, prune=True, dry_run=False
    )
    await gateway.telemetry.shows(Gauge.SNAPSHOT_VERSION, applied.version)
    vendor.open("go")
    assert (await reply(client)).is_done
    assert [event for event in gateway.telemetry.events if event.level == "error"] == []
