"""N29: a stream that ends without a finish reason is a failure, and never a success in the books."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.ports.telemetry import Gauge
from tests.cases.calls import UPSTREAM, booked, call, idle
from tests.cases.fleets import fleet_of
from tests.cases.forms import STREAMS, StreamForm
from tests.world.events import DONE, role
from tests.world.script import status, stream
from tests.world.vendor import TOKEN_PAGE
from tests.world.world import World


def endings(form: StreamForm) -> dict[str, tuple[bytes, ...]]:
    """Give how an engine that was killed ends its stream: an empty chunk and no more, or nothing at all."""
    return {"empty-chunk": (form.content(""),), "nothing": (), "end-mark-alone": (DONE,)}


ENDINGS = ("empty-chunk", "nothing", "end-mark-alone")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_behind_visible_text_it_is_an_error_event_and_booked_as_interrupted(
    world: World, form: StreamForm, ending: str
) -> None:
    fleet = await fleet_of(world)
    fleet.node.pages[TOKEN_PAGE] = status(500)
    fleet.node.script(*stream(form.content("a"), *endings(form)[ending]))

    got = await call(world, fleet.gateway, form)

    assert got.error["code"] == "stream_interrupted"
    books = await booked(fleet.gateway)
    assert books.event.status is AttemptStatus.INTERRUPTED
    assert fleet.gateway.telemetry.gauges[Gauge.NODE_HEALTH, UPSTREAM] == 1
    idle(fleet.gateway)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_before_anything_visible_it_moves_on(world: World, form: StreamForm, ending: str) -> None:
    fleet = await fleet_of(world)
    fleet.node.pages[TOKEN_PAGE] = status(500)
    fleet.node.script(*stream(role(), *endings(form)[ending]))
    fleet.cloud.script(*form.healthy())

    got = await call(world, fleet.gateway, form)

    assert got.status == 200
    assert got.attempts == "local/upstream:closed, cloud:ok"
    assert (await booked(fleet.gateway)).statuses == (AttemptStatus.FAILED, AttemptStatus.OK)


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_node_that_is_full_says_so_before_any_200_is_sent(world: World, form: StreamForm) -> None:
    fleet = await fleet_of(world, cloud=False)
    fleet.node.script(*status(429))

    got = await call(world, fleet.gateway, form)

    assert (got.status, got.error["code"]) == (503, "no_node_available")
    assert got.attempts == "local/upstream:busy"
