"""What a call may use is reserved beside the slot it takes; both stores answer after one round trip here."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.domain.access.limits import Limits
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue, ClientKeySpec
from ktms.domain.errors import ErrorCode
from ktms.domain.ids import LeaseId, NodeName
from ktms.engine.call import Failed, Result, Whole
from ktms.engine.settings import EngineSettings
from ktms.ports.lease_store import Grant, LeaseStoreAway, SlotWish
from ktms.ports.quota_store import Answer, QuotaStoreAway, Wish
from tests.engine.rig import CATALOGUE, KEY, Rig, key_id, refusal, whole
from tests.engine.virtual_loop import after, settle

TRIP_S = 0.05
HUNG_S = 0.1


class FarQuotas(MemoryQuotaStore):
    """Answers after a round trip; while `hung`, after a timeout, that it did not."""

    hung = False
    trip_s = TRIP_S

    async def reserve(self, wish: Wish) -> Answer:
        if self.hung:
            await after(HUNG_S)
            raise QuotaStoreAway("timeout")
        await after(self.trip_s)
        return await super().reserve(wish)


class FarLeases(MemoryLeaseStore):
    """The same of slots; `asked` counts the questions."""

    hung = False
    asked = 0

    async def take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Grant:
        self.asked += 1
        if self.hung:
            await after(HUNG_S)
            raise LeaseStoreAway("timeout")
        await after(TRIP_S)
        return await super().take(wishes, lease_id)


def limited(limits: Limits) -> Catalogue:
    return replace(CATALOGUE, client_keys=(ClientKeySpec("app", "default", limits=limits, secret=Secret(KEY)),))


async def far_rig(limits: Limits) -> tuple[Rig, FarQuotas, FarLeases]:
    quotas, leases = FarQuotas(), FarLeases()
    rig = Rig(EngineSettings(), limited(limits), quotas=quotas, slots=leases)
    await rig.start()
    for target in ("mac-1", "mac-2", "alpha"):
        rig.says(target, whole())
    return rig, quotas, leases


@pytest.fixture
async def one_a_minute() -> AsyncIterator[tuple[Rig, FarLeases]]:
    rig, _, leases = await far_rig(Limits(rpm=1))
    yield rig, leases
    assert rig.busy == 0, "a slot was kept"
    assert rig.quotas.quotas.counters(f"key:{key_id()}").running == 0, "a reservation was kept"


async def took_s(rig: Rig, model: str = "homely") -> tuple[Result, float]:
    began_at = asyncio.get_running_loop().time()
    result = await rig.handle(rig.call(model))
    return result, round(asyncio.get_running_loop().time() - began_at, 6)


def code(result: Result) -> str:
    assert isinstance(result, Failed), result
    return result.problem.code


async def test_reserving_and_a_slot_take_one_round_trip_together(one_a_minute: tuple[Rig, FarLeases]) -> None:
    rig, _ = one_a_minute
    result, seconds = await took_s(rig)
    assert isinstance(result, Whole)
    assert seconds == TRIP_S


async def test_who_is_refused_gives_its_slot_back_and_nobody_is_asked(one_a_minute: tuple[Rig, FarLeases]) -> None:
    rig, leases = one_a_minute
    await rig.handle(rig.call("homely"))
    assert code(await rig.handle(rig.call("homely"))) == ErrorCode.RATE_LIMIT_EXCEEDED
    assert (leases.asked, rig.dialled) == (2, ["mac-1"])
    assert rig.busy == 0


async def test_who_was_refused_last_time_takes_no_slot_before_it_is_admitted(
    one_a_minute: tuple[Rig, FarLeases],
) -> None:
    rig, leases = one_a_minute
    await rig.handle(rig.call("homely"))
    await rig.handle(rig.call("homely"))
    for _ in range(5):
        assert code(await rig.handle(rig.call("homely"))) == ErrorCode.RATE_LIMIT_EXCEEDED
    assert leases.asked == 2
    await after(60)
    assert (await took_s(rig))[1] == 2 * TRIP_S
    await after(60)
    assert (await took_s(rig))[1] == TRIP_S


async def test_who_is_refused_does_not_wait_for_a_slot(one_a_minute: tuple[Rig, FarLeases]) -> None:
    rig, leases = one_a_minute
    await rig.handle(rig.call("homely"))
    wishes = [SlotWish(NodeName("mac-1"), 2), SlotWish(NodeName("mac-2"), 1)]
    others = [(await leases.take(wishes, LeaseId(f"other-{number}"))).lease for number in range(3)]
    result, seconds = await took_s(rig)
    assert (code(result), seconds) == (ErrorCode.RATE_LIMIT_EXCEEDED, TRIP_S)
    for lease in others:
        assert lease is not None
        leases.release(lease)


async def test_who_is_refused_hears_that_rather_than_that_no_node_is_there(
    one_a_minute: tuple[Rig, FarLeases],
) -> None:
    rig, leases = one_a_minute
    await rig.handle(rig.call("homely"))
    leases.hung = True
    assert code(await rig.handle(rig.call("homely"))) == ErrorCode.RATE_LIMIT_EXCEEDED


@pytest.mark.parametrize("seconds", [0.0, TRIP_S / 2, TRIP_S])
async def test_a_client_that_leaves_meanwhile_leaves_nothing_behind(
    one_a_minute: tuple[Rig, FarLeases], seconds: float
) -> None:
    rig, _ = one_a_minute
    async with asyncio.TaskGroup() as group:
        task = group.create_task(rig.handle(rig.call("homely"), MemoryClient()))
        await asyncio.sleep(0)
        await after(seconds)
        task.cancel()
    await settle()
    assert task.cancelled()


async def test_a_client_that_leaves_does_not_wait_for_a_store_that_hangs() -> None:
    rig, quotas, _ = await far_rig(Limits(rpm=5))
    quotas.hung = True
    async with asyncio.TaskGroup() as group:
        task = group.create_task(rig.handle(rig.call("cloudy"), MemoryClient()))
        await after(HUNG_S / 4)
        left_at = asyncio.get_running_loop().time()
        task.cancel()
    assert asyncio.get_running_loop().time() == left_at


async def test_stores_that_hang_cost_a_call_one_timeout() -> None:
    """FR8: of several models in its chain, too."""
    rig, quotas, leases = await far_rig(Limits(rpm=5))
    quotas.hung = leases.hung = True
    result, seconds = await took_s(rig, "mixed")
    assert isinstance(result, Whole)
    assert dict(result.headers)["X-KTMS-Attempts"] == "local:unknown, alpha:ok"
    assert seconds == HUNG_S
    assert code(await rig.handle(rig.call("homely"))) == ErrorCode.NODE_STATE_UNKNOWN


async def test_a_key_that_began_to_rest_meanwhile_is_not_used() -> None:
    """Reserving may take as long as the ledger does, and what is known of a target is looked at after that."""
    rig, quotas, _ = await far_rig(Limits(rpm=5))
    rig.says("alpha", refusal(429, retry_after="20"))
    rig.says("beta", refusal(500))
    quotas.trip_s = 3.0
    async with asyncio.TaskGroup() as group:
        group.create_task(rig.handle(rig.call("cloudy")))
        await after(1.0)
        group.create_task(rig.handle(rig.call("cloudy")))
    shown = [dict(one.request.prologue.headers)["Authorization"] for one in rig.upstream.exchanges]
    of_alpha = [key for key in shown if "alpha" in key]
    assert len(of_alpha) == len(set(of_alpha)) == 2, "the key that rests is not used"


async def test_a_slot_that_waited_too_long_for_its_permit_is_put_back_and_taken_anew() -> None:
    rig, quotas, leases = await far_rig(Limits(rpm=5))
    quotas.trip_s = 3.0
    result, seconds = await took_s(rig)
    assert isinstance(result, Whole)
    assert (leases.asked, len(rig.dialled), rig.busy) == (2, 1, 0)
    assert seconds == 3.0 + TRIP_S


async def test_a_mistake_of_ours_while_reserving_is_told_and_keeps_nothing() -> None:
    class Broken(FarQuotas):
        async def reserve(self, wish: Wish) -> Answer:
            await after(TRIP_S / 2)
            raise ValueError(wish.id)

    rig = Rig(EngineSettings(), limited(Limits(rpm=5)), quotas=Broken(), slots=FarLeases())
    await rig.start()
    assert code(await rig.handle(rig.call("homely"))) == ErrorCode.INTERNAL_ERROR
    assert rig.busy == 0
