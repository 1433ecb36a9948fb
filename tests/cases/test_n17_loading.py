"""N17: a node that loads its weights is cold, not broken: calls go elsewhere until it has spoken."""

import pytest

from ktms.domain.catalogue import EngineKind
from ktms.ports.telemetry import Gauge
from tests.cases.calls import UPSTREAM, booked, call
from tests.cases.fleets import fleet_of
from tests.cases.forms import FORMS, Form
from tests.world.events import chat_answer, compact
from tests.world.script import status, wait
from tests.world.vendor import TOKEN_PAGE, page
from tests.world.world import World

LOADING = status(
    503, body=compact({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
)


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_calls_go_elsewhere_until_the_model_has_spoken(world: World, form: Form) -> None:
    fleet = await fleet_of(world, engine=EngineKind.LLAMACPP)
    fleet.node.script(*LOADING)
    fleet.node.pages[TOKEN_PAGE] = (wait("loaded"), *page(chat_answer("H")))
    fleet.node.standing(form.healthy())
    fleet.cloud.standing(form.healthy())

    first = await call(world, fleet.gateway, form)
    second = await call(world, fleet.gateway, form)
    fleet.node.open("loaded")
    answers = [await call(world, fleet.gateway, form)]
    while answers[-1].attempts != "local/upstream:ok" and len(answers) < 500:
        answers.append(await call(world, fleet.gateway, form))

    assert first.attempts == "local/upstream:loading, cloud:ok"
    assert second.attempts == "local/upstream:cold, cloud:ok"
    assert answers[-1].attempts == "local/upstream:ok"
    assert {one.status for one in answers} == {200}
    assert fleet.gateway.telemetry.gauges.get((Gauge.NODE_HEALTH, UPSTREAM), 0) == 0


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_without_a_cloud_it_is_said_when_to_come_back(world: World, form: Form) -> None:
    fleet = await fleet_of(world, engine=EngineKind.LLAMACPP, cloud=False)
    fleet.node.script(*LOADING)
    fleet.node.pages[TOKEN_PAGE] = LOADING

    got = await call(world, fleet.gateway, form)

    assert (got.status, got.error["code"]) == (503, "no_node_available")
    assert got.retry_after is not None
    assert (await booked(fleet.gateway)).words == ("loading",)
