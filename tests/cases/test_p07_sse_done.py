"""P07: the end mark may be missing, lack its blank line, or be followed by nothing at all for a minute."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.conversation.usage import Usage
from tests.cases.calls import Kind, as_public, booked, call, idle, one_upstream, works_again
from tests.cases.forms import CHAT_STREAM, STREAMS, StreamForm
from tests.world.events import DONE
from tests.world.script import Framing, Step, chunk, end, fin, head, hold
from tests.world.vendor import CANCELLED_WITHIN_S
from tests.world.world import World

UNFINISHED_DONE = b"data: [DONE]"


def spoken(form: StreamForm) -> tuple[bytes, ...]:
    return (form.content("a"), form.finish("stop"), form.usage(5, 1))


ENDINGS: dict[str, tuple[Step, ...]] = {
    "no-mark": (end(),),
    "mark-without-blank-line": (chunk(UNFINISHED_DONE), end()),
    "mark-with-one-line-end": (chunk(UNFINISHED_DONE + b"\n"), end()),
}


@pytest.mark.parametrize("kind", Kind, ids=str)
@pytest.mark.parametrize("framing", [Framing.CHUNKED, Framing.CLOSE], ids=("chunked", "until-close"))
@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_the_end_mark_is_supplied_where_only_it_is_missing(
    world: World, form: StreamForm, ending: tuple[Step, ...], framing: Framing, kind: Kind
) -> None:
    upstream, gateway = await one_upstream(world, kind)
    upstream.script(head(framing=framing), *(chunk(event) for event in spoken(form)), *ending)

    got = await call(world, gateway, form, stream_options={"include_usage": True})

    assert got.whole
    assert got.body == as_public(b"".join(spoken(form))) + DONE
    books = await booked(gateway)
    assert books.event.status is AttemptStatus.OK
    assert books.event.usage == Usage(5, 1)
    idle(gateway)
    await works_again(world, gateway, upstream, form)


@pytest.mark.parametrize("last", ["finish", "usage"])
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_last_event_without_its_blank_line_is_still_taken(
    world: World, form: StreamForm, last: str
) -> None:
    upstream, gateway = await one_upstream(world)
    events = spoken(form) if last == "usage" else (form.content("a"), form.finish("stop"))
    sent = b"".join(events).removesuffix(b"\n\n")
    upstream.script(head(), chunk(sent), end())

    got = await call(world, gateway, form, stream_options={"include_usage": True})

    assert got.body == as_public(sent) + b"\n\n" + DONE
    assert (await booked(gateway)).event.status is AttemptStatus.OK


@pytest.mark.parametrize("kind", Kind, ids=str)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_connection_left_open_after_the_mark_holds_up_nobody(
    world: World, form: StreamForm, kind: Kind
) -> None:
    upstream, gateway = await one_upstream(world, kind)
    upstream.script(head(), *(chunk(event) for event in (*spoken(form), DONE)), hold())
    began_at = world.now()

    got = await call(world, gateway, form)

    assert got.whole
    assert got.is_done
    ended_at = world.now()
    assert ended_at - began_at < CANCELLED_WITHIN_S
    connection = await upstream.left(0)
    assert connection.gone_at is not None
    assert connection.gone_at - ended_at < CANCELLED_WITHIN_S
    assert (await booked(gateway)).event.usage == Usage(5, 1)
    idle(gateway)
    await works_again(world, gateway, upstream, form)


async def test_bytes_after_the_mark_are_dropped(world: World) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(
        head(), *(chunk(event) for event in (*spoken(CHAT_STREAM), DONE, CHAT_STREAM.content("late"))), fin()
    )

    got = await call(world, gateway, CHAT_STREAM)

    assert got.text(CHAT_STREAM) == "a"
    assert got.is_done
    assert (await booked(gateway)).event.status is AttemptStatus.OK
