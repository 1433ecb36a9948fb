import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace

from ktms.adapters.memory.line_store import MemoryLineStore
from ktms.adapters.memory.upstream import Pause, State
from ktms.domain.access.limits import Limits
from ktms.domain.access.secret import Secret
from ktms.domain.batch.batch import BatchTimes
from ktms.domain.batch.line import DEATHS_MAX, LineRef
from ktms.domain.batch.state import BatchState
from ktms.domain.catalogue import Catalogue, ClientKeySpec
from ktms.domain.placement import Placement
from ktms.ports.catalogue import StoreAway
from ktms.ports.line_store import LEASE_S, RENEW_EVERY_S
from ktms.ports.telemetry import Count
from tests.engine.batch_yard import named, text_of, yard
from tests.engine.machines import machine, machines
from tests.engine.rig import CATALOGUE, KEY, key_id, refusal, whole
from tests.engine.virtual_loop import after

LONE = machines(machine("mac-1"))
SLOWLY = (Pause(10.0), *whole())


def limited(limits: Limits) -> Catalogue:
    spec = ClientKeySpec("app", "default", secret=Secret(KEY), limits=limits)
    return replace(CATALOGUE, client_keys=(spec,))


async def test_every_line_is_answered_and_booked_once() -> None:
    async with yard(lines_max=3) as made:
        made.rig.says("alpha", whole())
        batch = await made.batch(*(text_of(str(number)) for number in range(10)))
        done = await made.ended(batch)
        assert (done.state, done.completed, done.failed) == (BatchState.COMPLETED, 10, 0)
        assert named(made.results(batch)) == [str(number) for number in range(10)]
        assert sorted(made.booked()) == [(batch, number) for number in range(1, 11)]
        assert made.rig.telemetry.labelled[Count.BATCH_LINES, "done"] == 10
        assert made.replica.worker.running == 0


async def test_no_more_lines_run_at_once_than_there_are_places() -> None:
    async with yard(lines_max=3) as made:
        made.rig.says("alpha", SLOWLY)
        batch = await made.batch(*(text_of(str(number)) for number in range(7)))
        for _ in range(60):
            await after(0.5)
            assert made.replica.worker.running <= 3
            assert len(made.rig.dialled) - len(made.rig.ledger.events) <= 3
        assert (await made.ended(batch)).completed == 7


async def test_two_batches_are_served_in_turn() -> None:
    async with yard(lines_max=4) as made:
        made.rig.says("alpha", SLOWLY)
        large = await made.batch(*(text_of(str(number)) for number in range(40)))
        await after(12)
        small = await made.batch(text_of("a"), text_of("b"))
        await made.ended(small, 45)
        assert (await made.found(large)).completed < 20
        await made.ended(large, 400)


async def test_lines_that_wait_for_a_machine_keep_no_place_from_another_batch() -> None:
    async with yard(LONE, lines_max=4) as made:
        made.rig.says("mac-1", (Pause(4000.0), *whole()))
        made.rig.says("alpha", whole())
        held_up = await made.batch(*(text_of(str(number), "homely") for number in range(20)))
        await after(20)
        assert made.replica.worker.running == 4
        quick = await made.batch(*(text_of(str(number)) for number in range(20)))
        assert (await made.ended(quick, 60)).completed == 20
        assert (await made.found(held_up)).failed == 0
        await after(20)
        assert made.replica.worker.running == 4
        assert {line.deaths for line in made.shelf.batches[held_up].lines.values()} == {0}
        assert made.rig.dialled.count("mac-1") == 1


async def test_batches_that_all_wait_for_machines_take_turns() -> None:
    async with yard(LONE, lines_max=2) as made:
        made.rig.says("mac-1", (Pause(4000.0), *whole()))
        made.rig.says("alpha", whole())
        for _ in range(6):
            await made.batch(text_of("a", "homely"), text_of("b", "homely"))
        await after(20)
        quick = await made.batch(text_of("a"))
        assert (await made.ended(quick, 600)).completed == 1


