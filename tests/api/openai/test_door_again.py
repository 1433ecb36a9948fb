"""Calls that are made again: under an Idempotency-Key, and where answers are kept."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Literal

import pytest

from ktms.adapters.memory.upstream import Wait
from ktms.dialects.openai_chat.request import HEAVY_BYTES
from tests.api.house import House, house_of
from tests.engine.rig import CATALOGUE, refusal, stream, whole


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_call_that_must_not_be_paid_twice_is_not_started_where_nobody_can_tell(
    house: House, streamed: bool
) -> None:
    house.says("alpha", whole())
    await house.chat()
    house.store.away = True
    answer = await house.chat("Idempotency-Key: order-7", stream=streamed)
    assert (answer.status, answer.code) == (503, "idempotency_unavailable")
    assert answer.headers["retry-after"] == "2"
    assert answer.json["error"]["param"] == "Idempotency-Key"
    assert len(house.upstream.exchanges) == 1


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_repeat_is_answered_as_the_first_call_was(house: House, streamed: bool) -> None:
    house.says("alpha", stream("a") if streamed else whole(), refusal(400))
    async with at_work(house):
        first, again = [await house.chat("Idempotency-Key: order-7", stream=streamed) for _ in range(2)]
    assert (first.status, again.status) == (200, 200)
    assert first.body == again.body
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["content-type"] == first.headers["content-type"]


async def test_an_idempotency_key_for_another_body_is_422(house: House) -> None:
    house.says("alpha", whole())
    async with at_work(house):
        await house.chat("Idempotency-Key: order-7")
        answer = await house.chat("Idempotency-Key: order-7", seed=1)
    assert (answer.status, answer.code) == (422, "idempotency_conflict")


class Gate(asyncio.Event):
    """A gate that tells when somebody stands before it."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()

    async def wait(self) -> Literal[True]:
        self.reached.set()
        return await super().wait()


async def test_a_repeat_of_a_call_under_way_is_409(house: House) -> None:
    gate = Gate()
    house.says("alpha", (Wait(gate), *whole()))
    async with at_work(house), asyncio.TaskGroup() as group:
        first = group.create_task(house.chat("Idempotency-Key: order-7"))
        await gate.reached.wait()
        answer = await house.chat("Idempotency-Key: order-7")
        gate.set()
    assert (answer.status, answer.code, answer.headers["retry-after"]) == (409, "idempotency_conflict", "2")
    assert first.result().status == 200


async def test_an_idempotency_key_that_cannot_be_one_is_400(house: House) -> None:
    answer = await house.chat("Idempotency-Key:")
    assert (answer.status, answer.json["error"]["param"]) == (400, "Idempotency-Key")


@asynccontextmanager
async def at_work(house: House) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        running = group.create_task(house.gateway.run())
        yield
        running.cancel()


KEPT = replace(CATALOGUE, models=tuple(replace(model, cache_ttl_s=60) for model in CATALOGUE.models))


@pytest.mark.parametrize("size", [10, 2 * HEAVY_BYTES])
async def test_an_answer_that_was_kept_is_given_again(size: int) -> None:
    async with house_of(catalogue=KEPT) as house:
        house.says("alpha", whole("a"), whole("b"))
        answers = [await house.chat(user="x" * size) for _ in range(2)]
        off = await house.chat("X-KTMS-Cache: off", user="x" * size)
    assert [answer.headers["x-ktms-cache"] for answer in (*answers, off)] == ["miss", "hit", "off"]
    assert answers[0].body == answers[1].body != off.body


async def test_a_kept_stream_is_given_again_in_valid_chunks() -> None:
    async with house_of(catalogue=KEPT) as house:
        house.says("alpha", stream("a", "b"))
        answers = [await house.chat(stream=True) for _ in range(2)]
    assert [answer.headers["x-ktms-cache"] for answer in answers] == ["miss", "hit"]
    assert answers[0].body == answers[1].body
