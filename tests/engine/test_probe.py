"""Looks at a fleet: whose duty they are, what is believed, and when a token is asked for."""

import asyncio

import pytest

from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.adapters.memory.upstream import NOBODY, Pause, Silence
from ktms.domain.capacity.node_health import (
    FAILURES_MAX,
    MISSES_MAX,
    TOKEN_PROBE_EVERY_S,
)
from ktms.domain.capacity.node_report import Look, NodeReport
from ktms.domain.capacity.seat import Health
from ktms.domain.catalogue import EngineKind
from ktms.engine.probe import DUTY_S, PROBE_EVERY_S, PROBING
from ktms.ports.lease_store import LeaseStoreAway, SlotWish
from ktms.ports.telemetry import Dependency
from tests.engine.machines import ONE, TWO, machine, machines
from tests.engine.rig import NODE_MODEL, listing, replica_of, snapshot, whole
from tests.engine.virtual_loop import after, settle
from tests.engine.watch import NODES, Watch, watch_of


async def test_a_round_looks_at_every_node_once_and_tells_the_board() -> None:
    watch = await watch_of()
    await watch.rig.prober.round()
    view = watch.rig.fleet_store.read([ONE, TWO], [])
    assert watch.looked == 2
    assert [(seen.report.node, seen.report.look) for seen in view.seen] == [
        (ONE, Look.ANSWERED),
        (TWO, Look.ANSWERED),
    ]


async def test_one_replica_looks_at_a_time() -> None:
    one = await watch_of()
    two = Watch(await one.rig.peer("two"))
    for _ in range(3):
        await one.rig.prober.round()
        await two.rig.prober.round()
    assert (one.looked, two.looked) == (6, 0)


async def test_the_duty_of_a_replica_that_died_is_taken_over() -> None:
    one = await watch_of()
    two = Watch(await one.rig.peer("two"))
    await one.rig.prober.round()
    await after(DUTY_S + 0.1)
    await two.rig.prober.round()
    await one.rig.prober.round()
    assert (one.looked, two.looked) == (2, 2)


async def test_rounds_go_on_every_few_seconds() -> None:
    watch = await watch_of("mac-1")
    async with watch.rig.at_work():
        await after(3 * PROBE_EVERY_S + 1)
    assert watch.looked == 4


async def test_without_nodes_nobody_is_asked_for_a_duty() -> None:
    watch = Watch(await replica_of(machines()))
    await watch.rig.prober.round()
    assert await MemoryReplica(watch.rig.fleet_store, "other").claim(PROBING, 1)


async def test_a_store_that_is_away_ends_no_rounds() -> None:
    watch = await watch_of("mac-1")
    watch.rig.fleet_store.away = "timeout"
    async with watch.rig.at_work():
        await after(1)
        assert watch.looked == 0
        watch.rig.fleet_store.away = None
        await after(PROBE_EVERY_S)
        assert watch.looked == 1
    assert (Dependency.REDIS, "probe_nodes", "timeout") in watch.rig.telemetry.failures


async def test_a_node_that_leaves_while_it_is_looked_at_ends_no_rounds() -> None:
    watch = await watch_of()
    watch.rig.shows("mac-1", (Pause(1), *listing(NODE_MODEL)))
    watch.rig.shows("mac-2", (Pause(1), *listing(NODE_MODEL)))
    async with watch.rig.at_work():
        await settle()
        watch.rig.machines.fleet.sync(snapshot(machines(NODES[1]), 2))
        await after(PROBE_EVERY_S + 1)
    assert watch.looked == 3


async def test_a_node_that_misses_looks_in_a_row_is_down_for_every_replica() -> None:
    one = await watch_of("mac-1", "mac-2", "mac-3")
    two = Watch(await one.rig.peer("two"))
    one.rig.shows("mac-1", NOBODY)
    for number in range(1, MISSES_MAX + 1):
        await one.rig.prober.round()
        for watch in (one, two):
            await watch.rig.sweeper.look()
            assert watch.health() is (Health.DOWN if number == MISSES_MAX else Health.HEALTHY)
        await after(PROBE_EVERY_S)
    assert two.health(TWO) is Health.HEALTHY


