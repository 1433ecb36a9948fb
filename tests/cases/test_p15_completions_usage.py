"""P15: streamed text completions are counted like all others."""

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.conversation.usage import Usage
from tests.cases.calls import booked, one_upstream, reply
from tests.world.catalogues import KEY, MODEL
from tests.world.client import post
from tests.world.events import DONE, TC, TF, TU, event, usage
from tests.world.script import stream
from tests.world.world import World

ASKED = b'{"model":"%b","prompt":"hi","stream":true,"stream_options":{"include_usage":true}}' % MODEL.encode()


async def counted(world: World, *events: bytes) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(*stream(*events))
    client = await world.client(gateway)
    client.send(post("/v1/completions", ASKED, key=KEY))

    got = await reply(client)

    assert got.is_done
    assert got.chunks[-1]["usage"] == {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}
    assert got.chunks[-1]["model"] == MODEL
    books = await booked(gateway)
    assert books.event.status is AttemptStatus.OK
    assert books.event.usage == Usage(2, 3)
    assert books.record.route == "/completions"


async def test_usage_on_an_extra_chunk_reaches_client_and_books(world: World) -> None:
    await counted(world, TC("a"), TC("b"), TC("c"), TF("stop"), TU(2, 3), DONE)


async def test_usage_on_the_last_text_chunk_reaches_client_and_books(world: World) -> None:
    choice = {"index": 0, "text": "c", "logprobs": None, "finish_reason": "stop"}
    last = event({"object": "text_completion", "model": "x", "choices": [choice], "usage": usage(2, 3)})
    await counted(world, TC("a"), TC("b"), last, DONE)
