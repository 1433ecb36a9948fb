"""P09: a connection that ends early ends no answer: an error event, no end mark, and a failure of the vendor."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.capacity.node_health import FAILURES_MAX as NODE_FAILURES_MAX
from ktms.domain.conversation.usage import Usage
from ktms.domain.routing.breaker import FAILURES_MAX
from tests.cases.calls import (
    Booked,
    Kind,
    Reply,
    ask,
    booked,
    call,
    idle,
    one_upstream,
    reply,
    two_vendors,
    works_again,
)
from tests.cases.forms import CHAT_STREAM, PROMPT_TOKENS, STREAMS, StreamForm
from tests.world.events import DONE
from tests.world.script import Framing, Step, chunk, end, fin, head, rst, status, wait
from tests.world.vendor import TOKEN_PAGE
from tests.world.world import World

DELIVERED = 40

CUTS: dict[str, tuple[Framing, Step]] = {
    "fin": (Framing.CLOSE, fin()),
    "rst": (Framing.CHUNKED, rst()),
    "no-last-chunk": (Framing.CHUNKED, fin()),
    "clean-end-of-body": (Framing.CHUNKED, end()),
}


def words(form: StreamForm, count: int = DELIVERED) -> tuple[Step, ...]:
    return tuple(chunk(form.content(f"{number} ")) for number in range(count))


def check_interrupted(got: Reply, books: Booked, form: StreamForm) -> None:
    assert got.status == 200
    assert got.whole, "the client's own framing ends well"
    assert got.error["code"] == "stream_interrupted"
    assert got.error["type"] == "upstream_error"
    assert len(got.chunks) == DELIVERED
    assert books.event.status is AttemptStatus.INTERRUPTED
    assert books.event.usage == Usage(PROMPT_TOKENS, DELIVERED, estimated=True)
    assert books.record.code == "stream_interrupted"
    assert not books.record.cancelled


@pytest.mark.parametrize("kind", Kind, ids=str)
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_cut_stream_ends_in_one_error_event_and_what_was_delivered_is_booked(
    world: World, form: StreamForm, cut: tuple[Framing, Step], kind: Kind
) -> None:
    framing, how = cut
    upstream, gateway = await one_upstream(world, kind)
    upstream.script(head(framing=framing), *words(form), wait("arrived"), how)
    client = await ask(world, gateway, form)
    for _ in range(DELIVERED):
        assert await client.event() is not None
    seen = client.seen
    upstream.open("arrived")

    event = await client.event()

    assert event is not None
    assert client.seen == seen + event.raw
    assert event.json()["error"]["code"] == "stream_interrupted"
    assert await client.event() is None
    assert client.is_over
    books = await booked(gateway)
    assert books.event.usage == Usage(PROMPT_TOKENS, DELIVERED, estimated=True)
    idle(gateway)
    await works_again(world, gateway, upstream, form)


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_mark_without_any_finish_reason_is_a_cut_too(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(head(), *words(form), chunk(DONE), end())

    got = await call(world, gateway, form)

    check_interrupted(got, await booked(gateway), form)


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_one_of_two_choices_without_a_finish_reason_is_a_cut(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    second = form.content("b").replace(b'"index":0', b'"index":1')
    upstream.script(head(), chunk(form.content("a") + second + form.finish("stop") + DONE), end())

    got = await call(world, gateway, form, n=2)

    assert got.error["code"] == "stream_interrupted"
    assert (await booked(gateway)).event.status is AttemptStatus.INTERRUPTED


@pytest.mark.parametrize(
    ("kind", "cuts_max"),
    [(Kind.CLOUD, FAILURES_MAX), (Kind.NODE, NODE_FAILURES_MAX)],
    ids=["breaker", "health"],
)
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
async def test_cut_streams_in_a_row_take_a_target_out(
    world: World, cut: tuple[Framing, Step], kind: Kind, cuts_max: int
) -> None:
    framing, how = cut
    upstream, gateway = await one_upstream(world, kind)
    upstream.pages[TOKEN_PAGE] = status(500)
    for number in range(cuts_max):
        upstream.script(head(framing=framing), *words(CHAT_STREAM, 1), wait(f"arrived-{number}"), how)
        client = await ask(world, gateway, CHAT_STREAM)
        await client.event()
        upstream.open(f"arrived-{number}")
        assert (await reply(client)).error["code"] == "stream_interrupted"

    refused = await call(world, gateway, CHAT_STREAM)

    assert refused.status == 503
    assert refused.retry_after is not None
    assert len(upstream.requests) == cuts_max


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_cut_before_anything_visible_moves_on(
    world: World, form: StreamForm, cut: tuple[Framing, Step]
) -> None:
    framing, how = cut
    first, second, gateway = await two_vendors(world)
    first.script(head(framing=framing), chunk(b": hello\n\n"), how)
    second.script(*form.healthy())

    got = await call(world, gateway, form)

    assert got.status == 200
    assert got.attempts == "first:closed, second:ok"
    books = await booked(gateway)
    assert books.statuses == (AttemptStatus.FAILED, AttemptStatus.OK)
    assert [event.usage for event in books.events] == [Usage(), Usage(7, 2)]
