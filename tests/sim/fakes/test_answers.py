"""What is kept for all replicas where there are no bytes, and how it fails."""

import asyncio

import pytest

from ktms.adapters.memory.answer_cache import MemoryAnswerCache
from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.ports.answer_cache import CacheAway
from sim.fakes.answers import AnswersLine, JournalAnswers
from sim.fakes.shared_store import TIMEOUT_S, SharedStore
from sim.journal.journal import Journal
from tests.sim.fakes.virtual import run

KEY = bytes(range(32))


def test_replicas_share_what_is_kept() -> None:
    async def work() -> bytes | None:
        shared = SharedStore(MemoryFleetStore())
        AnswersLine(shared).put(KEY, b"x", 60)
        return await AnswersLine(shared).get(KEY)

    assert run(work) == b"x"


@pytest.mark.parametrize(
    ("fault", "amount", "kind", "takes_s"),
    [
        ("redis_away", 0, "away", 0.0),
        ("redis_hung", 0, "timeout", TIMEOUT_S),
        ("redis_slow", 2, "timeout", TIMEOUT_S),
    ],
)
def test_a_store_in_trouble_tells_nothing_and_keeps_nothing(
    fault: str, amount: float, kind: str, takes_s: float
) -> None:
    async def work() -> tuple[str, float, bytes | None]:
        shared = SharedStore(MemoryFleetStore())
        line = AnswersLine(shared)
        shared.mode(fault, amount, on=True)
        line.put(KEY, b"x", 60)
        began = asyncio.get_running_loop().time()
        with pytest.raises(CacheAway) as away:
            await line.get(KEY)
        took_s = asyncio.get_running_loop().time() - began
        shared.mode(fault, amount, on=False)
        return away.value.kind, round(took_s, 6), await line.get(KEY)

    assert run(work) == (kind, takes_s, None)


def test_a_store_that_restarts_empty_has_nothing() -> None:
    async def work() -> bytes | None:
        shared = SharedStore(MemoryFleetStore())
        line = AnswersLine(shared)
        line.put(KEY, b"x", 60)
        shared.mode("redis_empty", on=True)
        return await line.get(KEY)

    assert run(work) is None


def test_what_is_found_and_offered_is_a_fact() -> None:
    journal = Journal(lambda: 0.0)

    async def work() -> None:
        cache = MemoryAnswerCache()
        answers = JournalAnswers("gw1", journal, cache)
        await answers.get(KEY)
        answers.put(KEY, b"x", 60)
        await answers.get(KEY)
        cache.away = "timeout"
        with pytest.raises(CacheAway):
            await answers.get(KEY)

    run(work)
    told = [fact.members.get("found") or fact.members.get("ttl_s") for fact in journal.facts]
    assert told == ["miss", 60, "hit", "timeout"]
