import asyncio

import pytest

from ktms.adapters.memory.client import MemoryClient
from ktms.dialects.openai_chat.errors import KEEPALIVE
from ktms.dialects.openai_chat.stream import DONE
from ktms.domain.conversation.usage import Usage
from ktms.domain.errors import ErrorCode, problem
from ktms.engine.call import Failed, Result, Streamed, Whole
from ktms.engine.recording import Recording
from ktms.engine.trail import Trail
from tests.engine.rig import Rig, cloud
from tests.engine.virtual_loop import settle

HEADERS = (("X-Request-Id", "1"), ("X-KTMS-Model", "cloudy"), ("Server-Timing", "gateway;dur=1"))
BROKEN = problem(ErrorCode.STREAM_INTERRUPTED, "it broke")


def trail_of(rig: Rig) -> Trail:
    found = rig.current.snapshot
    assert found is not None
    return Trail(rig.call(), model=cloud(found)[0], usage=Usage(3, 4))


def streamed(*pieces: bytes, bytes_max: int = 100) -> tuple[Recording, MemoryClient]:
    client = MemoryClient()
    recording = Recording(client, bytes_max)
    recording.begin(HEADERS)
    for piece in pieces:
        recording.write(piece)
    return recording, client


async def test_a_complete_stream_is_remembered_without_its_end_mark(rig: Rig) -> None:
    recording, client = streamed(b"one", b"two", DONE)
    recording.end()
    kept = recording.answer(Streamed(), trail_of(rig))
    assert kept is not None
    assert (kept.model, kept.streamed, kept.usage, kept.body) == ("cloudy", True, Usage(3, 4), b"onetwo")
    assert (client.body, client.ended, client.headers) == (b"onetwo" + DONE, True, HEADERS)


async def test_of_the_headers_what_was_decided_is_remembered(rig: Rig) -> None:
    recording, _ = streamed(b"one", DONE)
    kept = recording.answer(Streamed(), trail_of(rig))
    assert kept is not None
    assert kept.headers == (("X-KTMS-Model", "cloudy"),)


async def test_comments_that_bridge_silence_are_no_part_of_the_answer(rig: Rig) -> None:
    recording, client = streamed(KEEPALIVE, b"one", KEEPALIVE, DONE)
    kept = recording.answer(Streamed(), trail_of(rig))
    assert kept is not None
    assert kept.body == b"one"
    assert client.body.count(KEEPALIVE) == 2


@pytest.mark.parametrize("result", [Streamed(BROKEN), Streamed(), Failed((), BROKEN), None])
async def test_a_stream_without_its_end_mark_is_no_answer(rig: Rig, result: Result | None) -> None:
    recording, _ = streamed(b"one")
    assert recording.answer(result, trail_of(rig)) is None


async def test_an_answer_that_was_complete_when_its_client_left_is_one(rig: Rig) -> None:
    recording, _ = streamed(b"one", DONE)
    kept = recording.answer(None, trail_of(rig))
    assert kept is not None
    assert kept.body == b"one"


@pytest.mark.parametrize(("size", "too_large"), [(100, False), (101, True)])
async def test_an_answer_beyond_the_bound_is_not_remembered(rig: Rig, size: int, too_large: bool) -> None:
    recording, client = streamed(b"x", b"x" * (size - 1), DONE)
    assert recording.too_large is too_large
    assert (recording.answer(Streamed(), trail_of(rig)) is None) is too_large
    assert len(client.body) == size + len(DONE)


async def test_a_whole_answer_is_remembered_as_it_is(rig: Rig) -> None:
    kept = Recording(MemoryClient(), 100).answer(Whole(HEADERS, b"{}"), trail_of(rig))
    assert kept is not None
    assert (kept.streamed, kept.body) == (False, b"{}")


async def test_the_client_behind_it_is_waited_for_and_dropped() -> None:
    client = MemoryClient(room_bytes=1)
    recording = Recording(client, 100)
    recording.begin(())
    client.stop_reading()
    assert not recording.write(b"two")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(recording.drained())
        await settle()
        assert not waiting.done()
        recording.drop()
    assert waiting.done()
    assert client.dropped