async def test_a_line_that_failed_at_every_target_is_run_again_and_then_has_its_error() -> None:
    async with yard() as made:
        made.rig.says("alpha", refusal(500), whole())
        made.rig.says("beta", refusal(500), refusal(503), refusal(500))
        good = await made.batch(text_of("a"))
        assert (await made.ended(good, 200)).completed == 1
        made.rig.says("alpha", refusal(500))
        bad = await made.batch(text_of("a"))
        assert (await made.ended(bad, 400)).failed == 1
        (result,) = made.results(bad, ok=False)
        assert result["response"]["status_code"] == 502  # type: ignore[index]  # an object
        assert made.booked() == [(good, 1)]


async def test_attempts_that_used_nothing_leave_no_usage_of_the_line() -> None:
    async with yard() as made:
        made.rig.says("alpha", refusal(500))
        made.rig.says("beta", whole())
        batch = await made.batch(text_of("a"))
        await made.ended(batch)
        (event,) = made.rig.ledger.events
        assert (event.vendor, event.batch_line is not None) == ("beta", True)


async def test_a_limit_lets_lines_rest_until_there_is_room() -> None:
    async with yard(limited(Limits(rpm=6)), lines_max=4) as made:
        made.rig.says("alpha", whole())
        began_at = made.rig.clock.monotonic()
        batch = await made.batch(*(text_of(str(number)) for number in range(9)))
        done = await made.ended(batch, 300)
        assert (done.completed, done.failed) == (9, 0)
        assert made.rig.clock.monotonic() - began_at >= 25  # six at once, and one more every ten seconds
        assert sorted(made.booked()) == [(batch, number) for number in range(1, 10)]


async def test_a_call_larger_than_its_limit_is_refused_for_good() -> None:
    async with yard(limited(Limits(tpm=10))) as made:
        batch = await made.batch(text_of("a", max_tokens=100))
        assert (await made.ended(batch)).failed == 1
        (result,) = made.results(batch, ok=False)
        assert result["response"]["status_code"] == 429  # type: ignore[index]  # an object


async def test_a_revoked_key_ends_what_is_left_of_its_batches() -> None:
    async with yard(lines_max=2) as made:
        made.rig.says("alpha", SLOWLY)
        batch = await made.batch(*(text_of(str(number)) for number in range(6)))
        await after(12)
        made.rig.store.keys[0].revoked = True
        done = await made.ended(batch, 60)
        assert done.state is BatchState.COMPLETED
        assert 2 <= done.completed <= 4
        assert done.completed + done.failed == 6
        codes = {result["error"]["code"] for result in made.results(batch, ok=False)}  # type: ignore[index]  # an object
        assert codes == {"invalid_api_key"}


async def test_lines_of_a_window_that_ended_expire_and_those_that_ran_are_kept() -> None:
    async with yard(lines_max=2) as made:
        made.rig.says("alpha", SLOWLY)
        batch = await made.batch(*(text_of(str(number)) for number in range(20)), window_s=25.0)
        done = await made.ended(batch)
        assert done.state is BatchState.EXPIRED
        assert 4 <= done.completed <= 8
        assert done.completed + done.failed == 20
        late = made.results(batch, ok=False)
        assert {result["error"]["code"] for result in late} == {"batch_expired"}  # type: ignore[index]  # an object
        assert set(named(late)) | set(named(made.results(batch))) == {str(number) for number in range(20)}


async def test_nothing_begins_after_a_cancellation() -> None:
    async with yard(lines_max=2) as made:
        made.rig.says("alpha", SLOWLY)
        batch = await made.batch(*(text_of(str(number)) for number in range(10)))
        await after(12)
        await made.cancel(batch)
        asked = len(made.rig.dialled)
        done = await made.ended(batch)
        assert done.state is BatchState.CANCELLED
        assert len(made.rig.dialled) == asked == done.completed
        assert done.times.cancelled_at is not None


async def test_a_killed_replicas_lines_are_run_by_another_and_nothing_is_booked_twice() -> None:
    async with yard(lines_max=3, replicas=2) as made:
        made.rig.says("alpha", SLOWLY)
        batch = await made.batch(*(text_of(str(number)) for number in range(12)))
        await after(15)
        first = made.replicas[0]
        assert first.worker.running
        for task in first.tasks:
            task.cancel()
        held = [line for line in made.shelf.batches[batch].lines.values() if line.state == "running"]
        await after(0.1)
        for line in held:  # as if it had said nothing at its end
            line.state = line.state if line.claim > 1 else "running"
        done = await made.ended(batch, 4 * LEASE_S)
        assert (done.completed, done.failed) == (12, 0)
        assert sorted(named(made.results(batch))) == sorted(map(str, range(12)))  # type: ignore[type-var]  # texts
        assert sorted(set(made.booked())) == [(batch, number) for number in range(1, 13)]
        ids = {event.id for one in made.replicas for event in one.rig.ledger.events}
        assert len(ids) == 12