@pytest.mark.parametrize(("bad", "believed"), [(2, True), (3, False), (5, False)])
async def test_if_most_of_the_fleet_turns_bad_at_once_the_looks_are_distrusted(bad: int, believed: bool) -> None:
    watch = await watch_of(*(node.name for node in NODES))
    for node in NODES[:bad]:
        watch.rig.shows(node.name, NOBODY)
    for _ in range(2 * MISSES_MAX):
        await watch.rig.prober.round()
        await watch.rig.sweeper.look()
        await after(PROBE_EVERY_S)
    down = [node.health for node in watch.rig.machines.fleet.status().nodes].count("down")
    assert down == (bad if believed else 0)
    told = [event.name for event in watch.rig.telemetry.events if event.name == "probe_distrusted"]
    assert bool(told) is not believed


async def test_distrust_holds_when_the_duty_has_just_changed_hands() -> None:
    one = await watch_of(*(node.name for node in NODES))
    two = Watch(await one.rig.peer("two"))
    for node in NODES:
        one.rig.shows(node.name, NOBODY)
    for _ in range(MISSES_MAX - 1):
        await one.rig.prober.round()
        await one.rig.sweeper.look()
        await two.rig.sweeper.look()
        await after(PROBE_EVERY_S)
    await after(DUTY_S)
    await two.rig.prober.round()
    await two.rig.sweeper.look()
    assert {node.health for node in two.rig.machines.fleet.status().nodes} == {"healthy"}


async def test_looks_after_distrust_are_believed_again() -> None:
    watch = await watch_of(*(node.name for node in NODES))
    for node in NODES:
        watch.rig.shows(node.name, NOBODY)
    for _ in range(MISSES_MAX + 1):
        await watch.rig.prober.round()
        await after(PROBE_EVERY_S)
    for node in NODES[1:]:
        watch.rig.shows(node.name, listing(NODE_MODEL))
    for _ in range(MISSES_MAX):
        await watch.rig.prober.round()
        await watch.rig.sweeper.look()
        await after(PROBE_EVERY_S)
    assert watch.health() is Health.DOWN
    assert watch.health(TWO) is Health.HEALTHY


async def test_an_idle_node_that_failed_is_asked_for_a_token_and_that_heals_it() -> None:
    watch = await watch_of()
    watch.rig.says("mac-1", whole("H"))
    watch.ail()
    async with watch.rig.at_work():
        await after(TOKEN_PROBE_EVERY_S + PROBE_EVERY_S + 1)
        assert watch.health() is Health.HEALTHY
    assert watch.tokens == ["mac-1"]
    assert watch.rig.fleet_store.busy(ONE) == 0


async def test_a_healthy_node_is_asked_for_no_token() -> None:
    watch = await watch_of()
    async with watch.rig.at_work():
        await after(10 * PROBE_EVERY_S)
    assert watch.tokens == []


async def test_a_token_is_asked_with_a_lease_in_hand() -> None:
    watch = await watch_of()
    watch.rig.says("mac-1", (Pause(3), *whole("H")))
    watch.ail(count=FAILURES_MAX)
    async with watch.rig.at_work():
        await after(1)
        assert (watch.tokens, watch.rig.fleet_store.busy(ONE)) == (["mac-1"], 1)
        await after(3)
        assert watch.rig.fleet_store.busy(ONE) == 0


async def test_a_node_that_works_for_somebody_is_asked_for_no_token() -> None:
    watch = await watch_of()
    other = MemoryReplica(watch.rig.fleet_store, "other")
    await other.take((SlotWish(ONE, 1),), watch.rig.identities.lease())
    watch.ail(count=FAILURES_MAX)
    await watch.rig.sweeper.look()
    async with watch.rig.at_work():
        await after(1)
    assert watch.tokens == []


async def test_a_node_that_is_found_busy_after_all_is_not_asked() -> None:
    watch = await watch_of()
    watch.ail(count=FAILURES_MAX)
    other = MemoryReplica(watch.rig.fleet_store, "other")
    await other.take((SlotWish(ONE, 1),), watch.rig.identities.lease())
    async with asyncio.TaskGroup() as group:
        probing = group.create_task(watch.rig.prober.run())  # without a view: it takes the node for idle
        await after(1)
        probing.cancel()
    assert (watch.tokens, watch.rig.fleet_store.busy(ONE)) == ([], 1)


