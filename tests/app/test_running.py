import asyncio
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from ktms.adapters.memory.change_feed import MemoryChangeFeed
from ktms.adapters.memory.upstream import Silence, Wait
from ktms.app.assemble import assemble
from ktms.app.failed import StartFailed
from ktms.app.gateway import GatewaySettings
from ktms.app.running import Stops, run_until_stopped, stop_signals
from ktms.ports.change_feed import News
from ktms.ports.telemetry import Count
from tests.api.house import House, chat
from tests.api.wire_client import Answer, connected
from tests.engine.rig import CATALOGUE, whole

QUICK = GatewaySettings(drain_delay_s=0, shutdown_s=5)


@pytest.fixture
async def house() -> AsyncIterator[House]:
    made = House(QUICK, CATALOGUE)
    await made.start()
    yield made
    await made.gateway.stop()


async def runs_for_ever() -> None:
    await asyncio.Event().wait()


async def dialled(house: House) -> None:
    """Wait until a target is being asked."""
    async with asyncio.timeout(10):
        while not house.upstream.exchanges:  # noqa: ASYNC110 - nobody tells when
            await asyncio.sleep(0)


async def until_closed(house: House) -> None:
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", house.port)


async def test_a_gateway_runs_until_it_is_asked_to_stop(house: House) -> None:
    house.says("alpha", whole())
    stops = Stops()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run_until_stopped(house.gateway, stops, (house.gateway.run, runs_for_ever)))
        assert (await house.chat()).status == 200
        assert not running.done()
        stops.asked()
    await until_closed(house)


async def test_the_first_signal_lets_running_calls_end(house: House) -> None:
    gate = asyncio.Event()
    house.says("alpha", (Wait(gate), *whole()))
    stops = Stops()
    async with asyncio.TaskGroup() as group:
        group.create_task(run_until_stopped(house.gateway, stops, ()))
        call = group.create_task(house.chat())
        await dialled(house)
        stops.asked()
        await asyncio.sleep(0)
        gate.set()
    assert call.result().status == 200


async def test_the_second_signal_ends_them_at_once(house: House) -> None:
    house.says("alpha", (Silence(),))
    stops = Stops()
    began_at = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as group:
        group.create_task(run_until_stopped(house.gateway, stops, ()))
        call = group.create_task(house.chat())
        await dialled(house)
        stops.asked()
        stops.asked()
    answer: Answer = call.result()
    assert (answer.status, answer.code) == (503, "draining")
    assert asyncio.get_running_loop().time() - began_at < 3


async def test_works_end_with_the_gateway(house: House) -> None:
    stops, ended = Stops(), []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async with asyncio.TaskGroup() as group:
        group.create_task(run_until_stopped(house.gateway, stops, (work, work)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        stops.asked()
    assert ended == [True, True]


async def test_a_work_that_ends_does_not_end_the_gateway(house: House) -> None:
    house.says("alpha", whole())
    stops = Stops()

    async def short() -> None:
        pass

    async with asyncio.TaskGroup() as group:
        running = group.create_task(run_until_stopped(house.gateway, stops, (short,)))
        assert (await house.chat()).status == 200
        assert not running.done()
        stops.asked()


async def test_a_work_that_refuses_ends_the_gateway_with_its_reason(house: House) -> None:
    async def refuse() -> None:
        raise StartFailed("the database is another's", "use your own")

    with pytest.raises(StartFailed) as refused:
        await run_until_stopped(house.gateway, Stops(), (runs_for_ever, refuse))
    assert refused.value.lines == ("the database is another's", "use your own")
    await until_closed(house)


async def test_a_refusal_from_within_a_group_is_told_as_itself(house: House) -> None:
    async def refuse() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(_refuse())

    with pytest.raises(StartFailed, match="no"):
        await run_until_stopped(house.gateway, Stops(), (refuse,))


async def _refuse() -> None:
    raise StartFailed("no")


class BrokenFeed(MemoryChangeFeed):
    """Fails as nobody foresaw when it is first listened to."""

    failed = False

    async def listen(self) -> AsyncIterator[News]:
        if not self.failed:
            self.failed = True
            raise ZeroDivisionError
        async for news in super().listen():
            yield news


async def test_a_mistake_in_what_runs_beside_the_calls_ends_neither_them_nor_the_others() -> None:
    house, stops = House(QUICK, CATALOGUE), Stops()
    ports = replace(house.ports, changes=BrokenFeed(house.store))
    house.gateway = assemble(ports, None, QUICK)
    house.says("alpha", whole())
    await house.start()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run_until_stopped(house.gateway, stops, (house.gateway.run,)))
        async with asyncio.timeout(10):
            while not house.telemetry.counts[Count.LOOPS_FAILED]:  # noqa: ASYNC110 - nobody tells when
                await asyncio.sleep(0)
        assert (await house.chat()).status == 200
        assert not running.done()
        stops.asked()
    (told,) = [event for event in house.telemetry.events if event.name == "internal_error"]
    assert (told.facts["loop"], told.facts["kind"]) == ("listen", "ZeroDivisionError")


async def test_our_own_mistake_ends_the_gateway_and_is_not_hidden(house: House) -> None:
    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as told:
        await run_until_stopped(house.gateway, Stops(), (broken, runs_for_ever))
    assert told.group_contains(ZeroDivisionError)
    await until_closed(house)


async def test_a_signal_before_the_run_ends_it_at_its_beginning(house: House) -> None:
    stops = Stops()
    stops.asked()
    async with asyncio.timeout(5):
        await run_until_stopped(house.gateway, stops, (runs_for_ever,))


async def test_a_stop_in_the_drain_delay_is_a_stop() -> None:
    house = House(GatewaySettings(drain_delay_s=600), CATALOGUE)
    await house.start()
    stops = Stops()
    async with asyncio.TaskGroup() as group, asyncio.timeout(5):
        running = group.create_task(run_until_stopped(house.gateway, stops, ()))
        stops.asked()
        for _ in range(10):
            await asyncio.sleep(0)
        assert (await house.get("/readyz", key=None)).json["status"] == "draining"
        assert not running.done()
        stops.asked()
        await running


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signals_of_the_system_are_counted_inside_the_block(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stop_signals() as stops:
        os.kill(os.getpid(), number)
        async with asyncio.timeout(5):
            await stops.drain.wait()
        assert not stops.at_once.is_set()
        os.kill(os.getpid(), number)
        async with asyncio.timeout(5):
            await stops.at_once.wait()
    assert signal.getsignal(number) in {before, signal.default_int_handler, signal.SIG_DFL}


async def test_a_kept_connection_is_let_go_in_the_drain(house: House) -> None:
    house.says("alpha", whole())
    stops = Stops()
    async with asyncio.TaskGroup() as group, connected(house.port) as wire:
        group.create_task(run_until_stopped(house.gateway, stops, ()))
        await wire.send(chat())
        assert "connection" not in (await wire.answer()).headers
        stops.asked()
        assert await wire.ended()
