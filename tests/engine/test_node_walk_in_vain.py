"""Calls that wait go on as soon as nobody is left to wait for, and nobody waits by counts that may be wrong."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from ktms.adapters.memory.upstream import Pause
from ktms.domain.capacity.node_health import FAILURES_MAX, Evidence
from ktms.domain.capacity.node_report import Look, NodeReport
from ktms.domain.catalogue import Catalogue, ModelSpec, Selection, TargetSpec
from ktms.domain.errors import ErrorCode
from ktms.domain.joined_node import leaving
from ktms.engine.waiting import POLL_S
from ktms.ports.lease_store import SlotWish
from tests.engine.ends import cause, story
from tests.engine.machines import ONE, TWO, machine, machines, seat_of
from tests.engine.rig import NODE_MODEL, Rig, snapshot, whole
from tests.engine.virtual_loop import after, settle
from tests.engine.waits import held, rig_with, timed

PATIENT_MS = 20_000
LONE = machines(machine("mac-1"), queue_timeout_ms=PATIENT_MS)
PAIR = machines(machine("mac-1"), machine("mac-2"), queue_timeout_ms=PATIENT_MS)
NOBODY = machines(queue_timeout_ms=PATIENT_MS)

GONE_S = 0.5
SOON_S = GONE_S + 3 * POLL_S

Change = Callable[[Rig], None]


def falls_ill(rig: Rig) -> None:
    for _ in range(FAILURES_MAX):
        rig.machines.fleet.note(ONE, Evidence.CONNECT_FAILED)


def is_switched_off(rig: Rig) -> None:
    rig.machines.fleet.sync(snapshot(NOBODY, 2))


def announces_that_it_drains(rig: Rig) -> None:
    rig.machines.fleet.sync(snapshot(replace(LONE, nodes=(leaving(LONE.nodes[0]),)), 2))


def says_that_it_drains(rig: Rig) -> None:
    rig.fleet_store.post((NodeReport(ONE, Look.ANSWERED, draining=True),))


def loses_its_model(rig: Rig) -> None:
    rig.machines.fleet.sync(snapshot(replace(LONE, models=()), 2))
    rig.machines.fleet.sync(snapshot(replace(NOBODY, models=()), 3))


def its_model_is_evicted(rig: Rig) -> None:
    seat_of(rig.machines.fleet, "mac-1").cold = True


UNABLE: tuple[tuple[Change, str], ...] = (
    (falls_ill, "local/mac-1:down"),
    (announces_that_it_drains, "local/mac-1:draining"),
    (says_that_it_drains, "local/mac-1:draining"),
    (is_switched_off, "local:none"),
    (loses_its_model, "local:none"),
    (its_model_is_evicted, "local/mac-1:busy"),
)


@pytest.mark.parametrize(("change", "word"), UNABLE)
async def test_who_waits_goes_on_at_once_when_its_last_node_cannot(change: Change, word: str) -> None:
    rig = await rig_with(LONE)
    await held(rig)
    async with rig.at_work() as group:
        calls = [group.create_task(timed(rig, "mixed")) for _ in range(8)]
        await after(GONE_S)
        assert rig.machines.queues.waiting == 8
        change(rig)
    for call in calls:
        result, took_s = call.result()
        assert story(result) == f"{word}, alpha:ok"
        assert took_s < SOON_S


@pytest.mark.parametrize(("change", "word"), UNABLE[:-1])
async def test_who_may_run_on_nodes_alone_is_told_at_once_too(change: Change, word: str) -> None:
    rig = await rig_with(LONE)
    await held(rig)
    async with rig.at_work() as group:
        call = group.create_task(timed(rig, "homely"))
        await after(GONE_S)
        change(rig)
    result, took_s = call.result()
    assert (cause(result).code, story(result)) == (ErrorCode.NO_NODE_AVAILABLE, word)
    assert took_s < SOON_S


async def test_who_waits_goes_on_waiting_while_another_node_can() -> None:
    rig = await rig_with(PAIR)
    await held(rig)
    other, lease = await held(rig, TWO)
    async with rig.at_work() as group:
        call = group.create_task(timed(rig, "mixed"))
        await after(GONE_S)
        falls_ill(rig)
        await after(GONE_S)
        assert not call.done()
        other.release(lease)
    assert story(call.result()[0]) == "local/mac-2:ok"


async def test_an_answer_that_takes_its_node_down_lets_others_go_on_at_once() -> None:
    rig = await rig_with(LONE)
    rig.machines.fleet.note(ONE, Evidence.CUT)
    rig.machines.fleet.note(ONE, Evidence.CUT)
    rig.says("mac-1", (Pause(GONE_S), *whole(model="another")))
    async with rig.at_work() as group:
        first = group.create_task(timed(rig, "mixed"))
        await settle()
        others = [group.create_task(timed(rig, "mixed")) for _ in range(3)]
    assert story(first.result()[0]) == "local/mac-1:wrong_model, alpha:ok"
    for call in others:
        result, took_s = call.result()
        assert story(result) == "local/mac-1:down, alpha:ok"
        assert took_s == pytest.approx(GONE_S, abs=0.01)


async def test_who_may_run_on_nodes_alone_waits_on_for_a_machine_that_has_to_load() -> None:
    rig = await rig_with(LONE)
    other, lease = await held(rig)
    async with rig.at_work() as group:
        call = group.create_task(timed(rig, "homely"))
        await after(GONE_S)
        its_model_is_evicted(rig)
        await after(GONE_S)
        assert not call.done()
        other.release(lease)
    assert story(call.result()[0]) == "local/mac-1:ok"


async def test_a_model_that_is_gone_leaves_its_nodes_to_who_waits() -> None:
    rig = await rig_with(LONE)
    other, lease = await held(rig)
    async with rig.at_work() as group:
        call = group.create_task(timed(rig, "homely"))
        await after(GONE_S)
        turned = tuple(replace(model, selection=Selection.ROUND_ROBIN) for model in LONE.models)
        rig.machines.fleet.sync(snapshot(replace(LONE, models=turned), 2))
        await after(GONE_S)
        assert not call.done()
        other.release(lease)
    assert story(call.result()[0]) == "local/mac-1:ok"


async def test_the_word_is_about_nodes_that_the_call_may_use() -> None:
    far = replace(machine("mac-2"), region="us")
    near = replace(machine("mac-1"), region="fr")
    base = machines(near, far, queue_timeout_ms=PATIENT_MS)
    bound = ModelSpec("bound", (TargetSpec("local", NODE_MODEL),), allowed_regions=("fr",))
    rig = await rig_with(replace(base, models=(*base.models, bound)))
    falls_ill(rig)
    async with rig.at_work():
        assert story((await timed(rig, "bound"))[0]) == "local:down"


async def test_where_no_node_may_be_used_the_call_fits_none() -> None:
    rig = await rig_with(machines(machine("mac-1"), queue_timeout_ms=PATIENT_MS))
    seat_of(rig.machines.fleet, "mac-1").show(100)
    rig.machines.fleet.rank()
    async with rig.at_work():
        assert story((await timed(rig, "homely", max_tokens=500))[0]) == "local/mac-1:unfit"


async def blind(catalogue: Catalogue = LONE) -> Rig:
    """Make a rig whose one slot is taken, and whose store then goes away."""
    rig = await rig_with(catalogue)
    await held(rig)
    await rig.sweeper.look()
    rig.fleet_store.away = "timeout"
    await rig.sweeper.look()
    return rig


async def test_nobody_waits_by_counts_that_may_be_wrong() -> None:
    rig = await blind()
    mixed, mixed_s = await timed(rig, "mixed")
    homely, homely_s = await timed(rig, "homely")
    assert (story(mixed), mixed_s) == ("local:unknown, alpha:ok", 0)
    assert (cause(homely).code, story(homely), homely_s) == (ErrorCode.NODE_STATE_UNKNOWN, "local:unknown", 0)


async def test_who_waits_when_the_store_goes_away_goes_on_at_once() -> None:
    rig = await rig_with(LONE)
    await held(rig)
    async with rig.at_work() as group:
        calls = [group.create_task(timed(rig, model)) for model in ("mixed", "homely", "mixed")]
        await after(GONE_S)
        rig.fleet_store.away = "timeout"
    for call in calls:
        result, took_s = call.result()
        assert story(result).startswith("local:unknown")
        assert took_s < SOON_S


async def test_a_hiccup_of_the_store_sends_nobody_out_of_the_queue() -> None:
    rig = await rig_with(LONE)
    other, lease = await held(rig)
    async with rig.at_work() as group:
        call = group.create_task(timed(rig, "mixed"))
        await after(GONE_S)
        rig.machines.fleet.known = False
        rig.machines.queues.pump_all()
        await after(GONE_S)
        assert not call.done()
        assert rig.machines.fleet.known
        other.release(lease)
    assert story(call.result()[0]) == "local/mac-1:ok"


async def test_a_store_that_is_back_is_asked_at_once() -> None:
    rig = await blind()
    rig.fleet_store.away = None
    async with rig.at_work() as group:
        calls = [group.create_task(timed(rig, "mixed")) for _ in range(2)]
        await settle()
        assert rig.machines.queues.waiting == 2
        for call in calls:
            call.cancel()


async def test_what_is_known_not_to_be_able_is_told_without_the_store() -> None:
    rig = await blind()
    falls_ill(rig)
    assert story((await timed(rig, "mixed"))[0]) == "local/mac-1:down, alpha:ok"


async def test_a_question_about_counts_takes_no_slot() -> None:
    rig = await rig_with(PAIR)
    await held(rig)
    rig.machines.fleet.known = False
    rig.says("mac-2", (Pause(GONE_S), *whole()))
    async with asyncio.TaskGroup() as group:
        call = group.create_task(timed(rig, "homely"))
        await settle()
        assert (rig.fleet_store.busy(ONE), rig.fleet_store.busy(TWO)) == (1, 1)
    assert story(call.result()[0]) == "local/mac-2:ok"
    assert rig.fleet_store.take((SlotWish(TWO, 0),), rig.identities.lease()).lease is None
