"""P37: a vendor's request to wait is kept for exactly the key or target it concerns, and passed on to clients."""

from collections.abc import Callable
from email.utils import formatdate

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.catalogue import Catalogue, ModelSpec, TargetSpec
from ktms.domain.conversation.usage import Usage
from tests.cases.calls import booked, call, one_upstream, two_vendors, works_again
from tests.cases.forms import CHAT, FORMS, Form
from tests.world.catalogues import catalogue, vendor, with_models
from tests.world.script import status
from tests.world.world import World

Headers = tuple[tuple[str, str], ...]

TOLD: dict[str, tuple[Callable[[float], Headers], float]] = {
    "seconds": (lambda _: (("Retry-After", "2"),), 2.0),
    "date": (lambda wall: (("Retry-After", formatdate(wall + 3, usegmt=True)),), 3.0),
    "milliseconds": (lambda _: (("retry-after-ms", "700"),), 0.7),
    "milliseconds-first": (lambda _: (("Retry-After", "60"), ("retry-after-ms", "700")), 0.7),
    "a-day": (lambda _: (("Retry-After", "86400"),), 300.0),
    "no-number": (lambda _: (("Retry-After", "abc"),), 5.0),
    "negative": (lambda _: (("Retry-After", "-1"),), 5.0),
    "absent": (lambda _: (), 5.0),
}
"""What the vendor says, given the time of day, and how long it rests."""

SLACK_S = 1.0
"""A date has whole seconds, and the test itself takes time."""


def two_models(url: str) -> Catalogue:
    """Declare two models of one vendor."""
    other = ModelSpec("other-model", (TargetSpec("both", "vendor-model-b"),))
    return with_models(catalogue(vendor("both", url)), other)


@pytest.mark.parametrize(("says", "rests_s"), TOLD.values(), ids=TOLD)
async def test_a_vendor_rests_as_long_as_it_said_and_then_serves_again(
    world: World, says: Callable[[float], Headers], rests_s: float
) -> None:
    first, second, gateway = await two_vendors(world)
    first.script(*status(429, says(gateway.clock.wall())))
    second.standing(CHAT.healthy())

    assert (await call(world, gateway, CHAT)).attempts == "first:429, second:ok"
    gateway.clock.advance(max(0.0, rests_s - SLACK_S - 0.2))
    if rests_s > SLACK_S:
        assert (await call(world, gateway, CHAT)).attempts == "first:resting, second:ok"
    gateway.clock.advance(SLACK_S + 0.2)

    assert (await works_again(world, gateway, first, CHAT)).attempts == "first:ok"
    assert (await booked(gateway)).statuses == (AttemptStatus.FAILED, AttemptStatus.OK)


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_other_targets_go_on_and_the_refusal_costs_nothing(world: World, form: Form) -> None:
    first, second, gateway = await two_vendors(world)
    first.script(*status(429, (("Retry-After", "2"),)))
    second.standing(form.healthy())

    got = await call(world, gateway, form)

    assert got.status == 200
    assert got.retry_after is None
    books = await booked(gateway)
    assert [event.usage for event in books.events] == [Usage(), form.counted]
    assert books.events[0].http_status == 429


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_429_of_the_last_target_tells_the_client_how_long(world: World, form: Form) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(*status(429, (("retry-after-ms", "6200"),)))

    got = await call(world, gateway, form)

    assert got.status == 429
    assert got.retry_after == "7"
    assert got.error["type"] == "rate_limit_error"
    assert got.error["code"] == "rate_limit_exceeded"


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_where_all_targets_rest_the_client_is_told_the_soonest_end(world: World, form: Form) -> None:
    first, second, gateway = await two_vendors(world)
    first.script(*status(429, (("Retry-After", "60"),)))
    second.script(*status(429, (("Retry-After", "7"),)))
    assert (await call(world, gateway, form)).status == 429

    got = await call(world, gateway, form)

    assert got.status == 503
    assert got.retry_after == "7"
    assert got.error["code"] == "no_target_available"
    assert got.error["type"] == "upstream_error"
    assert got.attempts == "first:resting, second:resting"
    assert (len(first.requests), len(second.requests)) == (1, 1)
    books = await booked(gateway, 1)
    assert books.events == ()
    assert books.record.status == 503


async def test_a_503_that_says_how_long_rests_its_target_and_is_no_failure(world: World) -> None:
    upstream, gateway = await one_upstream(world)
    for _ in range(6):
        upstream.script(*status(503, (("Retry-After", "7"),)))
        got = await call(world, gateway, CHAT)
        assert (got.status, got.retry_after) == (502, "7")
        gateway.clock.advance(7)

    await works_again(world, gateway, upstream, CHAT)
    assert [event.name for event in gateway.telemetry.events] == []


async def test_a_503_rests_its_own_target_only(world: World) -> None:
    upstream = await world.vendor("both")
    gateway = await world.gateway(two_models(upstream.url))
    upstream.script(*status(503, (("Retry-After", "7"),)))
    assert (await call(world, gateway, CHAT)).status == 502
    assert (await call(world, gateway, CHAT)).status == 503
    upstream.script(*CHAT.healthy())

    got = await call(world, gateway, CHAT, model="other-model")

    assert got.status == 200
