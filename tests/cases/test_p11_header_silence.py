"""P11: a vendor that takes a request and never answers is left by a timer for the next target, and asked once."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.catalogue import TimeoutSpec
from ktms.domain.conversation.usage import Usage
from tests.cases.calls import UPSTREAM, Kind, booked, call, idle, one_upstream, two_vendors, works_again
from tests.cases.forms import FORMS, STREAMS, Form, StreamForm
from tests.world.catalogues import catalogue, node, vendor
from tests.world.events import comment
from tests.world.pace import Pace
from tests.world.script import chunk, head, hold
from tests.world.vendor import CANCELLED_WITHIN_S
from tests.world.watch import PATIENCE_S
from tests.world.world import World

SILENCE_S = 130.0
"""How long the vendor of the case says nothing; the timer has to end it before."""


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_the_second_vendor_answers_and_the_silent_one_is_asked_once(
    world: World, pace: Pace, form: Form
) -> None:
    first_token_s = pace(SILENCE_S / 2, 0.15)
    first, second, gateway = await two_vendors(world, timeouts=TimeoutSpec(first_token_s=first_token_s))
    first.script(hold())
    second.script(*form.healthy())
    began_at = world.now()

    got = await call(world, gateway, form, within_s=first_token_s + PATIENCE_S)

    assert got.status == 200
    assert got.attempts == "first:first_token_timeout, second:ok"
    assert first_token_s * 0.99 <= world.now() - began_at < first_token_s + CANCELLED_WITHIN_S
    connection = await first.left()
    assert connection.gone_at is not None
    assert len(first.requests) == 1
    books = await booked(gateway)
    assert books.statuses == (AttemptStatus.FAILED, AttemptStatus.OK)
    assert [event.usage for event in books.events] == [Usage(), form.counted]
    assert books.events[0].http_status is None


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_silent_node_is_left_for_the_cloud_and_its_slot_is_free(
    world: World, pace: Pace, form: Form
) -> None:
    first_token_s = pace(30, 0.15)
    silent, cloud = await world.vendor(UPSTREAM), await world.vendor("cloud")
    made = catalogue(
        vendor("cloud", cloud.url),
        nodes=(node(UPSTREAM, silent.listening, slots=1),),
        timeouts=TimeoutSpec(first_token_s=first_token_s),
    )
    gateway = await world.gateway(made)
    silent.script(hold())
    cloud.script(*form.healthy())

    got = await call(world, gateway, form, within_s=first_token_s + PATIENCE_S)

    assert got.status == 200
    assert got.attempts == "local/upstream:first_token_timeout, cloud:ok"
    assert got.head.header("x-ktms-vendor") == "cloud"
    await silent.left()
    assert len(silent.requests) == 1
    assert (await booked(gateway)).statuses == (AttemptStatus.FAILED, AttemptStatus.OK)
    idle(gateway)
    await works_again(world, gateway, silent, form)


@pytest.mark.parametrize("kind", Kind, ids=str)
@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_where_nobody_else_is_left_the_client_gets_a_504(
    world: World, pace: Pace, form: Form, kind: Kind
) -> None:
    first_token_s = pace(60, 0.15)
    upstream, gateway = await one_upstream(world, kind, timeouts=TimeoutSpec(first_token_s=first_token_s))
    upstream.script(hold())

    got = await call(world, gateway, form, within_s=first_token_s + PATIENCE_S)

    assert got.status == 504
    assert got.error["code"] == "upstream_timeout"
    assert got.error["type"] == "upstream_error"
    assert got.retry_after == "1"
    books = await booked(gateway)
    assert books.event.status is AttemptStatus.FAILED
    assert books.record.status == 504
    idle(gateway)
    await works_again(world, gateway, upstream, form)


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_head_alone_does_not_stop_the_timer(world: World, pace: Pace, form: StreamForm) -> None:
    first_token_s = pace(60, 0.15)
    first, second, gateway = await two_vendors(world, timeouts=TimeoutSpec(first_token_s=first_token_s))
    first.script(head(), chunk(comment("one moment")), hold())
    second.script(*form.healthy())

    got = await call(world, gateway, form, within_s=first_token_s + PATIENCE_S)

    assert got.status == 200
    assert got.attempts == "first:first_token_timeout, second:ok"


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_vendor_that_refuses_connections_is_passed_over(world: World, form: Form) -> None:
    first, second, gateway = await two_vendors(world)
    first.stop_listening()
    second.script(*form.healthy())

    got = await call(world, gateway, form)

    assert got.status == 200
    assert got.attempts == "first:refused, second:ok"
    assert (await booked(gateway)).statuses == (AttemptStatus.FAILED, AttemptStatus.OK)
