"""More connections than there are files for: the idle make room, calls are refused, probes answer (FG6, FG8)."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from ktms.adapters.memory.upstream import Silence
from ktms.api.crowd import EXTRA_MAX, Crowd
from ktms.api.listener import ListenerSettings
from ktms.app.gateway import GatewaySettings
from ktms.ports.telemetry import Count
from tests.api.house import House, chat, house_of
from tests.api.wire_client import PATIENCE_S, Wire, connected
from tests.engine.rig import whole

MOST = 3
FEW = GatewaySettings(listener=ListenerSettings(connections_max=MOST))


@pytest.mark.parametrize(
    ("count", "reached", "refuses", "full"),
    [
        (MOST - 1, False, False, False),
        (MOST, True, False, False),
        (MOST + 1, True, True, False),
        (MOST + EXTRA_MAX, True, True, True),
    ],
)
def test_each_bound_begins_where_it_says(count: int, reached: bool, refuses: bool, full: bool) -> None:
    crowd = Crowd(MOST, open=count, busy=count)
    assert (crowd.reached, crowd.refuses_calls, crowd.full) == (reached, refuses, full)


async def busy(opened: AsyncExitStack, house: House, count: int) -> list[Wire]:
    """Open connections whose calls are never answered."""
    house.says("alpha", (Silence(),))
    wires = [await opened.enter_async_context(connected(house.port)) for _ in range(count)]
    for wire in wires:
        await wire.send(chat())
    await until_in_flight(house, count)
    return wires


async def until_in_flight(house: House, count: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while house.telemetry.in_flight != count:  # noqa: ASYNC110 - telemetry tells nobody
            await asyncio.sleep(0)


async def test_the_connection_idle_longest_makes_room_for_a_new_one() -> None:
    async with house_of(FEW) as house, AsyncExitStack() as opened:
        house.says("alpha", whole())
        wires = [await opened.enter_async_context(connected(house.port)) for _ in range(MOST)]
        for wire in wires:
            await wire.send(chat())
            assert (await wire.answer()).status == 200
        newcomer = await opened.enter_async_context(connected(house.port))
        await newcomer.send(chat())
        assert (await newcomer.answer()).status == 200
        assert await wires[0].ended()
        await wires[1].send(chat())
        assert (await wires[1].answer()).status == 200


async def test_who_has_just_come_and_is_about_to_ask_makes_no_room() -> None:
    async with house_of(FEW) as house, AsyncExitStack() as opened:
        await busy(opened, house, MOST - 1)
        first = await opened.enter_async_context(connected(house.port))
        await opened.enter_async_context(connected(house.port))
        house.says("alpha", whole())
        await first.send(chat())
        assert (await first.answer()).status == 200


async def test_where_nobody_is_idle_a_call_is_refused_and_told_when_to_come_back() -> None:
    async with house_of(FEW) as house, AsyncExitStack() as opened:
        await busy(opened, house, MOST)
        answer = await house.chat()
        assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "overloaded", "1")
        assert answer.headers["connection"] == "close"
        assert house.telemetry.labelled[Count.CALLS_SHED, "connections"] == 1


@pytest.mark.parametrize("target", ["/v1/models", "/v1/files"])
async def test_other_routes_of_clients_are_refused_as_well(target: str) -> None:
    async with house_of(FEW) as house, AsyncExitStack() as opened:
        await busy(opened, house, MOST)
        assert (await house.get(target)).code == "overloaded"


@pytest.mark.parametrize("target", ["/healthz", "/readyz", "/metrics"])
async def test_probes_are_answered_in_any_crowd(target: str) -> None:
    async with house_of(FEW) as house, AsyncExitStack() as opened:
        await busy(opened, house, MOST)
        assert (await house.get(target, key=None)).status == 200


async def test_calls_are_answered_again_once_there_is_room() -> None:
    async with house_of(FEW) as house, AsyncExitStack() as opened:
        wires = await busy(opened, house, MOST)
        assert (await house.chat()).code == "overloaded"
        wires[0].leave()
        await until_in_flight(house, MOST - 1)
        house.says("alpha", whole())
        assert (await house.chat()).status == 200


async def test_beyond_all_bounds_a_connection_is_closed_as_it_comes() -> None:
    async with house_of(FEW) as house, AsyncExitStack() as opened:
        await busy(opened, house, MOST)
        crowd = house.gateway._listener._crowd
        crowd.open += EXTRA_MAX
        late = await opened.enter_async_context(connected(house.port))
        assert await late.ended()
        crowd.open -= EXTRA_MAX
        assert (await house.get("/healthz", key=None)).status == 200
