import asyncio
from dataclasses import replace

import pytest

from ktms.adapters.memory.clock import LoopClock
from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.key_admin import MemoryKeyAdmin
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.domain.access.client_key import ClientKey
from ktms.domain.access.key_form import KeyKind, make_key
from ktms.domain.catalogue import ClientKeySpec
from ktms.domain.errors import CallFailed, ErrorCode
from ktms.domain.saved_snapshot import AgedKey
from ktms.engine.admit import Admission
from ktms.engine.settings import EngineSettings
from ktms.ports.telemetry import Dependency, Gauge
from tests.engine.doubles import WatchedKeys
from tests.engine.rig import CATALOGUE, KEY, TEST, key_id
from tests.engine.virtual_loop import after, settle

SETTINGS = EngineSettings()
UNKNOWN = make_key(KeyKind.CLIENT, lambda count: bytes([7] * count))


class Gatehouse:
    """An admission before a store with one key, and everything it says."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.keys = WatchedKeys(self.store)
        self.telemetry = MemoryTelemetry()
        self.clock = LoopClock()
        self.admission = Admission(self.keys, self.clock, self.telemetry, SETTINGS)
        self.admin = MemoryKeyAdmin(self.store, SeededEntropy("admin"))

    async def admit(self, token: str = KEY) -> ClientKey:
        return await self.admission.admit(token)

    async def refusal(self, token: str = KEY) -> str:
        with pytest.raises(CallFailed) as refused:
            await self.admit(token)
        return refused.value.problem.code

    async def revoke(self) -> None:
        assert await self.admin.revoke(key_id(), actor=TEST)


@pytest.fixture
async def house() -> Gatehouse:
    house = Gatehouse()
    config = MemoryConfigStore(house.store, SeededEntropy("config"))
    await config.apply(CATALOGUE, actor=TEST, prune=False, dry_run=False)
    return house


async def test_a_stored_key_is_admitted(house: Gatehouse) -> None:
    assert (await house.admit()).name == "app"


@pytest.mark.parametrize(
    "token",
    [
        "",
        "Bearer",
        "ktms_sk_short",
        KEY[:-1] + ("0" if KEY[-1] != "0" else "1"),
        KEY + "x",
        KEY.replace("ktms_sk", "ktms_adm"),
        make_key(KeyKind.ADMIN, lambda count: bytes(range(count))),
        make_key(KeyKind.NODE, lambda count: bytes(range(count))),
        "' or 1=1 --",
        "k" * 10_000,
        "ключ",
    ],
)
async def test_what_is_no_client_key_is_refused_without_a_question(house: Gatehouse, token: str) -> None:
    assert await house.refusal(token) == ErrorCode.INVALID_API_KEY
    assert house.keys.asked == []


async def test_every_bad_key_is_refused_in_the_same_words(house: Gatehouse) -> None:
    problems = []
    await house.admin.create(ClientKeySpec("old", "default", expires_at=1.0), actor=TEST)
    expired = house.store.keys[-1]
    assert expired.spec.expires_at is not None
    for token in ("", KEY[:-1], UNKNOWN):
        with pytest.raises(CallFailed) as refused:
            await house.admit(token)
        problems.append(refused.value.problem)
    await house.revoke()
    with pytest.raises(CallFailed) as refused:
        await house.admit()
    problems.append(refused.value.problem)
    assert len(set(problems)) == 1


async def test_an_expired_key_is_refused_by_the_wall_clock(house: Gatehouse) -> None:
    key, token = await house.admin.create(
        ClientKeySpec("brief", "default", expires_at=house.clock.wall() + 60), actor=TEST
    )
    assert (await house.admit(token)).id == key.id
    house.clock.jump_wall(61)
    assert await house.refusal(token) == ErrorCode.INVALID_API_KEY


async def test_a_key_with_the_id_of_another_is_judged_alone(house: Gatehouse) -> None:
    await house.admit()
    twin = replace(house.store.keys[0], digest=bytes(32))
    house.store.keys[0] = twin
    house.admission.forget(key_id())
    assert await house.refusal() == ErrorCode.INVALID_API_KEY


async def test_a_key_seen_just_now_is_admitted_without_a_question(house: Gatehouse) -> None:
    await house.admit()
    await after(9.9)
    await house.admit()
    assert len(house.keys.asked) == 1


async def test_a_key_seen_a_while_ago_is_asked_for_again(house: Gatehouse) -> None:
    await house.admit()
    await after(10.1)
    await house.admit()
    assert len(house.keys.asked) == 2


async def test_calls_that_wait_for_one_key_share_one_question(house: Gatehouse) -> None:
    house.keys.door.clear()
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(house.admit()) for _ in range(50)]
        await settle()
        assert not any(call.done() for call in calls)
        house.keys.door.set()
    assert {call.result().name for call in calls} == {"app"}
    assert len(house.keys.asked) == 1


async def test_calls_with_different_keys_do_not_wait_for_one_another(house: Gatehouse) -> None:
    _, other = await house.admin.create(ClientKeySpec("other", "default"), actor=TEST)
    house.keys.door.clear()
    async with asyncio.TaskGroup() as group:
        for token in (KEY, other):
            group.create_task(house.admit(token))
        await settle()
        assert len(house.keys.asked) == 2
        house.keys.door.set()


async def test_a_question_whose_caller_left_is_taken_over_by_the_next(house: Gatehouse) -> None:
    house.keys.door.clear()
    async with asyncio.TaskGroup() as group:
        first, *others = [group.create_task(house.admit()) for _ in range(50)]
        await settle()
        first.cancel()
        await settle()
        assert len(house.keys.asked) == 2
        house.keys.door.set()
    assert first.cancelled()
    assert {call.result().name for call in others} == {"app"}


async def test_nothing_is_pending_after_the_last_caller_left(house: Gatehouse) -> None:
    house.keys.door.clear()
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(house.admit()) for _ in range(3)]
        await settle()
        for call in calls:
            call.cancel()
    house.keys.door.set()
    assert (await house.admit()).name == "app"


async def test_a_notice_between_the_answer_and_those_who_wait_for_it_refuses_nobody(house: Gatehouse) -> None:
    house.keys.door.clear()
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(house.admit()) for _ in range(3)]
        await settle()
        house.keys.door.set()
        while not calls[0].done():
            house.admission.forget(key_id())
            await asyncio.sleep(0)
            house.admission.forget(key_id())
    assert {call.result().name for call in calls} == {"app"}


async def test_a_known_key_passes_while_the_store_is_away(house: Gatehouse) -> None:
    await house.admit()
    house.store.away = True
    await after(299)
    assert (await house.admit()).name == "app"


async def test_a_store_that_hangs_costs_calls_of_known_keys_one_wait_in_all(house: Gatehouse) -> None:
    await house.admit()
    house.keys.door.clear()
    await after(11)
    began_at = house.clock.monotonic()
    await house.admit()
    assert house.clock.monotonic() - began_at == 3, "the one that found out"
    await house.admit()
    assert house.clock.monotonic() - began_at == 3, "all others"


async def test_a_known_key_is_unavailable_after_its_window_never_invalid(house: Gatehouse) -> None:
    await house.admit()
    house.store.away = True
    await after(301)
    assert await house.refusal() == ErrorCode.AUTH_UNAVAILABLE


async def test_an_unknown_key_is_unavailable_while_the_store_is_away_and_may_come_back(house: Gatehouse) -> None:
    house.store.away = True
    with pytest.raises(CallFailed) as refused:
        await house.admit()
    assert refused.value.problem.code == ErrorCode.AUTH_UNAVAILABLE
    assert refused.value.problem.retry_after_s
    house.store.away = False
    assert (await house.admit()).name == "app"


async def test_a_key_forgotten_while_the_store_is_away_is_unavailable(house: Gatehouse) -> None:
    await house.admit()
    await after(11)
    house.keys.door.clear()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(house.refusal())
        await settle()
        house.admission.forget(key_id())
    assert waiting.result() == ErrorCode.AUTH_UNAVAILABLE


async def test_a_store_that_hangs_costs_a_bounded_time(house: Gatehouse) -> None:
    house.keys.door.clear()
    began_at = house.clock.monotonic()
    assert await house.refusal() == ErrorCode.AUTH_UNAVAILABLE
    assert house.clock.monotonic() - began_at == pytest.approx(SETTINGS.lookup_s)
    assert house.telemetry.failures == [(Dependency.POSTGRES, "find_keys", "timeout")]


async def test_all_who_wait_for_a_store_that_hangs_wait_once(house: Gatehouse) -> None:
    house.keys.door.clear()
    began_at = house.clock.monotonic()
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(house.refusal()) for _ in range(20)]
    assert {call.result() for call in calls} == {ErrorCode.AUTH_UNAVAILABLE}
    assert house.clock.monotonic() - began_at == pytest.approx(SETTINGS.lookup_s)
    assert len(house.keys.asked) == 1


async def test_a_key_that_does_not_exist_is_not_asked_for_at_every_call(house: Gatehouse) -> None:
    for _ in range(5):
        assert await house.refusal(UNKNOWN) == ErrorCode.INVALID_API_KEY
    assert len(house.keys.asked) == 1


async def test_a_key_made_a_moment_after_it_was_asked_for_works_soon(house: Gatehouse) -> None:
    removed = house.store.keys.pop()
    assert await house.refusal() == ErrorCode.INVALID_API_KEY
    house.store.keys.append(removed)
    await after(2.1)
    assert (await house.admit()).name == "app"


async def test_a_revoked_key_is_refused_after_the_next_round_without_any_notice(house: Gatehouse) -> None:
    await house.admit()
    await house.revoke()
    await house.admission.reverify()
    assert await house.refusal() == ErrorCode.INVALID_API_KEY


async def test_a_revoked_key_stays_refused_while_the_store_is_away(house: Gatehouse) -> None:
    await house.admit()
    await house.revoke()
    await house.admission.reverify()
    house.store.away = True
    await after(60)
    assert await house.refusal() == ErrorCode.INVALID_API_KEY


async def test_a_round_asks_for_all_keys_in_use_at_once(house: Gatehouse) -> None:
    _, other = await house.admin.create(ClientKeySpec("other", "default"), actor=TEST)
    await house.admit()
    await house.admit(other)
    await house.admission.reverify()
    assert len(house.keys.asked[-1]) == 2


async def test_rounds_keep_a_key_fresh(house: Gatehouse) -> None:
    await house.admit()
    for _ in range(10):
        await after(5)
        await house.admission.reverify()
    await house.admit()
    assert len(house.keys.asked) == 11


async def test_an_answer_is_as_old_as_its_question(house: Gatehouse) -> None:
    await house.admit()
    house.keys.door.clear()
    async with asyncio.TaskGroup() as group:
        group.create_task(house.admission.reverify())
        await after(2)
        house.keys.door.set()
    await after(8.5)
    await house.admit()
    assert len(house.keys.asked) == 3


async def test_a_forgotten_key_is_asked_for_again(house: Gatehouse) -> None:
    await house.admit()
    house.admission.forget(key_id())
    await house.admit()
    assert len(house.keys.asked) == 2


async def test_the_window_opens_with_an_answer_and_closes_some_time_after_the_last(house: Gatehouse) -> None:
    assert not house.admission.window_open()
    await house.admission.reverify()
    assert house.admission.window_open()
    house.store.away = True
    await after(299)
    await house.admission.reverify()
    assert house.admission.window_open()
    await after(2)
    assert not house.admission.window_open()


async def test_whether_the_store_answers_is_known_and_told(house: Gatehouse) -> None:
    up = (Gauge.DEPENDENCY_UP, "postgres")
    assert not house.admission.store_answers
    await house.admission.reverify()
    assert (house.admission.store_answers, house.telemetry.gauges[up]) == (True, 1)
    house.store.away = True
    await house.admission.reverify()
    assert (house.admission.store_answers, house.telemetry.gauges[up]) == (False, 0)
    assert house.telemetry.failures == [(Dependency.POSTGRES, "find_keys", "away")]


async def test_a_slow_answer_about_one_key_is_as_old_as_its_question_too(house: Gatehouse) -> None:
    house.keys.door.clear()
    async with asyncio.TaskGroup() as group:
        group.create_task(house.admit())
        await after(2.5)
        house.keys.door.set()
    await after(8)
    await house.admit()
    assert len(house.keys.asked) == 2


async def test_a_question_taken_over_is_bounded_by_when_its_caller_came(house: Gatehouse) -> None:
    house.keys.door.clear()
    began_at = house.clock.monotonic()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(house.admit())
        second = group.create_task(house.refusal())
        await after(2)
        first.cancel()
    assert second.result() == ErrorCode.AUTH_UNAVAILABLE
    assert house.clock.monotonic() - began_at == pytest.approx(SETTINGS.lookup_s)


async def test_what_an_earlier_process_verified_counts_as_long_as_it_would_have_there(house: Gatehouse) -> None:
    key = await house.admit()
    later = Gatehouse()
    later.store.away = True
    later.admission.restore((AgedKey(key, 290.0),), 280.0)
    assert (await later.admit()).name == "app"
    assert later.admission.window_open()
    await after(10)
    assert await later.refusal() == ErrorCode.AUTH_UNAVAILABLE
    await after(10)
    assert not later.admission.window_open()


async def test_what_an_earlier_process_verified_is_asked_for_with_the_keys_in_use(house: Gatehouse) -> None:
    key = await house.admit()
    house.admission.restore((AgedKey(key, 60.0),), 60.0)
    house.keys.asked.clear()
    await house.admission.reverify()
    assert house.keys.asked == [(key_id(),)]
