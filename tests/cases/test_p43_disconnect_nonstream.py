"""P43: the client of a call without streaming leaves: nobody writes to it, yet the vendor is left at once."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.conversation.usage import Usage
from tests.cases.calls import Kind, ask, booked, no_alarm, one_upstream, works_again
from tests.cases.forms import PROMPT_TOKENS, WHOLES, WholeForm
from tests.cases.test_p42_disconnect_stream import Leaving, check_left, leave
from tests.world.script import Framing, Step, chunk, head, hold
from tests.world.world import World

MOMENTS: dict[str, tuple[Step, ...]] = {
    "before-the-head": (hold(),),
    "after-the-head": (head(content_type="application/json", framing=Framing.LENGTH, length=100), hold()),
    "amid-the-body": (
        head(content_type="application/json", framing=Framing.LENGTH, length=100),
        chunk(b'{"model":"m",'),
        hold(),
    ),
}


@pytest.mark.parametrize("how", Leaving, ids=str)
@pytest.mark.parametrize("kind", Kind, ids=str)
@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
@pytest.mark.parametrize("form", WHOLES, ids=str)
async def test_a_client_that_leaves_while_waiting_frees_the_vendor(
    world: World, form: WholeForm, moment: tuple[Step, ...], kind: Kind, how: Leaving
) -> None:
    upstream, gateway = await one_upstream(world, kind)
    upstream.script(*moment)
    client = await ask(world, gateway, form)
    await upstream.request()
    await works_again(world, gateway, upstream, form)  # so what the vendor sent before has been read

    leave(client, how)

    await check_left(world, upstream, gateway, world.now(), 1)
    assert (await booked(gateway, 1)).event.usage == Usage(PROMPT_TOKENS, 0, estimated=True)
    await works_again(world, gateway, upstream, form)


@pytest.mark.parametrize("kind", Kind, ids=str)
async def test_clients_that_leave_never_open_a_breaker(world: World, kind: Kind) -> None:
    upstream, gateway = await one_upstream(world, kind)
    for number in range(7):
        upstream.script(hold())
        client = await ask(world, gateway, WHOLES[0])
        await upstream.request(number)
        leave(client, Leaving.FIN)
        assert (await booked(gateway, number)).event.status is AttemptStatus.CANCELLED

    await works_again(world, gateway, upstream, WHOLES[0])
    no_alarm(gateway)
