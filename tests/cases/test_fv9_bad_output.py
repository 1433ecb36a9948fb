"""FV9: whatever a vendor sends, it is bounded, becomes a typed error, and other calls do not notice."""

import asyncio
import gzip
import json
from collections.abc import Callable, Sequence

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.catalogue import TimeoutSpec
from ktms.domain.conversation.usage import Usage
from ktms.engine.settings import KIB, EngineSettings
from tests.cases.calls import Reply, booked, call, idle, one_upstream, two_vendors, works_again
from tests.cases.forms import CHAT, CHAT_STREAM, FORMS, STREAMS, WHOLES, Form, StreamForm, WholeForm
from tests.world.events import DONE, comment, role
from tests.world.http_message import SeenRequest
from tests.world.pace import Pace
from tests.world.script import JSON, Framing, Script, Step, chunk, end, fin, head, hold, pause_s, raw
from tests.world.vendor import MockVendor
from tests.world.watch import PATIENCE_S
from tests.world.world import GatewayUnderTest, World

SMALL = EngineSettings(
    whole_answer_max_bytes=64 * KIB, held_max_bytes=64 * KIB, stream_max_bytes=256 * KIB, error_body_max_bytes=KIB
)
"""Bounds so small that a test reaches them."""

BLOCK = b"x" * (64 * KIB)
EVENT_MAX_BLOCKS = 256
"""16 MiB: the longest event taken."""

BAD = 666
"""A call with this seed gets the bad answer; all others a healthy one."""

LAST_CHUNKS = b"2\r\n{}\r\n0\r\n\r\n"

HEADS: dict[str, bytes] = {
    "another-protocol": b"SSH-2.0-OpenSSH_9.7\r\n",
    "tls-alert": b"\x15\x03\x01\x00\x02\x02\x46",
    "nothing-but-noise": bytes(range(256)) * 16,
    "http-2-version": b"HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "two-framings": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n" + LAST_CHUNKS,
    "two-lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
    "negative-length": b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
    "strange-coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" + LAST_CHUNKS,
    "switching-protocols": b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "strange-status": b"HTTP/1.1 999 Whatever\r\nContent-Length: 2\r\n\r\n{}",
    "endless-head": b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %b\r\n" % (n, b"y" * 1000) for n in range(99)),
    "too-many-headers": b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(500)),
    "endless-interim": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 500,
}

STREAM_BODIES: dict[str, tuple[tuple[Step, ...], str]] = {
    "endless-event": ((*(chunk(BLOCK),) * (EVENT_MAX_BLOCKS + 8), hold()), "too_large"),
    "endless-line-of-data": ((chunk(b"data: "), *(chunk(BLOCK),) * (EVENT_MAX_BLOCKS + 8), hold()), "too_large"),
    "invisible-for-ever": ((*(chunk(role() * 100),) * 40, hold()), "too_large"),
    "no-json": ((chunk(b"data: {nope}\n\n"), hold()), "malformed"),
    "no-object": ((chunk(b"data: [1]\n\n"), hold()), "malformed"),
    "no-utf8": ((chunk(b'data: {"choices":"\xff\xfe"}\n\n'), fin()), "closed"),
    "a-page": ((chunk(b"<html><body>It works!</body></html>"), end()), "closed"),
    "nothing": ((end(),), "closed"),
    "no-chunk": ((raw(b"zz\r\nhello\r\n"), hold()), "malformed"),
    "chunk-longer-than-told": ((raw(b"5\r\nhello world\r\n"), hold()), "malformed"),
    "endless-chunk-extension": ((raw(b"5;"), *(raw(BLOCK),) * 40, hold()), "malformed"),
}
"""What stands behind a healthy head, and the word for it."""

