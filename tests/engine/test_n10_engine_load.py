"""N09, N10, N12: what an engine tells of its load raises our counts, for a while; leases decide all the same."""

import math

import pytest

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.memory.upstream import NOBODY, Head, Script, Silence
from ktms.domain.capacity.engine_metrics import EngineLoad
from ktms.domain.capacity.node_report import Look, NodeReport
from ktms.domain.capacity.seat import Health, NodeState
from ktms.domain.catalogue import EngineKind
from ktms.domain.ids import LeaseId, NodeName
from ktms.engine.fleet import LOAD_LASTS_S, Fleet
from ktms.engine.look import LOOK_S
from ktms.engine.probe import METRICS_REST_S, PROBE_EVERY_S
from ktms.ports.fleet_board import BoardView, Seen
from ktms.ports.lease_store import Lease, SlotWish
from ktms.ports.telemetry import Gauge
from tests.engine.ends import story
from tests.engine.machines import ONE, TWO, desk_of, machine, machines
from tests.engine.rig import Rig, listing, refusal, snapshot, whole
from tests.engine.virtual_loop import after
from tests.engine.watch import Watch, watch_of

PAIR = machines(machine("mac-1", slots=8), machine("mac-2", slots=8))
BUSY = EngineLoad(running=5, waiting=1)


def metrics(running: int, waiting: int = 0) -> Script:
    text = b'vllm:num_requests_running{engine="0"} %d.0\nvllm:num_requests_waiting{engine="0"} %d.0\n'
    return (Head(200), text % (running, waiting))


