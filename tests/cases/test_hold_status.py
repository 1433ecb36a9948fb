"""The status waits for something visible, but not for ever: then 200 and comments go out; moving on goes on."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.catalogue import TimeoutSpec
from ktms.engine.settings import EngineSettings
from tests.cases.calls import Reply, ask, booked, call, idle, one_upstream, reply, two_vendors, works_again
from tests.cases.forms import CHAT_STREAM, STREAMS, TEXT, StreamForm
from tests.world.catalogues import KEY
from tests.world.client import post
from tests.world.events import DONE, error_event
from tests.world.pace import Pace
from tests.world.script import Step, chunk, end, fin, head, hold, pause_s, rst, status, stream
from tests.world.watch import PATIENCE_S
from tests.world.world import World

KEEPALIVE = b": keep-alive\n\n"


def bridging(pace: Pace) -> EngineSettings:
    return EngineSettings(hold_status_s=pace(10, 0.05), keepalive_comment_s=pace(15, 0.05))


def silence_s(pace: Pace) -> float:
    """Longer than the hold and two comments."""
    return pace(45, 0.2)


def check_bridged(got: Reply) -> None:
    """Check that the status and comments went out before anything visible."""
    assert got.status == 200
    assert got.head.header("content-type") == "text/event-stream"
    assert got.whole
    comments = [event for event in got.events if event.is_comment]
    assert len(comments) >= 2
    assert {event.raw for event in comments} == {KEEPALIVE}
    assert got.events[0].is_comment


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_slow_vendor_is_bridged_by_comments(world: World, pace: Pace, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world, engine=bridging(pace))
    upstream.script(pause_s(silence_s(pace)), *form.healthy())
    began_at = world.now()

    got = await call(world, gateway, form, within_s=silence_s(pace) + PATIENCE_S)

    check_bridged(got)
    assert got.text(form) == TEXT
    assert got.is_done
    assert got.events[0].at - began_at >= bridging(pace).hold_status_s * 0.9
    assert got.head.header("x-ktms-vendor") is None, "nobody had answered when the headers went out"
    books = await booked(gateway)
    assert books.event.status is AttemptStatus.OK
    assert books.record.status == 200


MOVING: dict[str, tuple[tuple[Step, ...], str]] = {
    "cut": ((fin(),), "closed"),
    "reset": ((rst(),), "closed"),
    "status-500": (status(500), "500"),
    "status-429": (status(429), "429"),
    "error-event": ((head(), chunk(error_event("late", code=503)), end()), "503"),
}


@pytest.mark.parametrize(("failure", "word"), MOVING.values(), ids=MOVING)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_moving_on_is_still_possible_after_the_hold(
    world: World, pace: Pace, form: StreamForm, failure: tuple[Step, ...], word: str
) -> None:
    first, second, gateway = await two_vendors(world, engine=bridging(pace))
    first.script(pause_s(silence_s(pace)), *failure)
    second.script(*form.healthy())

    got = await call(world, gateway, form, within_s=silence_s(pace) + PATIENCE_S)

    check_bridged(got)
    assert got.text(form) == TEXT
    assert got.is_done
    books = await booked(gateway)
    assert books.words == (word, "ok")
    assert books.record.vendor == "second"
    assert books.statuses == (AttemptStatus.FAILED, AttemptStatus.OK)


ENDING: dict[str, tuple[tuple[Step, ...], str, str]] = {
    "cut": ((fin(),), "upstream_error", "upstream_error"),
    "status-500": (status(500), "upstream_error", "upstream_error"),
    "status-400": (status(400), "invalid_request", "invalid_request_error"),
    "status-401": (status(401), "upstream_auth_error", "upstream_error"),
    "status-429": (status(429), "rate_limit_exceeded", "rate_limit_error"),
    "error-event": (stream(error_event("too long", code=400)), "invalid_request", "invalid_request_error"),
}


@pytest.mark.parametrize(("failure", "code", "kind"), ENDING.values(), ids=ENDING)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_an_error_after_the_hold_is_one_error_event(
    world: World, pace: Pace, form: StreamForm, failure: tuple[Step, ...], code: str, kind: str
) -> None:
    upstream, gateway = await one_upstream(world, engine=bridging(pace))
    upstream.script(pause_s(silence_s(pace)), *failure)

    got = await call(world, gateway, form, within_s=silence_s(pace) + PATIENCE_S)

    check_bridged(got)
    assert len(got.data) == 1
    assert (got.error["code"], got.error["type"]) == (code, kind)
    books = await booked(gateway)
    assert books.record.status == 200
    assert books.record.code == code
    assert not books.record.cancelled
    idle(gateway)


async def test_the_first_token_timer_ends_a_bridged_silence_too(world: World, pace: Pace) -> None:
    timeouts = TimeoutSpec(first_token_s=silence_s(pace))
    upstream, gateway = await one_upstream(world, engine=bridging(pace), timeouts=timeouts)
    upstream.script(hold())

    got = await call(world, gateway, CHAT_STREAM, within_s=silence_s(pace) + PATIENCE_S)

    check_bridged(got)
    assert got.error["code"] == "upstream_timeout"
    await upstream.left()
    await works_again(world, gateway, upstream, CHAT_STREAM)


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_silence_in_mid_stream_is_bridged_too(world: World, pace: Pace, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world, engine=bridging(pace))
    upstream.script(
        head(),
        chunk(form.content("a")),
        pause_s(silence_s(pace)),
        chunk(form.content("b") + form.finish("stop") + form.usage(7, 2) + DONE),
        end(),
    )

    got = await call(world, gateway, form, within_s=silence_s(pace) + PATIENCE_S)

    kinds = "".join(":" if event.is_comment else "d" for event in got.events)
    assert kinds.startswith("d::")
    assert kinds.strip("d").strip(":") == ""
    assert got.text(form) == "ab"
    assert (await booked(gateway)).event.usage.completion_tokens == 2


async def test_a_lively_stream_has_no_comments(world: World, pace: Pace) -> None:
    upstream, gateway = await one_upstream(world, engine=bridging(pace))
    every_s = pace(1, 0.005)
    words = tuple(step for _ in range(40) for step in (chunk(CHAT_STREAM.content("w ")), pause_s(every_s)))
    upstream.script(head(), *words, chunk(CHAT_STREAM.finish("stop") + DONE), end())

    got = await call(world, gateway, CHAT_STREAM, within_s=PATIENCE_S)

    assert not any(event.is_comment for event in got.events)
    assert got.is_done


async def test_a_comment_never_falls_into_half_an_event(world: World, pace: Pace) -> None:
    upstream, gateway = await one_upstream(world, engine=bridging(pace))
    event = CHAT_STREAM.content("hello")
    upstream.script(
        head(),
        chunk(CHAT_STREAM.content("a") + event[:40]),
        pause_s(silence_s(pace)),
        chunk(event[40:] + CHAT_STREAM.finish("stop") + DONE),
        end(),
    )

    got = await call(world, gateway, CHAT_STREAM, within_s=silence_s(pace) + PATIENCE_S)

    assert got.text(CHAT_STREAM) == "ahello"
    assert sum(event.is_comment for event in got.events) >= 2


async def test_a_client_that_leaves_a_bridged_silence_frees_the_vendor(world: World, pace: Pace) -> None:
    upstream, gateway = await one_upstream(world, engine=bridging(pace))
    upstream.script(hold())
    client = await ask(world, gateway, CHAT_STREAM)
    event = await client.event(silence_s(pace) + PATIENCE_S)
    assert event is not None
    assert event.is_comment

    client.fin()

    await upstream.left()
    assert (await booked(gateway)).event.status is AttemptStatus.CANCELLED
    idle(gateway)
    await works_again(world, gateway, upstream, CHAT_STREAM)


async def test_a_connection_that_was_bridged_serves_the_next_call(world: World, pace: Pace) -> None:
    upstream, gateway = await one_upstream(world, engine=bridging(pace))
    upstream.script(pause_s(silence_s(pace)), *status(500))
    client = await ask(world, gateway, CHAT_STREAM)
    check_bridged(await reply(client, within_s=silence_s(pace) + PATIENCE_S))
    upstream.script(*CHAT_STREAM.healthy())
    client.send(post(CHAT_STREAM.target, dict(CHAT_STREAM.fields), key=KEY))

    assert (await reply(client)).is_done
