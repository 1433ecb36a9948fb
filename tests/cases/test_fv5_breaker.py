"""FV5, FV6: five failures in a row open the breaker; then 503 at once, and after 30 s one trial, no stampede.

Nodes have no breaker: their health takes them out, and a generated token brings them back.
"""

import asyncio

import pytest

from ktms.domain.capacity.node_health import FAILURES_MAX as NODE_FAILURES_MAX
from ktms.domain.capacity.seat import Health
from ktms.domain.catalogue import TimeoutSpec
from ktms.domain.routing.breaker import FAILURES_MAX, OPEN_S
from ktms.engine.ending import NODE_WAIT_S
from ktms.ports.telemetry import Gauge
from tests.cases.calls import (
    UPSTREAM,
    Kind,
    ask,
    booked,
    call,
    idle,
    one_upstream,
    reply,
    two_vendors,
    works_again,
)
from tests.cases.forms import CHAT, CHAT_STREAM, FORMS, Form
from tests.world.pace import Pace
from tests.world.script import Step, fin, head, hold, raw, rst, status, wait
from tests.world.vendor import TOKEN_PAGE, MockVendor
from tests.world.world import GatewayUnderTest, World

FAULTS: dict[str, tuple[Step, ...]] = {
    "status-500": status(500),
    "status-502": status(502),
    "status-503": status(503),
    "cut": (fin(),),
    "reset": (rst(),),
    "cut-head": (head(), fin()),
    "no-http": (raw(b"hello\r\n"), hold()),
}
NO_FAULTS: dict[str, tuple[Step, ...]] = {
    "status-400": status(400),
    "status-404": status(404),
    "status-408": status(408),
    "status-422": status(422),
    "status-302": status(302),
}


async def opened(
    world: World, fault: tuple[Step, ...] = FAULTS["status-500"], form: Form = CHAT
) -> tuple[MockVendor, GatewayUnderTest]:
    """Start a gateway and let its only target fail until its breaker opens."""
    upstream, gateway = await one_upstream(world)
    for _ in range(FAILURES_MAX):
        upstream.script(*fault)
        assert (await call(world, gateway, form)).status == 502
    return upstream, gateway


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_five_failures_in_a_row_open_it_and_nobody_is_dialled(
    world: World, form: Form, fault: tuple[Step, ...]
) -> None:
    upstream, gateway = await opened(world, fault, form)

    got = await call(world, gateway, form)

    assert got.status == 503
    assert got.error["code"] == "no_target_available"
    assert got.retry_after == f"{OPEN_S:.0f}"
    assert got.attempts == "upstream:open"
    assert len(upstream.requests) == FAILURES_MAX
    assert (await booked(gateway, FAILURES_MAX)).events == ()
    assert gateway.telemetry.gauges[Gauge.BREAKER_STATE, UPSTREAM] == 2


async def test_five_timeouts_in_a_row_open_it(world: World, pace: Pace) -> None:
    timeouts = TimeoutSpec(first_token_s=pace(60, 0.05))
    upstream, gateway = await one_upstream(world, timeouts=timeouts)
    for _ in range(FAILURES_MAX):
        upstream.script(hold())
        assert (await call(world, gateway, CHAT_STREAM, within_s=pace(70, 10))).status == 504

    assert (await call(world, gateway, CHAT_STREAM)).status == 503


async def test_a_refused_connection_counts(world: World) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.stop_listening()
    for _ in range(FAILURES_MAX):
        assert (await call(world, gateway, CHAT)).status == 502

    got = await call(world, gateway, CHAT)

    assert (got.status, got.retry_after) == (503, "30")


@pytest.mark.parametrize("fault", NO_FAULTS.values(), ids=NO_FAULTS)
async def test_what_is_not_the_origins_fault_never_opens_it(world: World, fault: tuple[Step, ...]) -> None:
    upstream, gateway = await one_upstream(world)
    for _ in range(FAILURES_MAX + 2):
        upstream.script(*fault)
        await call(world, gateway, CHAT)

    await works_again(world, gateway, upstream, CHAT)


