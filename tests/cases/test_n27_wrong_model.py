"""N27, FN5: an answer of another model (a port that something else has taken over) is nobody's to see."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from tests.cases.calls import UPSTREAM, booked, call, idle
from tests.cases.fleets import fleet_of
from tests.cases.forms import FORMS, Form, StreamForm
from tests.world.events import VENDOR_MODEL
from tests.world.script import Chunk, Step, answer, stream
from tests.world.world import World

OTHER = "qwen3:4b"


def of_another(form: Form) -> tuple[Step, ...]:
    """Answer well, under another name."""
    if isinstance(form, StreamForm):
        return stream(*(renamed(step.data) for step in form.healthy() if isinstance(step, Chunk)))
    return answer(renamed(form.body))


def renamed(sent: bytes) -> bytes:
    return sent.replace(VENDOR_MODEL.encode(), OTHER.encode())


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_the_cloud_answers_instead(world: World, form: Form) -> None:
    fleet = await fleet_of(world)
    fleet.node.script(*of_another(form))
    fleet.cloud.script(*form.healthy())

    got = await call(world, fleet.gateway, form)

    assert got.status == 200
    assert got.attempts == "local/upstream:wrong_model, cloud:ok"
    assert OTHER.encode() not in got.body
    assert (await booked(fleet.gateway)).statuses == (AttemptStatus.FAILED, AttemptStatus.OK)
    assert fleet.gateway.busy(UPSTREAM) == 0


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_where_nobody_else_is_left_it_is_a_status_and_never_the_answer(world: World, form: Form) -> None:
    fleet = await fleet_of(world, cloud=False)
    fleet.node.script(*of_another(form))

    got = await call(world, fleet.gateway, form)

    assert (got.status, got.error["code"]) == (502, "upstream_error")
    assert OTHER.encode() not in got.body
    idle(fleet.gateway)