async def test_a_store_that_goes_away_costs_no_token_and_no_task() -> None:
    watch = await watch_of()
    watch.rig.says("mac-1", (Pause(1), *whole("H")))
    watch.ail(count=FAILURES_MAX)
    async with watch.rig.at_work():
        await after(0.5)
        watch.rig.fleet_store.away = "away"
        await after(1)
        watch.rig.fleet_store.away = None
        await after(1)
        assert watch.health() is Health.HEALTHY
        watch.rig.says("mac-1", whole("H"))
        watch.ail(count=FAILURES_MAX)
        await after(PROBE_EVERY_S)
        assert watch.tokens == ["mac-1"] * 2


async def test_a_node_seen_idle_gives_its_draining_slots_back() -> None:
    watch = await watch_of("mac-1")
    grant = await watch.rig.slots.take((SlotWish(ONE, 1),), watch.rig.identities.lease())
    assert grant.lease is not None
    watch.rig.slots.release(grant.lease, drain_s=10)
    await after(0.1)
    watch.rig.shows("mac-1", listing(NODE_MODEL, busy=1, slots=1))
    await watch.rig.prober.round()
    assert watch.rig.fleet_store.busy(ONE) == 1
    watch.rig.shows("mac-1", listing(NODE_MODEL, busy=0, slots=1))
    await watch.rig.prober.round()
    assert watch.rig.fleet_store.busy(ONE) == 0


async def test_a_round_without_a_store_is_nobodys() -> None:
    watch = await watch_of()
    watch.rig.fleet_store.away = "away"
    with pytest.raises(LeaseStoreAway):
        await watch.rig.prober.round()


async def test_what_was_found_of_a_node_is_a_report_of_it() -> None:
    watch = await watch_of("mac-1")
    watch.rig.shows("mac-1", NOBODY)
    await watch.rig.prober.round()
    await watch.rig.prober.round()
    (seen,) = watch.rig.fleet_store.read([ONE], []).seen
    assert seen.report == NodeReport(ONE, Look.MISSED, misses=2)


async def test_who_sees_a_node_down_asks_it_whoever_has_the_duty_of_looking() -> None:
    one = await watch_of()
    two = Watch(await one.rig.peer("two"))
    one.rig.says("mac-1", whole("H"))
    async with one.rig.at_work(), two.rig.at_work():
        await after(1)
        two.ail(count=FAILURES_MAX)
        await after(3 * PROBE_EVERY_S)
        assert (one.health(), two.health()) == (Health.HEALTHY, Health.HEALTHY)
    assert (two.looked, one.tokens, two.tokens) == (0, [], ["mac-1"])


async def test_n04_a_node_that_all_replicas_see_down_is_asked_by_one_at_a_time() -> None:
    catalogue = machines(machine("mac-1", slots=4))
    one = await watch_of(catalogue=catalogue)
    two = Watch(await one.rig.peer("two"))
    one.rig.says("mac-1", (Silence(),))
    for watch in (one, two):
        watch.ail(count=FAILURES_MAX)
    async with one.rig.at_work(), two.rig.at_work():
        asked_at_once = 0
        for _ in range(60):
            await after(10)
            asked_at_once = max(asked_at_once, one.rig.upstream.open_total + two.rig.upstream.open_total)
        assert asked_at_once == 1


async def lists(watch: Watch, *names: str) -> int:
    """Have a llama.cpp list these models in one round; gives how often the log says that it differs, in all."""
    watch.rig.shows("mac-1", listing(*names) if names else NOBODY)
    await watch.rig.prober.round()
    return sum(event.name == "node_model_differs" for event in watch.rig.telemetry.events)


async def test_a_llama_cpp_that_lists_another_model_is_told_once_until_it_lists_the_right_one() -> None:
    watch = await watch_of(catalogue=machines(machine("mac-1", engine=EngineKind.LLAMACPP)))
    assert await lists(watch, NODE_MODEL) == 0
    assert await lists(watch, "another") == 1
    assert await lists(watch) == 1
    assert await lists(watch, "another") == 1
    assert await lists(watch, NODE_MODEL) == 1
    assert await lists(watch, "a", "b", "c", "d") == 2
    facts = watch.rig.telemetry.events[-1].facts
    assert (facts["declared"], facts["listed"]) == (NODE_MODEL, "a, b, c")


async def test_an_engine_that_refuses_other_names_is_not_told_to_differ() -> None:
    watch = await watch_of("mac-1")
    assert await lists(watch, "another") == 0
