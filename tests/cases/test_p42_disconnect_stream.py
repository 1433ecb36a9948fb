"""P42: the client of a stream leaves: so does the gateway, what was delivered is booked, nobody is alarmed."""

from enum import Enum

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.conversation.usage import Usage
from tests.cases.calls import UPSTREAM, Kind, ask, booked, no_alarm, one_upstream, works_again
from tests.cases.forms import CHAT_STREAM, PROMPT_TOKENS, STREAMS, StreamForm
from tests.world.client import RawClient
from tests.world.events import U, comment
from tests.world.script import Step, chunk, head, hold, lock_step
from tests.world.vendor import CANCELLED_WITHIN_S, MockVendor
from tests.world.world import GatewayUnderTest, World

DELIVERED = 5
PLANNED = 1000


class Leaving(Enum):
    """How the client leaves."""

    FIN = "fin"
    RST = "rst"

    def __str__(self) -> str:
        return self.value


def leave(client: RawClient, how: Leaving) -> None:
    if how is Leaving.FIN:
        client.fin()
    else:
        client.rst()


async def check_left(
    world: World, upstream: MockVendor, gateway: GatewayUnderTest, left_at: float, index: int = 0
) -> None:
    """Check that the vendor was left in time, that the slot is free and that nobody was alarmed."""
    connection = await upstream.left(0)
    assert connection.gone_at is not None
    assert connection.gone_at - left_at < CANCELLED_WITHIN_S
    books = await booked(gateway, index)
    assert world.now() - left_at < CANCELLED_WITHIN_S
    assert books.event.status is AttemptStatus.CANCELLED
    assert books.words == ("cancelled",)
    assert books.record.cancelled
    assert books.record.status == 499
    assert books.record.code is None
    assert gateway.busy(UPSTREAM) == 0
    assert gateway.telemetry.in_flight == 0
    no_alarm(gateway)


@pytest.mark.parametrize("how", Leaving, ids=str)
@pytest.mark.parametrize("kind", Kind, ids=str)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_client_that_leaves_in_mid_stream_is_billed_what_it_got(
    world: World, form: StreamForm, kind: Kind, how: Leaving
) -> None:
    upstream, gateway = await one_upstream(world, kind)
    upstream.script(*lock_step(*(form.content("w ") for _ in range(PLANNED))))
    client = await ask(world, gateway, form)
    for number in range(DELIVERED):
        assert await client.event() is not None
        if number + 1 < DELIVERED:
            upstream.acknowledge()

    leave(client, how)

    await check_left(world, upstream, gateway, world.now())
    assert (await booked(gateway)).event.usage == Usage(PROMPT_TOKENS, DELIVERED, estimated=True)
    await works_again(world, gateway, upstream, form)


EARLY: dict[str, tuple[Step, ...]] = {
    "before-the-head": (hold(),),
    "after-the-head": (head(), hold()),
    "after-a-comment": (head(), chunk(comment("wait")), hold()),
}


@pytest.mark.parametrize("how", Leaving, ids=str)
@pytest.mark.parametrize("kind", Kind, ids=str)
@pytest.mark.parametrize("moment", EARLY.values(), ids=EARLY)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_client_that_leaves_before_the_first_token_frees_the_vendor(
    world: World, form: StreamForm, moment: tuple[Step, ...], kind: Kind, how: Leaving
) -> None:
    upstream, gateway = await one_upstream(world, kind)
    upstream.script(*moment)
    client = await ask(world, gateway, form)
    await upstream.request()
    await works_again(world, gateway, upstream, form)  # so what the vendor sent before has been read

    leave(client, how)

    await check_left(world, upstream, gateway, world.now(), 1)
    assert client.seen == b""
    assert (await booked(gateway, 1)).event.usage == Usage(PROMPT_TOKENS, 0, estimated=True)
    await works_again(world, gateway, upstream, form)


@pytest.mark.parametrize("how", Leaving, ids=str)
async def test_the_vendors_own_counts_win_over_an_estimate(world: World, how: Leaving) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(*lock_step(CHAT_STREAM.content("w "), U(11, 1), CHAT_STREAM.content("w ")))
    client = await ask(world, gateway, CHAT_STREAM, stream_options={"include_usage": True})
    await client.event()
    upstream.acknowledge()
    await client.event()

    leave(client, how)

    await check_left(world, upstream, gateway, world.now())
    assert (await booked(gateway)).event.usage == Usage(11, 1)


@pytest.mark.parametrize("how", Leaving, ids=str)
@pytest.mark.parametrize("kind", Kind, ids=str)
async def test_clients_that_leave_never_open_a_breaker(world: World, kind: Kind, how: Leaving) -> None:
    upstream, gateway = await one_upstream(world, kind)
    for number in range(7):
        upstream.script(head(), chunk(CHAT_STREAM.content("w ")), hold())
        client = await ask(world, gateway, CHAT_STREAM)
        assert await client.event() is not None
        leave(client, how)
        await booked(gateway, number)

    await works_again(world, gateway, upstream, CHAT_STREAM)
    no_alarm(gateway)
    assert [connection.gone_at for connection in upstream.connections[:7]].count(None) == 0
