"""Models brought into memory beside the calls: once over all replicas, and nothing waits for it for ever."""

from ktms.adapters.memory.upstream import MemoryExchange, Pause, Script, Silence, State
from ktms.domain.capacity.node_health import FAILURES_MAX, Evidence
from ktms.engine.look import LOAD_S
from ktms.engine.probe import DUTY_S
from ktms.ports.telemetry import Dependency
from tests.engine.machines import seat_of
from tests.engine.rig import refusal, whole
from tests.engine.virtual_loop import after
from tests.engine.watch import Watch, watch_of


def ended(exchange: MemoryExchange) -> bool:
    return exchange.state is not State.OPEN


COLD: Script = (Pause(20), *whole("H"))


async def test_a_model_is_loaded_once_over_all_replicas_and_all_learn_of_it() -> None:
    one = await watch_of("mac-1")
    two = Watch(await one.rig.peer("two"))
    one.rig.says("mac-1", COLD)
    seats = [seat_of(watch.rig.machines.fleet, "mac-1") for watch in (one, two)]
    for watch, seat in zip((one, two), seats, strict=True):
        seat.cold = True
        watch.rig.machines.loads.want(seat, watch.rig.clock.monotonic())
    async with one.rig.at_work(), two.rig.at_work():
        await after(19)
        assert [seat.cold for seat in seats] == [True, True]
        await after(3)
        assert [seat.cold for seat in seats] == [False, False]
    assert len(one.tokens + two.tokens) == 1
    assert one.rig.machines.loads.ready_in(seats[0], one.rig.clock.monotonic(), 60) == 20


async def test_a_load_has_minutes_and_no_more() -> None:
    watch = await watch_of("mac-1")
    watch.rig.says("mac-1", (Silence(),))
    seat = seat_of(watch.rig.machines.fleet, "mac-1")
    watch.rig.machines.loads.want(seat, watch.rig.clock.monotonic())
    async with watch.rig.at_work():
        await after(1)
        (exchange,) = [one for one in watch.rig.upstream.exchanges if one.request.prologue.method == "POST"]
        assert exchange.request.timers.total_s == LOAD_S
        await after(LOAD_S)
    assert watch.rig.upstream.open_total == 0


async def test_a_load_into_a_machine_that_vanished_ends_when_the_machine_is_down() -> None:
    watch = await watch_of("mac-1")
    watch.rig.says("mac-1", (Silence(),))
    seat = seat_of(watch.rig.machines.fleet, "mac-1")
    seat.cold = True
    watch.rig.machines.loads.want(seat, watch.rig.clock.monotonic())
    async with watch.rig.at_work():
        await after(1)
        (load,) = [one for one in watch.rig.upstream.exchanges if one.request.prologue.method == "POST"]
        assert not ended(load)
        for _ in range(FAILURES_MAX):
            watch.rig.machines.fleet.note(seat.state.node.name, Evidence.CONNECT_FAILED)
        await after(DUTY_S)
        assert ended(load), "what is open now asks whether it is back"
        assert seat.cold


async def test_a_load_ends_when_the_model_spoke_to_somebody_else() -> None:
    watch = await watch_of("mac-1")
    watch.rig.says("mac-1", (Silence(),))
    seat = seat_of(watch.rig.machines.fleet, "mac-1")
    seat.cold = True
    watch.rig.machines.loads.want(seat, watch.rig.clock.monotonic())
    async with watch.rig.at_work():
        await after(1)
        watch.rig.machines.fleet.spoke(seat)
        await after(DUTY_S)
        assert watch.rig.upstream.open_total == 0


async def test_a_load_that_a_replica_died_in_is_taken_over() -> None:
    one = await watch_of("mac-1")
    two = Watch(await one.rig.peer("two"))
    one.rig.says("mac-1", (Silence(),), whole("H"))
    for watch in (one, two):
        seat_of(watch.rig.machines.fleet, "mac-1").cold = True
    async with two.rig.at_work():
        async with one.rig.at_work():
            one.rig.machines.loads.want(seat_of(one.rig.machines.fleet, "mac-1"), one.rig.clock.monotonic())
            await after(30)
            two.rig.machines.loads.want(seat_of(two.rig.machines.fleet, "mac-1"), two.rig.clock.monotonic())
            await after(1)
            assert two.tokens == [], "its duty is kept while it lives"
        await after(DUTY_S + 1)
        two.rig.machines.loads.want(seat_of(two.rig.machines.fleet, "mac-1"), two.rig.clock.monotonic())
        await after(1)
        assert two.tokens == ["mac-1"]
        assert not seat_of(two.rig.machines.fleet, "mac-1").cold


async def test_a_model_that_went_cold_again_is_loaded_again_by_anybody() -> None:
    one = await watch_of("mac-1")
    two = Watch(await one.rig.peer("two"))
    one.rig.says("mac-1", whole("H"))
    async with one.rig.at_work(), two.rig.at_work():
        for watch in (one, two):
            seat = seat_of(watch.rig.machines.fleet, "mac-1")
            seat.cold = True
            watch.rig.machines.loads.want(seat, watch.rig.clock.monotonic())
            await after(DUTY_S + 1)
            assert not seat.cold
    assert (one.tokens, two.tokens) == (["mac-1"], ["mac-1"])


async def test_a_replica_that_missed_the_news_of_a_load_sees_for_itself_at_once() -> None:
    one = await watch_of("mac-1")
    two = Watch(await one.rig.peer("two"))
    one.rig.says("mac-1", whole("H"))
    for watch in (one, two):
        seat = seat_of(watch.rig.machines.fleet, "mac-1")
        seat.cold = True
        watch.rig.machines.loads.want(seat, watch.rig.clock.monotonic())
        async with watch.rig.at_work():
            await after(1)
            assert not seat.cold
    assert (one.tokens, two.tokens) == (["mac-1"], ["mac-1"])


async def test_a_load_that_fails_leaves_the_model_cold() -> None:
    watch = await watch_of("mac-1")
    watch.rig.says("mac-1", refusal(404))
    seat = seat_of(watch.rig.machines.fleet, "mac-1")
    seat.cold = True
    watch.rig.machines.loads.want(seat, watch.rig.clock.monotonic())
    async with watch.rig.at_work():
        await after(5)
        assert seat.cold


async def test_a_store_that_is_away_fails_a_load_and_not_the_loader() -> None:
    watch = await watch_of("mac-1")
    watch.rig.says("mac-1", whole("H"))
    seat = seat_of(watch.rig.machines.fleet, "mac-1")
    seat.cold = True
    watch.rig.fleet_store.away = "away"
    async with watch.rig.at_work():
        watch.rig.machines.loads.want(seat, watch.rig.clock.monotonic())
        await after(6)
        watch.rig.fleet_store.away = None
        watch.rig.machines.loads.want(seat, watch.rig.clock.monotonic())
        await after(1)
        assert not seat.cold
    assert (Dependency.REDIS, "load_model", "away") in watch.rig.telemetry.failures


async def test_a_store_that_comes_and_goes_during_a_load_does_not_end_it() -> None:
    watch = await watch_of("mac-1")
    watch.rig.says("mac-1", COLD)
    seat = seat_of(watch.rig.machines.fleet, "mac-1")
    seat.cold = True
    async with watch.rig.at_work():
        watch.rig.machines.loads.want(seat, watch.rig.clock.monotonic())
        await after(3)
        watch.rig.fleet_store.away = "away"
        await after(10)
        watch.rig.fleet_store.away = None
        await after(10)
        assert not seat.cold