WHOLE_BODIES: dict[str, tuple[tuple[Step, ...], str]] = {
    "gigantic": ((head(200, JSON), *(chunk(BLOCK),) * 40, hold()), "too_large"),
    "gigantic-by-length": ((head(200, JSON, framing=Framing.LENGTH, length=10**12), hold()), "too_large"),
    "gigantic-until-close": ((head(200, JSON, framing=Framing.CLOSE), *(chunk(BLOCK),) * 40, hold()), "too_large"),
    "a-page": ((head(200, "text/html"), chunk(b"<html></html>"), end()), "malformed"),
    "a-list": ((head(200, JSON), chunk(b"[]"), end()), "malformed"),
    "nothing": ((head(200, JSON, framing=Framing.LENGTH, length=0), end()), "malformed"),
    "a-stream": ((head(), chunk(CHAT_STREAM.content("a") + DONE), end()), "malformed"),
    "cut": ((head(200, JSON, framing=Framing.LENGTH, length=1000), chunk(b'{"model":"m"'), fin()), "closed"),
    "no-chunk": ((head(200, JSON), raw(b"zz\r\n{}\r\n"), hold()), "malformed"),
    "redirect": ((head(302, headers=(("Location", "http://10.0.0.1/"),)), end()), "302"),
    "no-content": ((raw(b"HTTP/1.1 204 No Content\r\n\r\n"), hold()), "204"),
}


async def judged(world: World, form: Form, script: Sequence[Step], word: str) -> None:
    """Let the first of two vendors answer one call badly and others well; check that only that one moves on."""
    first, second, gateway = await two_vendors(world, engine=SMALL)
    first.standing(bad_for_one(form, script))
    second.standing(form.healthy())
    began_at = world.now()

    async with asyncio.TaskGroup() as group:
        moved = group.create_task(call(world, gateway, form, seed=BAD))
        others = [group.create_task(call(world, gateway, form)) for _ in range(4)]

    assert [other.result().status for other in others] == [200] * 4
    assert {other.result().attempts for other in others} == {"first:ok"}
    assert moved.result().status == 200
    assert moved.result().attempts == f"first:{word}, second:ok"
    assert world.now() - began_at < PATIENCE_S / 2
    check_books(gateway, form)
    idle(gateway)


def bad_for_one(form: Form, script: Sequence[Step]) -> Callable[[SeenRequest], Sequence[Step]]:
    def chosen(request: SeenRequest) -> Sequence[Step]:
        return script if json.loads(request.body).get("seed") == BAD else form.healthy()

    return chosen


def check_books(gateway: GatewayUnderTest, form: Form) -> None:
    events = gateway.ledger.events
    assert len(events) == 6
    assert [(event.status, event.usage) for event in events if event.status is not AttemptStatus.OK] == [
        (AttemptStatus.FAILED, Usage())
    ]
    assert {event.usage for event in events if event.status is AttemptStatus.OK} == {form.counted}
    assert len(gateway.telemetry.records) == 5


