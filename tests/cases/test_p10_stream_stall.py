"""P10: a vendor that falls silent in mid-stream is left after the idle timer, not after ten minutes."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.catalogue import TimeoutSpec
from ktms.domain.conversation.usage import Usage
from tests.cases.calls import Kind, booked, call, idle, one_upstream, works_again
from tests.cases.forms import PROMPT_TOKENS, STREAMS, StreamForm
from tests.world.pace import Pace
from tests.world.script import Step, chunk, head, hold, pause_s
from tests.world.vendor import CANCELLED_WITHIN_S
from tests.world.watch import PATIENCE_S
from tests.world.world import World

DELIVERED = 20
IDLE_S = {Kind.CLOUD: 45.0, Kind.NODE: 30.0}


def slowly(form: StreamForm, every_s: float) -> tuple[Step, ...]:
    """Send a word again and again, for longer than any attempt may take."""
    return tuple(step for _ in range(100) for step in (chunk(form.content("w ")), pause_s(every_s)))


@pytest.mark.parametrize("kind", Kind, ids=str)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_stalled_stream_ends_by_the_idle_timer(
    world: World, pace: Pace, form: StreamForm, kind: Kind
) -> None:
    idle_s = pace(IDLE_S[kind], 0.2)
    upstream, gateway = await one_upstream(world, kind, timeouts=TimeoutSpec(idle_s=idle_s))
    upstream.script(head(), *(chunk(form.content("w ")) for _ in range(DELIVERED)), hold())

    got = await call(world, gateway, form, within_s=idle_s + PATIENCE_S)

    assert got.status == 200
    assert got.whole
    assert len(got.chunks) == DELIVERED
    assert got.error["code"] == "stream_interrupted"
    silent_s = got.events[-1].at - got.events[-2].at
    assert idle_s * 0.9 <= silent_s < idle_s + CANCELLED_WITHIN_S
    await upstream.left(0)
    books = await booked(gateway)
    assert books.event.status is AttemptStatus.INTERRUPTED
    assert books.event.usage == Usage(PROMPT_TOKENS, DELIVERED, estimated=True)
    assert books.words == ("idle_timeout",)
    idle(gateway)
    await works_again(world, gateway, upstream, form)


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_an_answer_that_never_ends_is_cut_by_the_timer_of_the_attempt(
    world: World, pace: Pace, form: StreamForm
) -> None:
    total_s = pace(600, 0.5)
    upstream, gateway = await one_upstream(world, timeouts=TimeoutSpec(total_s=total_s))
    each_s = total_s / 20
    upstream.script(head(), *slowly(form, each_s), hold())

    got = await call(world, gateway, form, within_s=total_s + PATIENCE_S)

    assert got.error["code"] == "stream_interrupted"
    books = await booked(gateway)
    assert books.words == ("total_timeout",)
    assert books.event.duration_s >= total_s * 0.99
    idle(gateway)
    await works_again(world, gateway, upstream, form)
