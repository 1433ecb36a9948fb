"""P53: a prompt of a million tokens, or an answer that nobody counted, holds up neither probes nor other calls.

All actors of a case share one process. What is measured is the processor time that it spends while a probe waits,
on all of its threads: a large body is read beside the loop, and what holds the interpreter there holds the loop up
too. What other programs on a busy machine spend is not in it; what vendor and client do is, so it is a bound.
"""

import asyncio
import time
from collections.abc import Sequence

import pytest

from ktms.domain.conversation.usage import Usage
from tests.cases.calls import UPSTREAM, booked, one_upstream, reply
from tests.cases.forms import CHAT, CHAT_STREAM, Form
from tests.world.catalogues import KEY, MODEL
from tests.world.client import get, post
from tests.world.events import DONE, STREAM_ID, VENDOR_MODEL, C, F, Json, compact
from tests.world.http_message import SeenRequest
from tests.world.script import Step, answer, stream
from tests.world.world import GatewayUnderTest, World

PROMPT = "word " * 800_000
"""4 MB: about a million tokens to any tokenizer, which would take a second or more over them."""

ANSWER_BYTES = 300_000
EVENTS = 60
SMALL_CALLS = 50

WAIT_MAX_S = 0.05
"""Half of what the case allows. The worst wait is some 10 ms; to count the words of 4 MB takes twice the bound."""

TEXT = "x" * ANSWER_BYTES
PARTS = [C("x" * (ANSWER_BYTES // EVENTS))] * EVENTS
UNCOUNTED: dict[str, tuple[Step, ...]] = {
    CHAT.name: answer(
        compact(
            {
                "id": STREAM_ID,
                "object": "chat.completion",
                "created": 0,
                "model": VENDOR_MODEL,
                "choices": [
                    {"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}
                ],
            }
        )
    ),
    CHAT_STREAM.name: stream(*PARTS, F("stop"), DONE),
}


def large(form: Form) -> bytes:
    """Write a call with the large prompt."""
    messages: Json = [{"role": "user", "content": PROMPT}]
    return post(form.target, {**form.fields, "model": MODEL, "messages": messages}, key=KEY)


async def probed(world: World, gateway: GatewayUnderTest, work: "asyncio.Task[None]") -> Sequence[float]:
    """Probe without a pause while the work goes on; give the processor time of each wait."""
    client = await world.client(gateway)
    waits: list[float] = []
    while not work.done():
        began = time.process_time()
        client.send(get("/healthz"))
        assert (await client.head()).status == 200
        await client.body()
        waits.append(time.process_time() - began)
    return waits


async def small_calls(world: World, gateway: GatewayUnderTest) -> None:
    """Make small calls on one connection, one after another."""
    client = await world.client(gateway)
    for _ in range(SMALL_CALLS):
        client.send(post(CHAT.target, CHAT.fields, key=KEY))
        assert (await reply(client)).status == 200


async def work(world: World, gateway: GatewayUnderTest, request: bytes) -> None:
    """Make the large call, and the small ones beside it."""

    async def large_call() -> None:
        client = await world.client(gateway)
        client.send(request)
        got = await reply(client)
        assert (got.status, got.whole) == (200, True), got.body[:200]

    async with asyncio.TaskGroup() as group:
        group.create_task(large_call())
        group.create_task(small_calls(world, gateway))


@pytest.mark.parametrize("form", [CHAT, CHAT_STREAM], ids=str)
async def test_neither_probes_nor_small_calls_wait_for_a_large_one(world: World, form: Form) -> None:
    upstream, gateway = await one_upstream(world)

    def script(request: SeenRequest) -> Sequence[Step]:
        return UNCOUNTED[form.name] if len(request.body) > len(PROMPT) else CHAT.healthy()

    upstream.standing(script)
    request = large(form)
    async with asyncio.TaskGroup() as group:
        waits = await probed(world, gateway, group.create_task(work(world, gateway, request)))
    assert len(waits) > SMALL_CALLS, "nobody had to wait for long"
    assert max(waits) < WAIT_MAX_S, f"of {len(waits)} probes"
    assert len(gateway.telemetry.records) == SMALL_CALLS + 1


@pytest.mark.parametrize("form", [CHAT, CHAT_STREAM], ids=str)
async def test_what_nobody_counted_is_estimated_from_its_bytes(world: World, form: Form) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(*UNCOUNTED[form.name])
    client = await world.client(gateway)
    client.send(large(form))
    await reply(client)
    assert (await booked(gateway)).event.usage == Usage(len(PROMPT) // 4, ANSWER_BYTES // 4, estimated=True), (
        UPSTREAM
    )
