"""One question per name at a time, however many ask and whoever of them leaves."""

import asyncio

import pytest

from ktms.adapters.upstream_http.resolver import Addresses, Resolver
from tests.adapters.upstream_http.scripted import until


class Names:
    """Counts questions; each waits until its turn to be answered."""

    def __init__(self) -> None:
        self.asked = 0
        self.answers = asyncio.Queue[Addresses | Exception]()

    async def resolve(self, host: str, port: int) -> Addresses:
        assert (host, port) == ("a", 1)
        self.asked += 1
        answer = await self.answers.get()
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_a_burst_asks_once() -> None:
    names = Names()
    resolver = Resolver(names.resolve)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(resolver.addresses("a", 1)) for _ in range(20)]
        await asyncio.sleep(0)
        names.answers.put_nowait(("1.1.1.1",))
    assert [task.result() for task in tasks] == [("1.1.1.1",)] * 20
    assert names.asked == 1


async def test_nothing_is_kept() -> None:
    names = Names()
    resolver = Resolver(names.resolve)
    for address in ("1.1.1.1", "2.2.2.2"):
        names.answers.put_nowait((address,))
        assert await resolver.addresses("a", 1) == (address,)


async def test_all_hear_of_a_failure() -> None:
    names = Names()
    resolver = Resolver(names.resolve)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_failure(resolver)) for _ in range(5)]
        await asyncio.sleep(0)
        names.answers.put_nowait(OSError("no such name"))
    assert [task.result() for task in tasks] == ["no such name"] * 5
    assert names.asked == 1


async def _failure(resolver: Resolver) -> str:
    with pytest.raises(OSError) as failed:
        await resolver.addresses("a", 1)
    return str(failed.value)


async def test_another_asks_when_the_first_leaves() -> None:
    names = Names()
    resolver = Resolver(names.resolve)
    async with asyncio.TaskGroup() as group:
        first, *others = [group.create_task(resolver.addresses("a", 1)) for _ in range(3)]
        await asyncio.sleep(0)
        first.cancel()
        await until(lambda: names.asked == 2)
        names.answers.put_nowait(("1.1.1.1",))
    assert [task.result() for task in others] == [("1.1.1.1",)] * 2
    assert names.asked == 2


async def test_one_who_leaves_takes_nobody_along() -> None:
    names = Names()
    resolver = Resolver(names.resolve)
    async with asyncio.TaskGroup() as group:
        first, second = [group.create_task(resolver.addresses("a", 1)) for _ in range(2)]
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        names.answers.put_nowait(("1.1.1.1",))
    assert first.result() == ("1.1.1.1",)
    assert names.asked == 1
