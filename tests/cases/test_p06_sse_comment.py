"""P06: comments are no content: they reach no client, keep nobody waiting for ever, and ours harm no client."""

import httpx2
import openai
import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.catalogue import TimeoutSpec
from ktms.domain.conversation.usage import Usage
from ktms.engine.settings import EngineSettings
from tests.cases.calls import (
    Kind,
    as_public,
    ask,
    booked,
    call,
    idle,
    one_upstream,
    reply,
    two_vendors,
    works_again,
)
from tests.cases.forms import CHAT_STREAM, STREAMS, StreamForm
from tests.world.catalogues import KEY, MODEL
from tests.world.events import DONE, C, F, U, comment
from tests.world.pace import Pace
from tests.world.script import Step, chunk, end, head, pause_s, stream, wait
from tests.world.watch import PATIENCE_S
from tests.world.world import World

PROCESSING = comment("OPENROUTER PROCESSING")


def trickle(*, every_s: float, for_s: float) -> tuple[Step, ...]:
    """Send comments only, one at a time."""
    return tuple(step for _ in range(round(for_s / every_s)) for step in (chunk(PROCESSING), pause_s(every_s)))


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_vendors_comments_do_not_reach_the_client(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    said = form.content("a") + form.finish("stop")
    upstream.script(
        *stream(PROCESSING, PROCESSING, PROCESSING, form.content("a"), PROCESSING, form.finish("stop"), DONE)
    )

    got = await call(world, gateway, form)

    assert got.body == as_public(said) + DONE
    books = await booked(gateway)
    assert books.event.status is AttemptStatus.OK


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_comments_alone_do_not_make_the_status_go_out(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(
        head(), chunk(PROCESSING * 3), wait("looked"), chunk(form.content("a") + form.finish("stop")), end()
    )
    client = await ask(world, gateway, form)
    await upstream.request()
    upstream.script(*form.healthy())
    other = await call(world, gateway, form)  # the first call's comments have certainly been read by now
    assert other.status == 200
    assert client.seen == b""
    upstream.open("looked")

    got = await reply(client)

    assert got.text(form) == "a"
    assert got.attempts == "upstream:ok"


async def bridged(world: World, pace: Pace) -> bytes:
    """Let a vendor that has sent an event with an id fall silent; give what the client got."""
    keepalive_s, silent_s = pace(5, 0.05), pace(20, 0.25)
    settings = EngineSettings(hold_status_s=keepalive_s, keepalive_comment_s=keepalive_s)
    upstream, gateway = await one_upstream(world, engine=settings)
    upstream.script(
        head(),
        chunk(b"id: 9\nretry: 100\n\n" + b"id: 9\n" + CHAT_STREAM.content("")),
        pause_s(silent_s),
        chunk(b"id: 10\n" + C("hello") + b"retry: 7\n" + F("stop") + U(7, 2) + DONE),
        end(),
    )
    got = await call(world, gateway, CHAT_STREAM, within_s=silent_s + PATIENCE_S)
    assert got.status == 200
    assert sum(event.is_comment for event in got.events) >= 3
    assert {field for event in got.events for field in event.fields} == {"", "data"}
    books = await booked(gateway)
    assert books.event.status is AttemptStatus.OK
    assert books.event.usage == Usage(7, 2)
    assert books.event.first_token_s is not None
    assert books.event.first_token_s >= silent_s * 0.99
    return got.body


async def test_keep_alives_are_comments_and_no_id_or_retry_line_gets_through(world: World, pace: Pace) -> None:
    await bridged(world, pace)


async def test_the_official_client_reads_a_bridged_silence_without_an_error(world: World, pace: Pace) -> None:
    body = await bridged(world, pace)

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    transport = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    async with openai.AsyncOpenAI(api_key=KEY, base_url="http://gateway/v1", http_client=transport) as client:
        chunks = [
            one
            async for one in await client.chat.completions.create(
                model=MODEL, messages=[{"role": "user", "content": "hi"}], stream=True
            )
        ]
    assert "".join(one.choices[0].delta.content or "" for one in chunks) == "hello"


@pytest.mark.parametrize("kind", Kind, ids=str)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_comments_for_ever_end_by_the_timer_of_the_first_token(
    world: World, pace: Pace, form: StreamForm, kind: Kind
) -> None:
    first_token_s = pace(60, 0.2)
    timeouts = TimeoutSpec(first_token_s=first_token_s, idle_s=first_token_s / 2)
    upstream, gateway = await one_upstream(world, kind, timeouts=timeouts)
    upstream.script(head(), *trickle(every_s=first_token_s / 10, for_s=first_token_s * 10))
    began_at = world.now()

    got = await call(world, gateway, form, within_s=first_token_s + PATIENCE_S)

    assert got.status == 504
    assert got.error["code"] == "upstream_timeout"
    assert world.now() - began_at >= first_token_s * 0.99
    await upstream.left()
    books = await booked(gateway)
    assert books.event.status is AttemptStatus.FAILED
    assert books.event.usage == Usage()
    assert books.words == ("first_token_timeout",)
    idle(gateway)
    await works_again(world, gateway, upstream, form)


async def test_our_keep_alives_do_not_stop_the_timer_of_the_first_token(world: World, pace: Pace) -> None:
    first_token_s, keepalive_s = pace(60, 0.4), pace(5, 0.05)
    settings = EngineSettings(hold_status_s=keepalive_s, keepalive_comment_s=keepalive_s)
    first, second, gateway = await two_vendors(
        world, timeouts=TimeoutSpec(first_token_s=first_token_s), engine=settings
    )
    first.script(head(), *trickle(every_s=first_token_s / 10, for_s=first_token_s * 10))
    second.script(*CHAT_STREAM.healthy())

    got = await call(world, gateway, CHAT_STREAM, within_s=first_token_s + PATIENCE_S)

    assert got.status == 200
    assert got.is_done
    assert got.text(CHAT_STREAM) == "It connects."
    books = await booked(gateway)
    assert books.words == ("first_token_timeout", "ok")


async def test_comments_in_mid_stream_feed_the_idle_timer(world: World, pace: Pace) -> None:
    idle_s = pace(45, 0.2)
    upstream, gateway = await one_upstream(world, timeouts=TimeoutSpec(idle_s=idle_s))
    upstream.script(
        head(),
        chunk(C("a")),
        *trickle(every_s=idle_s / 5, for_s=idle_s * 2),
        chunk(F("stop") + U(7, 2) + DONE),
        end(),
    )

    got = await call(world, gateway, CHAT_STREAM, within_s=2 * idle_s + PATIENCE_S)

    assert got.is_done
    assert (await booked(gateway)).event.status is AttemptStatus.OK
