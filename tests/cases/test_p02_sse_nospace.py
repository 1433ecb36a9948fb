"""P02: at most one space after the colon belongs to the format; byte order mark and unknown fields say nothing."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from tests.cases.calls import as_public, booked, call, one_upstream
from tests.cases.forms import STREAMS, StreamForm
from tests.world.events import DONE
from tests.world.script import chunk, end, head
from tests.world.world import World


def spaced(event: bytes, spaces: bytes) -> bytes:
    return event.replace(b"data: ", b"data:" + spaces, 1)


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_data_with_no_space_and_with_two_is_read(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    first = b"event:delta\n" + spaced(form.content("a"), b"")
    second = spaced(form.content("b"), b"  ")
    rest = spaced(form.finish("stop"), b"") + spaced(form.usage(5, 2), b"")
    upstream.script(head(), chunk(first + second + rest + b"data:[DONE]\n\n"), end())

    got = await call(world, gateway, form)

    assert got.status == 200
    assert got.is_done
    assert got.text(form) == "ab"
    assert got.body == as_public(first + second + spaced(form.finish("stop"), b"")) + DONE
    books = await booked(gateway)
    assert books.event.status is AttemptStatus.OK
    assert (books.event.usage.prompt_tokens, books.event.usage.completion_tokens) == (5, 2)


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_byte_order_mark_before_the_first_line_is_ignored(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    sent = form.content("a") + form.finish("stop")
    upstream.script(head(), chunk(b"\xef\xbb\xbf" + sent + DONE), end())

    got = await call(world, gateway, form)

    assert got.body == as_public(sent) + DONE
    assert (await booked(gateway)).event.status is AttemptStatus.OK


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_unknown_fields_are_skipped(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    sent = b"foo: 1\n" + form.content("a") + b"foo\n" + form.finish("stop")
    upstream.script(head(), chunk(b"foo: 1\n\n" + sent + DONE), end())

    got = await call(world, gateway, form)

    assert got.text(form) == "a"
    assert got.is_done
    assert (await booked(gateway)).event.status is AttemptStatus.OK