async def test_a_replica_that_leaves_gives_back_what_it_has_not_asked_and_ends_the_rest() -> None:
    async with yard(LONE, lines_max=3) as made:
        made.rig.says("mac-1", SLOWLY)
        batch = await made.batch(*(text_of(str(number), "homely") for number in range(3)))
        await after(8)
        assert made.replica.worker.running == 3
        made.rig.drain.leave()
        await after(2)
        assert made.replica.worker.running == 1
        await after(12)
        assert made.replica.worker.running == 0
        progress = made.shelf.batches[batch].progress()
        assert (progress.done, progress.waiting) == (1, 2)


async def test_a_store_that_is_away_holds_results_up_and_loses_none() -> None:
    async with yard(lines_max=2) as made:
        made.rig.says("alpha", SLOWLY)
        batch = await made.batch(*(text_of(str(number)) for number in range(4)))
        await after(8)
        made.rig.store.away = True
        await after(30)
        assert len(made.rig.dialled) == 2
        made.rig.store.away = False
        assert (await made.ended(batch)).completed == 4
        assert len(made.rig.dialled) == 4


class CutOff(MemoryLineStore):
    """A store that one replica cannot reach any more."""

    away = False

    async def renew(self, lines: Collection[LineRef]) -> Mapping[LineRef, bool]:
        if self.away:
            raise StoreAway("cut off")
        return await super().renew(lines)


async def test_a_replica_that_cannot_renew_ends_its_lines_before_others_begin_them() -> None:
    async with yard(lines_max=1, starts=False) as made:
        made.rig.says("alpha", (Pause(300.0), *whole()))
        lines = CutOff(made.shelf)
        made.add(made.rig, lines)
        batch = await made.batch(text_of("a"))
        await after(8)
        lines.away = True
        (line,) = made.shelf.batches[batch].lines.values()
        until = line.lease_until - made.rig.clock.wall()
        await after(until - 0.5)
        (state, *_) = [one.state for one in made.rig.upstream.exchanges if one.request.prologue.method == "POST"]
        assert state is State.GIVEN_UP
        assert not made.rig.ledger.events


async def test_a_line_that_another_replica_has_is_let_go_of() -> None:
    async with yard(lines_max=1) as made:
        made.rig.says("alpha", (Pause(300.0), *whole()))
        batch = await made.batch(text_of("a"))
        await after(8)
        (line,) = made.shelf.batches[batch].lines.values()
        line.claim += 1
        line.lease_until += 2 * LEASE_S
        await after(RENEW_EVERY_S + 1)
        assert made.replica.worker.running == 0
        assert made.rig.upstream.open_total == 0


async def test_of_a_cancelled_batch_what_is_asked_ends_and_what_waits_is_let_go_of() -> None:
    async with yard(LONE, lines_max=3) as made:
        made.rig.says("mac-1", (Pause(100.0), *whole()))
        batch = await made.batch(*(text_of(str(number), "homely") for number in range(3)))
        await after(8)
        assert made.replica.worker.running == 3
        await made.cancel(batch)
        await after(RENEW_EVERY_S + 1)
        assert made.replica.worker.running == 1
        assert (await made.ended(batch, 200)).completed == 1


async def test_a_line_whose_replicas_die_again_and_again_is_given_up() -> None:
    async with yard(lines_max=1, starts=False) as made:
        batch = await made.batch(text_of("a"))
        await made.replica.keeper.tend()
        (line,) = made.shelf.batches[batch].lines.values()
        line.deaths = DEATHS_MAX + 1
        made.add(made.rig)
        done = await made.ended(batch)
        assert done.failed == 1
        assert made.rig.dialled == []


