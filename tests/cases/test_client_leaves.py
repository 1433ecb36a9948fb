"""Clients that leave at any point, many at once: no slot, connection or breaker is lost over it."""

import asyncio

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from tests.cases.calls import (
    UPSTREAM,
    Kind,
    ask,
    booked,
    call,
    idle,
    no_alarm,
    one_upstream,
    two_vendors,
    works_again,
)
from tests.cases.forms import CHAT_STREAM, FORMS, STREAMS, Form, StreamForm
from tests.cases.test_p42_disconnect_stream import Leaving, leave
from tests.world.script import Step, chunk, head, hold, status, wait
from tests.world.vendor import CANCELLED_WITHIN_S, MockVendor
from tests.world.world import GatewayUnderTest, World

ROUNDS = 20


def is_visible(form: Form, number: int) -> bool:
    """Whether this call gets something to see before its client leaves."""
    return isinstance(form, StreamForm) and number % 3 == 2


def stage(form: Form, number: int) -> tuple[Step, ...]:
    """Bring a call to one of three points and stay there: nothing, a head, visible text."""
    if not isinstance(form, StreamForm) or number % 3 == 0:
        return (hold(),)
    return (head(), chunk(form.content("w ")), hold()) if is_visible(form, number) else (head(), hold())


async def come_and_go(
    world: World, gateway: GatewayUnderTest, upstream: MockVendor, form: Form, number: int
) -> None:
    client = await ask(world, gateway, form)
    await upstream.request(number)
    if is_visible(form, number):
        await client.head()
    leave(client, Leaving.FIN if number % 4 < 2 else Leaving.RST)


@pytest.mark.parametrize("kind", Kind, ids=str)
@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_twenty_clients_in_a_row_that_leave_give_every_slot_back(
    world: World, form: Form, kind: Kind
) -> None:
    upstream, gateway = await one_upstream(world, kind)
    for number in range(ROUNDS):
        upstream.script(*stage(form, number))
        await come_and_go(world, gateway, upstream, form, number)
        assert (await booked(gateway, number)).event.status is AttemptStatus.CANCELLED

    idle(gateway)
    no_alarm(gateway)
    await works_again(world, gateway, upstream, form)


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_all_slots_taken_by_clients_that_leave_at_once_are_free_at_once(world: World, form: Form) -> None:
    upstream, gateway = await one_upstream(world, Kind.NODE)
    upstream.standing((hold(),))
    clients = [await ask(world, gateway, form) for _ in range(4)]
    await upstream.request(3)
    assert gateway.busy(UPSTREAM) == 4
    refused = await call(world, gateway, form)
    assert (refused.status, refused.attempts) == (503, "local/upstream:busy")
    left_at = world.now()

    for number, client in enumerate(clients):
        leave(client, Leaving.FIN if number % 2 else Leaving.RST)

    for index in range(4):
        assert (await booked(gateway, index + 1)).event.status is AttemptStatus.CANCELLED
    assert world.now() - left_at < CANCELLED_WITHIN_S
    idle(gateway)
    await works_again(world, gateway, upstream, form)


@pytest.mark.parametrize("how", Leaving, ids=str)
@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_client_that_leaves_after_the_first_target_failed_frees_the_second(
    world: World, form: Form, how: Leaving
) -> None:
    first, second, gateway = await two_vendors(world)
    first.script(*status(500))
    second.script(hold())
    client = await ask(world, gateway, form)
    await second.request()
    left_at = world.now()

    leave(client, how)

    connection = await second.left()
    assert connection.gone_at is not None
    assert connection.gone_at - left_at < CANCELLED_WITHIN_S
    books = await booked(gateway)
    assert books.statuses == (AttemptStatus.FAILED, AttemptStatus.CANCELLED)
    assert books.record.cancelled
    no_alarm(gateway)
    assert len(first.requests) == 1


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_others_on_the_same_node_go_on_when_one_leaves(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world, Kind.NODE)
    upstream.script(head(), chunk(form.content("w ")), wait("one-left"), *form.healthy()[1:])
    stays = await ask(world, gateway, form)
    assert await stays.event() is not None
    upstream.script(head(), chunk(form.content("w ")), hold())
    leaves = await ask(world, gateway, form)
    assert await leaves.event() is not None
    assert gateway.busy(UPSTREAM) == 2

    leaves.rst()
    assert (await booked(gateway)).event.status is AttemptStatus.CANCELLED
    assert gateway.busy(UPSTREAM) == 1
    upstream.open("one-left")

    assert [event async for event in stays.events()][-1].is_done
    assert (await booked(gateway, 1)).event.status is AttemptStatus.OK
    idle(gateway)


async def test_a_crowd_that_leaves_at_once_does_not_hold_up_others(world: World) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.standing((head(), chunk(CHAT_STREAM.content("w ")), hold()))
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(ask(world, gateway, CHAT_STREAM)) for _ in range(100)]
    clients = [one.result() for one in asked]
    for client in clients:
        await client.event()
    left_at = world.now()

    for client in clients:
        client.rst()

    for index in range(100):
        assert (await booked(gateway, index)).event.status is AttemptStatus.CANCELLED
    assert world.now() - left_at < CANCELLED_WITHIN_S
    assert all([(await upstream.left(index)).gone_at is not None for index in range(100)])
    idle(gateway)
    no_alarm(gateway)
