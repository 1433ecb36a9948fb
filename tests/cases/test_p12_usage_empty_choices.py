"""P12: the last chunk has no choices but usage: it is counted once, and shown to those who asked for it."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.conversation.usage import Usage
from tests.cases.calls import as_public, booked, call, one_upstream
from tests.cases.forms import STREAMS, StreamForm
from tests.world.events import DONE
from tests.world.script import stream
from tests.world.world import World


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_client_that_asked_gets_the_chunk_with_its_empty_choices(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    sent = (form.content("a"), form.finish("stop"), form.usage(9, 1))
    upstream.script(*stream(*sent, DONE))

    got = await call(world, gateway, form, stream_options={"include_usage": True})

    assert got.body == as_public(b"".join(sent)) + DONE
    assert got.chunks[-1]["choices"] == []
    assert got.chunks[-1]["usage"] == {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
    books = await booked(gateway)
    assert books.event.status is AttemptStatus.OK
    assert books.event.usage == Usage(9, 1)


@pytest.mark.parametrize("asked", [None, {}, {"include_usage": False}, {"include_usage": None}], ids=str)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_client_that_did_not_ask_does_not_see_it_but_it_is_counted(
    world: World, form: StreamForm, asked: dict[str, bool] | None
) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(*stream(form.content("a"), form.finish("stop"), form.usage(9, 1), DONE))

    got = await call(world, gateway, form, stream_options=asked)

    assert got.body == as_public(form.content("a") + form.finish("stop")) + DONE
    assert (await booked(gateway)).event.usage == Usage(9, 1)
    assert b'"include_usage":true' in (await upstream.request()).body


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_usage_chunk_before_the_finish_reason_is_counted_once(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(*stream(form.content("a"), form.usage(9, 1), form.finish("stop"), form.usage(9, 1), DONE))

    got = await call(world, gateway, form)

    assert got.is_done
    books = await booked(gateway)
    assert books.event.usage == Usage(9, 1)
    assert (books.record.prompt_tokens, books.record.completion_tokens) == (9, 1)