class Yard:
    """Two nodes of eight slots, on a clock that stands still."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.telemetry = MemoryTelemetry()
        self.fleet = Fleet(self.clock, self.telemetry, 0)
        self.fleet.sync(snapshot(PAIR))

    @property
    def state(self) -> NodeState:
        return state_of(self.fleet)

    @property
    def gauge(self) -> float:
        return self.telemetry.gauges[Gauge.NODE_ENGINE_CALLS, ONE]

    def tell(self, load: EngineLoad | None = BUSY, look: Look = Look.ANSWERED, age_s: float = 0.0) -> None:
        self.fleet.apply(BoardView(seen=(Seen(NodeReport(ONE, look, load=load), age_s),)))
        self.fleet.rank()

    def count(self, leases: int) -> None:
        self.fleet.apply(BoardView({ONE: leases}))


def state_of(fleet: Fleet, node: NodeName = ONE) -> NodeState:
    state = fleet.state(node)
    assert state is not None
    return state


@pytest.fixture
def yard() -> Yard:
    return Yard()


def test_what_an_engine_tells_raises_what_is_taken_and_nothing_else(yard: Yard) -> None:
    yard.count(2)
    yard.tell()
    assert (yard.state.busy, yard.state.taken, yard.state.health) == (2, 6, Health.HEALTHY)
    (node, other) = yard.fleet.status().nodes
    assert (node.busy, node.engine_calls) == (2, 6)
    assert (other.engine_calls, other.kv_used) == (None, None)


def test_its_calls_are_a_gauge_that_says_when_they_are_no_longer_known(yard: Yard) -> None:
    yard.tell()
    assert yard.gauge == 6
    yard.clock.advance(LOAD_LASTS_S)
    yard.fleet.rank()
    assert math.isnan(yard.gauge)


def test_a_share_of_the_cache_alone_is_no_count_of_calls(yard: Yard) -> None:
    yard.tell(EngineLoad(kv_used=0.5))
    assert yard.telemetry.gauges == {(Gauge.NODE_KV_USED, ONE): 0.5}
    assert (yard.state.taken, yard.fleet.status().nodes[0].kv_used) == (0, 0.5)


def test_a_stale_word_is_forgotten(yard: Yard) -> None:
    yard.tell()
    yard.clock.advance(LOAD_LASTS_S - 0.1)
    yard.fleet.rank()
    assert yard.state.taken == 6
    yard.clock.advance(0.1)
    yard.fleet.rank()
    assert yard.state.taken == 0


def test_a_word_that_is_stale_when_it_is_read_is_not_taken(yard: Yard) -> None:
    yard.tell(age_s=LOAD_LASTS_S)
    assert yard.state.taken == 0


@pytest.mark.parametrize("look", [Look.ANSWERED, Look.SPOKE, Look.MISSED])
def test_n12_a_look_that_says_nothing_of_load_leaves_the_last_word_while_it_lasts(yard: Yard, look: Look) -> None:
    yard.tell()
    yard.clock.advance(5)
    yard.tell(None, look)
    assert yard.state.taken == 6
    yard.clock.advance(LOAD_LASTS_S - 5)
    yard.fleet.rank()
    assert yard.state.taken == 0


def test_a_node_that_leaves_the_catalogue_takes_its_word_along(yard: Yard) -> None:
    yard.tell()
    yard.fleet.sync(snapshot(machines(machine("mac-2")), 2))
    yard.clock.advance(LOAD_LASTS_S)
    yard.fleet.rank()
    assert yard.fleet.state(ONE) is None


def test_an_answer_of_ours_that_ends_is_no_longer_in_the_engine(yard: Yard) -> None:
    lease, desk = Lease(LeaseId("a"), ONE, 8), desk_of(yard.fleet)
    yard.fleet.looked([SlotWish(ONE, 8)], [1])
    yard.fleet.began(desk, lease)
    yard.tell()
    yard.fleet.ended(desk, lease, draining=False)
    assert yard.state.taken == 5


def test_n23_an_answer_whose_client_left_may_still_be_in_the_engine(yard: Yard) -> None:
    lease, desk = Lease(LeaseId("a"), ONE, 8), desk_of(yard.fleet)
    yard.fleet.looked([SlotWish(ONE, 8)], [1])
    yard.fleet.began(desk, lease)
    yard.tell()
    yard.fleet.ended(desk, lease, draining=True)
    assert yard.state.taken == 6


def test_answers_of_other_replicas_that_end_are_no_longer_in_the_engine(yard: Yard) -> None:
    for leases in (3, 3):
        yard.count(leases)
    yard.tell()
    for leases in (1, 1):
        yard.count(leases)
    assert (yard.state.busy, yard.state.taken) == (1, 4)


async def looked(rig: Rig) -> None:
    await rig.prober.round()
    await rig.sweeper.look()


async def both(*, cloud: bool = False, slots: int = 8) -> Watch:
    watch = await watch_of(catalogue=machines(machine("mac-1", slots=slots), machine("mac-2", slots=slots)))
    for target in ("mac-1", "mac-2", *(("alpha",) if cloud else ())):
        watch.rig.says(target, whole())
    return watch


async def test_every_replica_reads_what_one_has_found() -> None:
    one = await both()
    two = Watch(await one.rig.peer("two"))
    one.rig.tells("mac-1", metrics(3, 4))
    await one.rig.prober.round()
    for watch in (one, two):
        await watch.rig.sweeper.look()
        assert state_of(watch.rig.machines.fleet).taken == 7
    assert (one.metrics_read, two.metrics_read) == (2, 0)


async def test_n09_a_node_that_others_fill_gets_nothing_while_another_has_room() -> None:
    watch = await both()
    watch.rig.tells("mac-1", metrics(8))
    await looked(watch.rig)
    for _ in range(8):
        await watch.rig.handle(watch.rig.call("homely"))
    assert watch.rig.dialled == ["mac-2"] * 8


async def test_where_no_other_has_room_it_is_asked_before_the_cloud() -> None:
    watch = await both(cloud=True)
    watch.rig.tells("mac-1", metrics(8))
    watch.rig.tells("mac-2", metrics(9, 3))
    await looked(watch.rig)
    assert story(await watch.rig.handle(watch.rig.call("mixed"))) == "local/mac-1:ok"


async def test_n10_the_lease_decides_whatever_the_engine_tells() -> None:
    watch = await both(cloud=True, slots=1)
    for node in ("mac-1", "mac-2"):
        watch.rig.tells(node, metrics(0))
    for node in (ONE, TWO):
        await watch.rig.slots.take((SlotWish(node, 1),), watch.rig.identities.lease())
    await looked(watch.rig)
    await watch.rig.handle(watch.rig.call("mixed"))
    assert watch.rig.dialled == ["alpha"]


@pytest.mark.parametrize("script", [refusal(404), refusal(501), refusal(500), NOBODY, listing("x")])
async def test_n12_an_engine_without_metrics_is_well_and_is_not_asked_again_for_a_while(script: Script) -> None:
    watch = await watch_of("mac-1")
    watch.rig.tells("mac-1", script)
    async with watch.rig.at_work():
        await after(METRICS_REST_S - 1)
        assert (watch.metrics_read, watch.looked) == (1, METRICS_REST_S // PROBE_EVERY_S)
        await after(PROBE_EVERY_S + 1)
        assert watch.metrics_read == 2
    assert watch.health() is Health.HEALTHY
    assert state_of(watch.rig.machines.fleet).taken == 0
    assert watch.rig.telemetry.failures == []


async def test_metrics_that_hang_are_no_miss() -> None:
    watch = await watch_of("mac-1")
    watch.rig.tells("mac-1", (Silence(),))
    async with watch.rig.at_work():
        await after(4 * (PROBE_EVERY_S + LOOK_S))
    (seen,) = watch.rig.fleet_store.read([ONE], []).seen
    assert (seen.report.look, seen.report.misses, seen.report.load) == (Look.ANSWERED, 0, None)


async def test_metrics_are_read_at_every_look_while_they_tell() -> None:
    watch = await watch_of("mac-1")
    watch.rig.tells("mac-1", metrics(1))
    async with watch.rig.at_work():
        await after(3 * PROBE_EVERY_S + 1)
    assert (watch.looked, watch.metrics_read) == (4, 4)


@pytest.mark.parametrize("engine", [EngineKind.AGENT, EngineKind.OLLAMA])
async def test_who_has_none_by_its_kind_is_not_asked(engine: EngineKind) -> None:
    watch = await watch_of(catalogue=machines(machine("mac-1", engine=engine)))
    await watch.rig.prober.round()
    assert watch.metrics_read == 0


async def test_a_node_that_missed_its_look_is_not_asked_for_metrics() -> None:
    watch = await watch_of("mac-1")
    watch.rig.shows("mac-1", NOBODY)
    await watch.rig.prober.round()
    assert watch.metrics_read == 0


async def test_n23_metrics_that_tell_of_nothing_free_no_draining_slot() -> None:
    watch = await watch_of(catalogue=machines(machine("mac-1", engine=EngineKind.LLAMACPP)))
    grant = await watch.rig.slots.take((SlotWish(ONE, 1),), watch.rig.identities.lease())
    assert grant.lease is not None
    watch.rig.slots.release(grant.lease, drain_s=10)
    watch.rig.tells("mac-1", (Head(200), b"llamacpp:requests_processing 0\nllamacpp:requests_deferred 0\n"))
    await watch.rig.prober.round()
    assert watch.metrics_read == 1
    assert watch.rig.fleet_store.busy(ONE) == 1


async def test_a_node_that_others_keep_busy_is_asked_for_a_token_all_the_same() -> None:
    watch = await watch_of("mac-1")
    watch.rig.tells("mac-1", metrics(9))
    watch.rig.says("mac-1", whole("H"))
    async with watch.rig.at_work():
        await after(1)
        watch.ail(count=3)
        await after(2 * PROBE_EVERY_S)
        assert watch.health() is Health.HEALTHY


async def test_the_record_of_a_choice_says_what_the_engine_told() -> None:
    watch = await both()
    rig = Rig(watch.rig.settings, watch.rig.catalogue, explains=True)
    await rig.start()
    rig.says("mac-2", whole())
    rig.tells("mac-1", metrics(8))
    await looked(rig)
    await rig.handle(rig.call("homely"))
    (facts,) = [event.facts for event in rig.telemetry.events if event.name == "node_chosen"]
    assert "mac-1: crowded (healthy, 0 of 8 busy (8 by its engine), weight 0.00" in str(facts["candidates"])