@pytest.mark.parametrize("sent", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize("form", [CHAT_STREAM, CHAT], ids=str)
async def test_what_is_no_http_moves_on(world: World, form: Form, sent: bytes) -> None:
    await judged(world, form, (raw(sent), hold()), "malformed")


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_compressed_answer_moves_on(world: World, form: Form) -> None:
    squeezed = gzip.compress(b"0" * (1024 * KIB))
    told = head(200, JSON, (("Content-Encoding", "gzip"),), framing=Framing.LENGTH, length=len(squeezed))
    await judged(world, form, (told, chunk(squeezed), end()), "encoded")


@pytest.mark.parametrize(("body", "word"), STREAM_BODIES.values(), ids=STREAM_BODIES)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_bad_stream_moves_on(world: World, form: StreamForm, body: tuple[Step, ...], word: str) -> None:
    await judged(world, form, (head(), *body), word)


@pytest.mark.parametrize(("script", "word"), WHOLE_BODIES.values(), ids=WHOLE_BODIES)
@pytest.mark.parametrize("form", WHOLES, ids=str)
async def test_a_bad_whole_answer_moves_on(
    world: World, form: WholeForm, script: Sequence[Step], word: str
) -> None:
    await judged(world, form, script, word)


LATE: dict[str, tuple[tuple[Step, ...], str]] = {
    "endless-event": ((*(chunk(BLOCK),) * (EVENT_MAX_BLOCKS + 8), hold()), "too_large"),
    "endless-stream": ((*(chunk(comment("x" * 1000) * 60),) * 40, hold()), "too_large"),
    "no-json": ((chunk(b"data: {nope}\n\n"), hold()), "malformed"),
    "no-chunk": ((raw(b"zz\r\nhello\r\n"), hold()), "malformed"),
    "endless-chunk-extension": ((raw(b"5;"), *(raw(BLOCK),) * 40, hold()), "malformed"),
}


@pytest.mark.parametrize(("body", "word"), LATE.values(), ids=LATE)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_bad_output_behind_visible_text_is_one_error_event(
    world: World, form: StreamForm, body: tuple[Step, ...], word: str
) -> None:
    upstream, gateway = await one_upstream(world, engine=SMALL)
    upstream.script(head(), chunk(form.content("a")), *body)

    got = await call(world, gateway, form)

    check_interrupted(got, form)
    await upstream.left(0)
    books = await booked(gateway)
    assert books.words == (word,)
    assert books.event.status is AttemptStatus.INTERRUPTED
    assert books.event.usage.completion_tokens == 1
    idle(gateway)
    await works_again(world, gateway, upstream, form)


def check_interrupted(got: Reply, form: StreamForm) -> None:
    assert got.status == 200
    assert got.whole
    assert got.text(form) == "a"
    assert got.error["code"] == "stream_interrupted"


async def test_a_gigantic_error_is_its_status_and_no_more(world: World) -> None:
    upstream, gateway = await one_upstream(world, engine=SMALL)
    upstream.script(head(400, JSON), *(chunk(BLOCK),) * 40, hold())

    got = await call(world, gateway, CHAT)

    assert got.status == 400
    assert len(got.body) < KIB
    await upstream.left(0)
    assert (await booked(gateway)).event.status is AttemptStatus.REFUSED
    await works_again(world, gateway, upstream, CHAT)


def drip(data: bytes, every_s: float) -> tuple[Step, ...]:
    return tuple(step for byte in data for step in (raw(bytes([byte])), pause_s(every_s)))


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_head_that_drips_ends_by_the_timer_of_the_first_token(
    world: World, pace: Pace, form: Form
) -> None:
    first_token_s = pace(60, 0.3)
    first, second, gateway = await two_vendors(world, timeouts=TimeoutSpec(first_token_s=first_token_s))
    first.script(*drip(b"HTTP/1.1 200 OK\r\nX-Slow: " + b"y" * 1000, first_token_s / 20))
    second.script(*form.healthy())

    got = await call(world, gateway, form, within_s=first_token_s + PATIENCE_S)

    assert got.attempts == "first:first_token_timeout, second:ok"
    assert (await booked(gateway)).events[0].usage == Usage()


async def dripping(world: World, form: Form, script: Script, *, timeouts: TimeoutSpec) -> tuple[MockVendor, Reply]:
    upstream, gateway = await one_upstream(world, timeouts=timeouts)
    assert not callable(script)
    upstream.script(*script)
    assert timeouts.total_s is not None
    got = await call(world, gateway, form, within_s=timeouts.total_s + PATIENCE_S)
    books = await booked(gateway)
    assert books.words == ("total_timeout",)
    await works_again(world, gateway, upstream, form)
    return upstream, got


@pytest.mark.parametrize("form", WHOLES, ids=str)
async def test_a_body_that_drips_ends_by_the_timer_of_the_attempt(
    world: World, pace: Pace, form: WholeForm
) -> None:
    total_s = pace(600, 0.4)
    told = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n\r\n"
    script = (raw(told), *drip(b" " * 1000, total_s / 20))

    _, got = await dripping(world, form, script, timeouts=TimeoutSpec(idle_s=total_s / 2, total_s=total_s))

    assert got.status == 504


async def test_a_stream_that_drips_ends_by_the_timer_of_the_attempt(world: World, pace: Pace) -> None:
    total_s = pace(600, 0.4)
    told = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    text = b"".join(CHAT_STREAM.content("a") for _ in range(20))
    script = (raw(told + CHAT_STREAM.content("a")), *drip(text, total_s / 50))

    _, got = await dripping(world, CHAT_STREAM, script, timeouts=TimeoutSpec(idle_s=total_s / 2, total_s=total_s))

    assert got.status == 200
    assert got.error["code"] == "stream_interrupted"


async def test_bytes_behind_an_answer_do_not_become_the_next_one(world: World) -> None:
    upstream, gateway = await one_upstream(world)
    told = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(CHAT.body)
    forged = b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"forged":true}'
    upstream.script(raw(told + CHAT.body + forged), hold())

    got = await call(world, gateway, CHAT)
    again = await works_again(world, gateway, upstream, CHAT)

    assert got.status == 200
    assert b"forged" not in got.body + again.body
    assert len(upstream.connections) == 2
