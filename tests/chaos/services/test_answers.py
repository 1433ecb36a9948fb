import asyncio
from collections.abc import Awaitable, Callable

import pytest

from chaos.services.answers import postgres_answers, redis_answers, toxiproxy_answers, until_it_answers
from chaos.services.free_port import free_port
from chaos.services.service import Address, ServiceFailed

QUESTIONS = {
    "postgres": lambda port: postgres_answers(f"postgresql://u:p@127.0.0.1:{port}/d"),
    "redis": lambda port: redis_answers(f"redis://:p@127.0.0.1:{port}/0"),
    "toxiproxy": lambda port: toxiproxy_answers(Address("127.0.0.1", port)),
}


@pytest.mark.parametrize("kind", QUESTIONS)
async def test_a_port_nobody_listens_on_does_not_answer(kind: str) -> None:
    assert not await QUESTIONS[kind](free_port())


@pytest.mark.parametrize("kind", QUESTIONS)
async def test_a_port_that_says_nothing_does_not_answer(kind: str, silent_port: int) -> None:
    assert not await QUESTIONS[kind](silent_port)


def after(looks: int) -> Callable[[], Awaitable[bool]]:
    """Answer from that look on."""
    left = iter([False] * looks + [True])

    async def ask() -> bool:
        return next(left)

    return ask


async def test_waiting_ends_with_the_first_answer() -> None:
    async with asyncio.timeout(5):
        await until_it_answers("it", after(3), within_s=5)


async def test_waiting_ends_with_the_deadline() -> None:
    with pytest.raises(ServiceFailed, match="it does not answer within 0 s: no room"):
        await until_it_answers("it", after(1000), within_s=0.05, last_words=lambda: "no room")


async def test_waiting_ends_when_it_has_ended() -> None:
    with pytest.raises(ServiceFailed, match="it has ended: port taken"):
        await until_it_answers("it", after(1000), within_s=5, alive=lambda: False, last_words=lambda: "port taken")
