"""N21: clients that leave in the middle of a stream take no slot along, however many there are."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from tests.cases.calls import UPSTREAM, ask, booked, idle, works_again
from tests.cases.fleets import fleet_of
from tests.cases.forms import STREAMS, StreamForm
from tests.cases.test_p42_disconnect_stream import Leaving, leave
from tests.world.script import chunk, head, hold
from tests.world.world import World

SLOTS = 10


@pytest.mark.parametrize("how", Leaving, ids=str)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_ten_that_leave_at_once_leave_ten_slots(world: World, form: StreamForm, how: Leaving) -> None:
    fleet = await fleet_of(world, slots=SLOTS, cloud=False)
    fleet.node.standing((head(), chunk(form.content("w ")), hold()))
    clients = [await ask(world, fleet.gateway, form) for _ in range(SLOTS)]
    for client in clients:
        await client.head()
    assert fleet.gateway.busy(UPSTREAM) == SLOTS

    for client in clients:
        leave(client, how)

    for number in range(SLOTS):
        assert (await booked(fleet.gateway, number)).event.status is AttemptStatus.CANCELLED
    idle(fleet.gateway)
    await works_again(world, fleet.gateway, fleet.node, form)
