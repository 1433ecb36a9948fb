"""A client that reads slowly slows its vendor; one that does not read at all is dropped; memory is bounded."""

from collections.abc import Iterator, Sequence
from typing import overload

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.catalogue import TimeoutSpec
from ktms.engine.settings import MIB, EngineSettings
from tests.cases.calls import Kind, ask, booked, call, idle, no_alarm, one_upstream, reply, works_again
from tests.cases.forms import CHAT, CHAT_STREAM, STREAMS, StreamForm
from tests.cases.test_p42_disconnect_stream import Leaving, leave
from tests.world.client import post
from tests.world.events import DONE
from tests.world.pace import Pace
from tests.world.script import Step, chunk, end, head, pause_s
from tests.world.vendor import CANCELLED_WITHIN_S
from tests.world.watch import PATIENCE_S
from tests.world.world import World

WORD = "w" * 32_768
EVENTS_TOTAL = 768
"""24 MiB in all: several times what the sockets of both connections hold by themselves."""

HELD_MAX_BYTES = 16 * MIB
"""What may be on its way: two connections with the largest buffers a kernel gives them, and our own small ones."""


STILL_S = 0.2
"""Nothing sent for so long, on connections of one machine: nothing more will be sent."""


class Counted(Sequence[Step]):
    """A script that knows how far it has been followed."""

    def __init__(self, *steps: Step) -> None:
        self._steps = steps
        self.taken = 0

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | Sequence[Step]:
        return self._steps[index]

    def __iter__(self) -> Iterator[Step]:
        for step in self._steps:
            self.taken += 1
            yield step


def flood(form: StreamForm) -> Counted:
    """Send more than fits anywhere, as fast as it is taken."""
    events = (chunk(form.content(WORD)),) * EVENTS_TOTAL
    return Counted(head(), *events, chunk(form.finish("stop") + form.usage(7, 2) + DONE), end())


@pytest.mark.parametrize("kind", Kind, ids=str)
async def test_a_client_that_stops_reading_stops_its_vendor_and_gets_everything_when_it_reads_on(
    world: World, kind: Kind
) -> None:
    upstream, gateway = await one_upstream(world, kind)
    script = flood(CHAT_STREAM)
    upstream.standing(script)
    client = await ask(world, gateway, CHAT_STREAM)
    await client.event()
    client.stop_reading()
    await still(world, script)
    assert script.taken * len(WORD) < HELD_MAX_BYTES
    client.read_on()

    got = await reply(client)

    assert got.is_done
    assert got.whole
    assert len(got.body) > EVENTS_TOTAL * len(WORD)
    assert got.body.count(b'"content"') == EVENTS_TOTAL
    assert (await booked(gateway)).event.status is AttemptStatus.OK


async def still(world: World, script: Counted) -> None:
    """Wait until a script goes no further, as seen over `STILL_S` at a time."""
    clock = await world.vendor("clock")
    clock.standing((pause_s(STILL_S), *CHAT.healthy()))
    watcher = await world.client(clock.listening)
    before = -1
    while script.taken != before:
        before = script.taken
        watcher.send(post("/tick", b"{}"))
        await watcher.head()
        await watcher.body()


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_the_idle_timer_does_not_run_while_the_client_is_the_slow_one(
    world: World, pace: Pace, form: StreamForm
) -> None:
    idle_s = pace(45, 0.1)
    upstream, gateway = await one_upstream(world, timeouts=TimeoutSpec(idle_s=idle_s))
    script = flood(form)
    upstream.standing(script)
    client = await ask(world, gateway, form)
    await client.event()
    client.stop_reading()
    await still(world, script)  # several times the idle timer
    client.read_on()

    got = await reply(client)

    assert got.is_done
    assert (await booked(gateway)).event.status is AttemptStatus.OK


@pytest.mark.parametrize("kind", Kind, ids=str)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_client_that_reads_nothing_for_too_long_is_dropped_and_the_vendor_left(
    world: World, pace: Pace, form: StreamForm, kind: Kind
) -> None:
    stall_s = pace(60, 0.4)
    upstream, gateway = await one_upstream(world, kind, engine=EngineSettings(client_stall_s=stall_s))
    upstream.standing(flood(form))
    client = await ask(world, gateway, form)
    await client.event()
    client.stop_reading()
    stopped_at = world.now()

    connection = await upstream.left(0, stall_s + PATIENCE_S)

    assert connection.gone_at is not None
    assert connection.gone_at - stopped_at >= stall_s * 0.9
    books = await booked(gateway)
    assert books.event.status is AttemptStatus.CANCELLED
    assert books.record.cancelled
    assert books.event.usage.estimated
    idle(gateway)
    no_alarm(gateway)
    client.read_on()
    await client.closed()
    assert client.cut
    upstream.standing(form.healthy())
    assert (await call(world, gateway, form)).is_done


@pytest.mark.parametrize("how", Leaving, ids=str)
async def test_a_client_that_leaves_without_having_read_frees_the_vendor(world: World, how: Leaving) -> None:
    upstream, gateway = await one_upstream(world)
    script = flood(CHAT_STREAM)
    upstream.script(*script)
    client = await ask(world, gateway, CHAT_STREAM)
    await client.event()
    client.stop_reading()
    await upstream.request()
    leave(client, how)
    client.leave()
    left_at = world.now()

    connection = await upstream.left(0)

    assert connection.gone_at is not None
    assert connection.gone_at - left_at < CANCELLED_WITHIN_S
    assert (await booked(gateway)).event.status is AttemptStatus.CANCELLED
    no_alarm(gateway)
    await works_again(world, gateway, upstream, CHAT_STREAM)
