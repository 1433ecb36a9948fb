"""P04: an event cut inside a JSON string stays one event; no separator is added that was not there."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from tests.cases.calls import ask, booked, call, one_upstream, reply
from tests.cases.forms import CHAT_STREAM, COMPLETIONS_STREAM, StreamForm
from tests.world.events import DONE
from tests.world.script import chunk, end, head, pieces, wait
from tests.world.world import World

EVENTS = {
    CHAT_STREAM: (b'data: {"id":"1","choices":[{"index":0,"delta":{"content":"hel', b'lo"}}]}\n\n'),
    COMPLETIONS_STREAM: (b'data: {"id":"1","choices":[{"index":0,"text":"hel', b'lo"}]}\n\n'),
}
FINISH = {
    CHAT_STREAM: b'data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
    COMPLETIONS_STREAM: b'data: {"id":"1","choices":[{"index":0,"text":"","finish_reason":"stop"}]}\n\n',
}


@pytest.mark.parametrize("form", EVENTS, ids=str)
async def test_an_event_cut_inside_a_string_arrives_as_it_was_sent(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(head(), *pieces(*EVENTS[form], FINISH[form]), chunk(DONE), end())

    got = await call(world, gateway, form)

    assert got.body == b"".join(EVENTS[form]) + FINISH[form] + DONE
    assert len(got.data) == 3
    assert (await booked(gateway)).event.status is AttemptStatus.OK


@pytest.mark.parametrize("form", EVENTS, ids=str)
async def test_half_an_event_waits_for_its_other_half_in_mid_stream(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    whole = b"".join(EVENTS[form])
    begin, rest = EVENTS[form]
    upstream.script(head(), chunk(whole + begin), wait("seen"), chunk(rest + FINISH[form] + DONE), end())
    client = await ask(world, gateway, form)
    assert await client.event() is not None
    assert client.seen == whole
    assert client.unfinished_event == b""
    upstream.open("seen")

    got = await reply(client)

    assert got.body == whole + whole + FINISH[form] + DONE
