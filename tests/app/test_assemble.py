import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from ktms.adapters.memory.ledger import MemoryLedger
from ktms.adapters.memory.upstream import Head, Silence, Wait
from ktms.app.gateway import GatewaySettings
from ktms.domain.access.usage_event import UsageEvent
from ktms.engine.settings import EngineSettings
from ktms.ports.upstream import UpstreamFailed
from tests.api.house import House, chat
from tests.api.wire_client import connected
from tests.engine.rig import CATALOGUE, EVENTS, stream, whole
from tests.world.events import DONE, C

QUICK = GatewaySettings(drain_delay_s=0, shutdown_s=0.1, flush_s=0.1)


class HungLedger(MemoryLedger):
    """A ledger whose events nobody takes."""

    async def send(self, events: Sequence[UsageEvent]) -> None:  # noqa: ARG002 - it looks at none
        await asyncio.Event().wait()


async def started(settings: GatewaySettings = QUICK, ledger: MemoryLedger | None = None) -> House:
    house = House(settings, CATALOGUE, book=ledger or MemoryLedger())
    await house.start()
    return house


@pytest.fixture
async def house() -> AsyncIterator[House]:
    made = await started()
    yield made
    await made.gateway.stop()


async def dialled(house: House) -> None:
    async with asyncio.timeout(10):
        while not house.upstream.exchanges:  # noqa: ASYNC110 - nobody tells when
            await asyncio.sleep(0)


async def test_nothing_runs_before_the_start() -> None:
    before = len(asyncio.all_tasks())
    House(QUICK, CATALOGUE)
    assert len(asyncio.all_tasks()) == before


async def test_a_start_loads_what_is_stored(house: House) -> None:
    assert house.gateway.readiness().version == 1


async def test_a_start_without_a_database_listens_and_is_not_ready() -> None:
    house = House(QUICK, CATALOGUE)
    house.store.away = True
    house.port = await house.gateway.start("127.0.0.1", 0)
    assert (await house.get("/healthz", key=None)).status == 200
    assert (house.gateway.readiness().status, house.gateway.readiness().version) == ("unready", 0)
    answer = await house.chat()
    assert (answer.status, answer.code) == (503, "auth_unavailable")
    await house.gateway.stop()


async def test_a_gateway_keeps_itself_fresh_while_it_runs(house: House) -> None:
    async with asyncio.TaskGroup() as group, asyncio.timeout(10):
        running = group.create_task(house.gateway.run())
        house.store.version += 1
        while house.gateway.readiness().version != 2:  # noqa: ASYNC110 - nobody tells when
            await asyncio.sleep(0)
        running.cancel()


async def test_a_drain_lets_a_running_stream_end(house: House) -> None:
    gate = asyncio.Event()
    house.says("alpha", (Wait(gate), *stream("a")))
    async with asyncio.TaskGroup() as group:
        call = group.create_task(house.chat(stream=True))
        await dialled(house)
        draining = group.create_task(house.gateway.drain())
        await asyncio.sleep(0)
        gate.set()
        await draining
    assert call.result().body.endswith(DONE)


async def test_a_drain_takes_no_connection_after_its_delay() -> None:
    house = await started(GatewaySettings(drain_delay_s=0, shutdown_s=10))
    house.says("alpha", (Silence(),))
    async with asyncio.TaskGroup() as group, connected(house.port) as running:
        await running.send(chat())
        await dialled(house)
        draining = group.create_task(house.gateway.drain())
        async with asyncio.timeout(10):
            while house.gateway._drain.takes_calls:  # noqa: ASYNC110 - nobody tells when
                await asyncio.sleep(0)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", house.port)
        assert not draining.done()
        draining.cancel()
    await house.gateway.stop()


async def test_clients_are_asked_to_go_while_the_balancer_still_sends_them() -> None:
    house = await started(GatewaySettings(drain_delay_s=30))
    house.says("alpha", whole())
    async with asyncio.TaskGroup() as group, connected(house.port) as wire:
        draining = group.create_task(house.gateway.drain())
        await asyncio.sleep(0)
        await wire.send(chat())
        answer = await wire.answer()
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert await wire.ended()
        assert (await house.chat()).status == 200
        draining.cancel()
    await house.gateway.stop()


async def test_a_drain_that_takes_too_long_is_told_and_then_cut(house: House) -> None:
    house.says("alpha", (Head(200, EVENTS), C("a"), Silence()))
    async with asyncio.TaskGroup() as group:
        call = group.create_task(house.chat(stream=True))
        await dialled(house)
        await house.gateway.drain()
        assert not call.done()
        await house.gateway.stop()
    assert b'"draining"' in call.result().body
    assert DONE not in call.result().body
    (event,) = [event for event in house.telemetry.events if event.name == "drain_timed_out"]
    assert event.facts["calls"] == 1


async def test_a_stop_leaves_no_call_and_books_all(house: House) -> None:
    house.says("alpha", (Silence(),))
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(house.chat()) for _ in range(5)]
        async with asyncio.timeout(10):
            while len(house.upstream.exchanges) < 5:  # noqa: ASYNC110 - nobody tells when
                await asyncio.sleep(0)
        await house.gateway.stop()
    assert {call.result().status for call in calls} == {503}
    assert (len(house.telemetry.calls), len(house.book.events)) == (5, 5)
    assert house.telemetry.in_flight == 0
    assert house.upstream.open_total == 0
    with pytest.raises(UpstreamFailed):
        await house.upstream.send(house.upstream.exchanges[0].request)


async def test_a_ledger_that_hangs_does_not_hold_up_the_end() -> None:
    house = await started(ledger=HungLedger())
    house.says("alpha", whole())
    await house.chat()
    async with asyncio.timeout(5):
        await house.gateway.stop()
    assert [event.name for event in house.telemetry.events] == ["ledger_not_flushed"]


async def test_stopping_twice_is_harmless(house: House) -> None:
    await house.gateway.stop()
    await house.gateway.stop()


async def test_settings_reach_their_parts() -> None:
    house = await started(GatewaySettings(engine=EngineSettings(inflight_max=1), drain_delay_s=0, shutdown_s=0.1))
    house.says("alpha", (Silence(),))
    async with connected(house.port) as running:
        await running.send(chat())
        await dialled(house)
        answer = await house.chat()
    assert (answer.status, answer.code) == (503, "overloaded")
    await house.gateway.stop()


async def test_a_gateway_serves_again_after_every_kind_of_answer(house: House) -> None:
    house.says("alpha", whole(), stream("a"), whole())
    statuses = [(await house.chat(stream=streamed)).status for streamed in (False, True, False)]
    assert statuses == [200, 200, 200]
