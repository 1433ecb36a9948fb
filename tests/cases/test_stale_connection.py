"""A pooled connection that dies before any byte of an answer is replaced, once, and nobody hears of it."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from tests.cases.calls import Kind, booked, call, idle, no_alarm, one_upstream, two_vendors, works_again
from tests.cases.forms import CHAT, FORMS, Form
from tests.world.script import Step, fin, raw, rst
from tests.world.world import World

DEATHS: dict[str, tuple[Step, ...]] = {"fin": (fin(),), "rst": (rst(),)}


@pytest.mark.parametrize("death", DEATHS.values(), ids=DEATHS)
@pytest.mark.parametrize("kind", Kind, ids=str)
@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_reused_connection_that_dies_is_replaced_within_the_same_attempt(
    world: World, form: Form, kind: Kind, death: tuple[Step, ...]
) -> None:
    upstream, gateway = await one_upstream(world, kind)
    await works_again(world, gateway, upstream, form)
    upstream.script(*death)
    upstream.script(*form.healthy())

    got = await call(world, gateway, form)

    assert got.status == 200
    assert [request.connection for request in upstream.requests] == [0, 0, 1]
    books = await booked(gateway, 1)
    assert books.event.status is AttemptStatus.OK
    assert books.event.usage == form.counted
    assert books.words == ("ok",)
    idle(gateway)
    no_alarm(gateway)


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_fresh_connection_that_dies_is_a_failure(world: World, form: Form) -> None:
    first, second, gateway = await two_vendors(world)
    first.script(fin())
    second.script(*form.healthy())

    got = await call(world, gateway, form)

    assert got.attempts == "first:closed, second:ok"
    assert len(first.requests) == 1


async def test_a_connection_is_replaced_once_and_not_again(world: World) -> None:
    upstream, gateway = await one_upstream(world)
    await works_again(world, gateway, upstream, CHAT)
    upstream.script(fin())
    upstream.script(fin())

    got = await call(world, gateway, CHAT)

    assert got.status == 502
    assert len(upstream.requests) == 3
    assert (await booked(gateway, 1)).event.status is AttemptStatus.FAILED


async def test_one_byte_of_an_answer_forbids_a_second_dial(world: World) -> None:
    upstream, gateway = await one_upstream(world)
    await works_again(world, gateway, upstream, CHAT)
    upstream.script(raw(b"H"), fin())

    got = await call(world, gateway, CHAT)

    assert got.status == 502
    assert len(upstream.requests) == 2
