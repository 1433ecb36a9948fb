"""P01: lines may end in LF, CR or CRLF, and a read may end anywhere, also between CR and LF."""

import asyncio
import json

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.conversation.usage import Usage
from tests.cases.calls import Reply, as_public, booked, call, one_upstream
from tests.cases.forms import CHAT_STREAM, STREAMS, TEXT, StreamForm
from tests.world.events import DONE
from tests.world.http_message import SeenRequest
from tests.world.script import Step, end, head, pieces
from tests.world.world import World

ENDS = {"crlf": (b"\r\n",), "cr": (b"\r",), "mixed": (b"\r\n", b"\n", b"\r")}


def written_with(ends: tuple[bytes, ...], form: StreamForm) -> bytes:
    """Write a healthy stream whose events take these line ends in turn."""
    events = (form.content(TEXT), form.finish("stop"), form.usage(7, 2), DONE)
    return b"".join(event.replace(b"\n", ends[at % len(ends)]) for at, event in enumerate(events))


def check(got: Reply, form: StreamForm, sent: bytes) -> None:
    assert got.status == 200
    done = sent.index(b"data: [DONE]")
    assert got.body == as_public(sent[:done]) + DONE
    assert got.body.count(TEXT.encode()) == 1


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_each_event_arrives_once_where_every_byte_is_a_read_of_its_own(
    world: World, form: StreamForm, ends: tuple[bytes, ...]
) -> None:
    upstream, gateway = await one_upstream(world)
    sent = written_with(ends, form)
    upstream.script(head(), *pieces(*(bytes([byte]) for byte in sent), gap_s=0), end())

    check(await call(world, gateway, form, stream_options={"include_usage": True}), form, sent)

    books = await booked(gateway)
    assert books.event.status is AttemptStatus.OK
    assert books.event.usage == Usage(7, 2)


async def test_each_event_arrives_once_wherever_the_stream_is_split_in_two(world: World) -> None:
    form, ends = CHAT_STREAM, ENDS["mixed"]
    upstream, gateway = await one_upstream(world)
    sent = written_with(ends, form)
    positions = range(1, len(sent))

    def split(request: SeenRequest) -> tuple[Step, ...]:
        at = json.loads(request.body)["seed"]
        return (head(), *pieces(sent[:at], sent[at:]), end())

    upstream.standing(split)
    async with asyncio.TaskGroup() as group:
        calls = [
            group.create_task(call(world, gateway, form, seed=at, stream_options={"include_usage": True}))
            for at in positions
        ]
    for made in calls:
        check(made.result(), form, sent)
    assert len(gateway.ledger.events) == len(positions)
    assert {(event.status, event.usage) for event in gateway.ledger.events} == {(AttemptStatus.OK, Usage(7, 2))}


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_cut_between_cr_and_lf_is_one_line_end(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    first = form.content("a").replace(b"\n", b"\r\n")
    last = form.usage(7, 2).removesuffix(b"\n\n")
    finish = form.finish("stop")
    upstream.script(head(), *pieces(first + finish + last + b"\r", b"\n\r\ndata: [DONE]\r\n\r\n"), end())

    got = await call(world, gateway, form, stream_options={"include_usage": True})

    assert got.body == as_public(first + finish + last) + b"\r\n\r\n" + DONE
    books = await booked(gateway)
    assert books.event.usage == Usage(7, 2)