async def test_a_file_that_cannot_be_read_any_more_ends_its_lines() -> None:
    async with yard(starts=False) as made:
        batch = await made.batch(text_of("a"))
        await made.replica.keeper.tend()
        made.shelf.files[made.shelf.batches[batch].new.input_file].pieces.clear()
        made.add(made.rig)
        assert (await made.ended(batch)).failed == 1
        (result,) = made.results(batch, ok=False)
        assert (result["custom_id"], result["error"]["code"]) == (None, "internal_error")  # type: ignore[index]  # an object


async def test_a_mistake_of_ours_costs_one_run_of_one_line() -> None:
    class Broken(MemoryLineStore):
        broken = True

        async def finish(self, line: LineRef, result: object) -> bool:
            if self.broken:
                self.broken = False
                raise LookupError("a mistake")
            return await super().finish(line, result)  # type: ignore[arg-type]  # handed through

    async with yard(starts=False) as made:
        made.rig.says("alpha", whole())
        made.add(made.rig, Broken(made.shelf))
        batch = await made.batch(text_of("a"))
        assert (await made.ended(batch, 200)).completed == 1
        assert [event.name for event in made.rig.telemetry.events if event.level == "error"] == ["internal_error"]
        assert len({event.id for event in made.rig.ledger.events}) == 1


async def test_lines_wait_for_a_machine_as_long_as_it_takes_and_never_go_to_the_cloud() -> None:
    async with yard(LONE, lines_max=4) as made:
        made.rig.says("mac-1", (Pause(100.0), *whole()))
        batch = await made.batch(*(text_of(str(number), "mixed") for number in range(6)))
        done = await made.ended(batch, 800)
        assert done.completed == 6
        assert made.rig.dialled == ["mac-1"] * 6


async def test_in_the_last_quarter_of_their_window_lines_wait_for_no_machine() -> None:
    async with yard(LONE, lines_max=4) as made:
        made.rig.says("mac-1", (Pause(100.0), *whole()))
        made.rig.says("alpha", whole())
        batch = await made.batch(*(text_of(str(number), "mixed") for number in range(4)), window_s=3600.0)
        await made.ended(batch, 200)
        assert sorted(made.rig.dialled) == ["alpha"] * 3 + ["mac-1"]


async def test_nodes_only_never_reaches_the_cloud_even_at_the_end_of_the_window() -> None:
    async with yard(LONE, lines_max=4) as made:
        made.rig.says("mac-1", (Pause(100.0), *whole()))
        only = {"ktms": {"placement": Placement.NODES_ONLY.value}}
        batch = await made.batch(*(text_of(str(number), "mixed", **only) for number in range(4)), window_s=150.0)
        done = await made.ended(batch, 400)
        assert done.state is BatchState.EXPIRED
        assert set(made.rig.dialled) == {"mac-1"}


async def test_a_line_reserves_nothing_while_it_waits() -> None:
    async with yard(replace(LONE, client_keys=limited(Limits(concurrent=2)).client_keys), lines_max=4) as made:
        made.rig.says("mac-1", (Pause(50.0), *whole()))
        made.rig.says("alpha", whole())
        await made.batch(*(text_of(str(number), "homely") for number in range(4)))
        await after(10)
        assert made.replica.worker.running == 4
        result = await made.rig.handle(made.rig.call("cloudy"))
        assert type(result).__name__ == "Whole"


async def test_the_key_of_a_batch_is_asked_for_by_its_id() -> None:
    async with yard(starts=False) as made:
        found = await made.rig.admission.vouch([key_id()])
        assert found is not None
        assert list(found) == [key_id()]
        made.rig.store.keys[0].revoked = True
        assert await made.rig.admission.vouch([key_id()]) == {}
        made.rig.store.away = True
        assert await made.rig.admission.vouch([key_id()]) is None


def test_times_stand_in_the_order_of_the_states() -> None:
    names = [name.removesuffix("_at") for name in BatchTimes.__dataclass_fields__][2:]
    assert names == [state.value for state in BatchState if state is not BatchState.VALIDATING]


async def test_nobody_is_left_behind_when_the_work_ends() -> None:
    async with yard(lines_max=2) as made:
        made.rig.says("alpha", SLOWLY)
        batch = await made.batch(*(text_of(str(number)) for number in range(4)))
        await after(8)
        for task in made.replica.tasks:
            task.cancel()
        await asyncio.wait(made.replica.tasks)
        assert made.shelf.batches[batch].progress().waiting == 4
        assert made.rig.telemetry.in_flight == 0