async def test_an_answer_in_between_begins_the_count_anew(world: World) -> None:
    upstream, gateway = await one_upstream(world)
    for _ in range(3):
        for _ in range(FAILURES_MAX - 1):
            upstream.script(*status(500))
            assert (await call(world, gateway, CHAT)).status == 502
        await works_again(world, gateway, upstream, CHAT)


async def test_an_open_vendor_is_passed_over_for_the_next(world: World) -> None:
    first, second, gateway = await two_vendors(world)
    first.standing(status(500))
    second.standing(CHAT.healthy())
    for _ in range(FAILURES_MAX):
        assert (await call(world, gateway, CHAT)).attempts == "first:500, second:ok"

    assert (await call(world, gateway, CHAT)).attempts == "first:open, second:ok"

    assert len(first.requests) == FAILURES_MAX


async def test_one_trial_passes_after_the_open_time_and_closes_it(world: World) -> None:
    upstream, gateway = await opened(world)
    gateway.clock.advance(OPEN_S - 1)
    assert (await call(world, gateway, CHAT)).status == 503
    gateway.clock.advance(1)
    upstream.script(wait("all-asked"), *CHAT.healthy())

    trial = await ask(world, gateway, CHAT)
    await upstream.request(FAILURES_MAX)
    others = await at_once(world, gateway, 8)
    upstream.open("all-asked")

    assert others == [503] * 8
    assert (await reply(trial)).status == 200
    assert len(upstream.requests) == FAILURES_MAX + 1
    upstream.standing(CHAT.healthy())
    assert await at_once(world, gateway, 3) == [200] * 3
    idle(gateway)


async def at_once(world: World, gateway: GatewayUnderTest, count: int) -> list[int]:
    """Make calls at the same time; give their statuses."""
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(call(world, gateway, CHAT)) for _ in range(count)]
    return [made.result().status for made in calls]


async def test_of_many_calls_at_once_only_one_is_the_trial(world: World) -> None:
    upstream, gateway = await opened(world)
    gateway.clock.advance(OPEN_S)
    upstream.standing((*status(500),))

    statuses = await at_once(world, gateway, 10)

    assert sorted(statuses) == [502] + [503] * 9
    assert len(upstream.requests) == FAILURES_MAX + 1


async def test_a_trial_that_fails_opens_it_for_the_whole_time_again(world: World) -> None:
    upstream, gateway = await opened(world)
    gateway.clock.advance(OPEN_S)
    upstream.script(*status(500))
    assert (await call(world, gateway, CHAT)).status == 502

    got = await call(world, gateway, CHAT)

    assert (got.status, got.retry_after) == (503, "30")
    gateway.clock.advance(OPEN_S)
    await works_again(world, gateway, upstream, CHAT)


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_trial_whose_client_leaves_is_given_back(world: World, form: Form) -> None:
    upstream, gateway = await opened(world)
    gateway.clock.advance(OPEN_S)
    upstream.script(hold())
    client = await ask(world, gateway, form)
    await upstream.request(FAILURES_MAX)

    client.fin()

    assert (await booked(gateway, FAILURES_MAX)).record.cancelled
    await works_again(world, gateway, upstream, form)
    assert gateway.telemetry.gauges[Gauge.BREAKER_STATE, UPSTREAM] == 0


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_node_has_no_breaker_three_failures_take_it_down(
    world: World, form: Form, fault: tuple[Step, ...]
) -> None:
    upstream, gateway = await one_upstream(world, Kind.NODE)
    upstream.pages[TOKEN_PAGE] = status(500)
    for _ in range(NODE_FAILURES_MAX):
        upstream.script(*fault)
        assert (await call(world, gateway, form)).status == 502

    got = await call(world, gateway, form)

    assert got.status == 503
    assert got.error["code"] == "no_node_available"
    assert got.attempts == "local/upstream:down"
    assert got.retry_after == f"{NODE_WAIT_S:.0f}"
    assert len(upstream.requests) == NODE_FAILURES_MAX
    assert gateway.telemetry.gauges[Gauge.NODE_HEALTH, UPSTREAM] == Health.DOWN
    idle(gateway)
