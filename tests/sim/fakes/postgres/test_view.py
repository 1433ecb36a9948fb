import asyncio
from collections.abc import Iterator

import pytest

from ktms.adapters.memory.clock import LoopClock
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.store import NEWS_MAX
from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.ports.catalogue import StoreAway
from ktms.ports.change_feed import CatalogueChanged, KeyChanged, News
from sim.fakes.postgres.view import PostgresView
from tests.sim.fakes.postgres.house import CATALOGUE, SETTLE_S, House
from tests.sim.fakes.virtual import run

FOUND, AWAY, HUNG = ["found"], ["away"], ["hung"]


def test_a_question_about_keys_is_a_fact_with_its_ids() -> None:
    async def work() -> list[str]:
        house = House()
        first, second = await house.key("a"), await house.key("b")
        found = await house.view.keys.find((first.id, second.id))
        assert list(found) == [first.id, second.id]
        return [f"{first.id} {second.id}", house.journal.facts[-1].text("ids")]

    wanted, noted = run(work)
    assert noted == wanted


@pytest.mark.parametrize(("fault", "answer"), [(None, FOUND), ("postgres_away", AWAY), ("postgres_hung", HUNG)])
def test_how_it_was_answered_is_told(fault: str | None, answer: list[str]) -> None:
    async def work() -> list[str]:
        house = House()
        if fault is not None:
            house.postgres.mode(fault, on=True)
        await house.timed(house.view.keys.find(()))
        return house.answers()

    assert run(work) == answer


def test_a_caller_with_a_shorter_limit_met_a_database_that_hangs() -> None:
    async def work() -> list[str]:
        house = House()
        house.postgres.mode("postgres_hung", on=True)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await house.view.keys.find(())
        return house.answers()

    assert run(work) == HUNG


def test_a_caller_that_leaves_a_sound_database_says_nothing_about_it() -> None:
    async def work() -> list[str]:
        house = House()
        asking = house.loop.create_task(house.view.keys.find(()))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait((asking,))
        return house.answers()

    assert run(work) == []


def test_a_stored_catalogue_that_does_not_compile_says_so() -> None:
    async def work() -> object:
        house = House()
        await house.operator.apply(CATALOGUE)
        await house.operator.spoil()
        return (await house.timed(house.view.catalogue.snapshot()))[0]

    error = run(work)
    assert isinstance(error, CatalogueInvalid)
    assert "vendor-that-is-gone" in str(error)


def test_news_come_in_their_order() -> None:
    async def work() -> list[object]:
        house = House()
        key = await house.key()
        heard = await house.listening()
        await house.operator.apply(CATALOGUE)
        await house.operator.revoke(key.id)
        await asyncio.sleep(SETTLE_S)
        return [heard, [CatalogueChanged(), KeyChanged(key.id)]]

    heard, wanted = run(work)
    assert heard == wanted


def test_news_are_held_while_it_hangs() -> None:
    async def work() -> list[int]:
        house = House()
        heard = await house.listening()
        house.postgres.mode("postgres_hung", on=True)
        await house.operator.apply(CATALOGUE)
        await asyncio.sleep(1)
        before = len(heard)
        house.postgres.mode("postgres_hung", on=False)
        await asyncio.sleep(SETTLE_S)
        return [before, len(heard)]

    assert run(work) == [0, 1]


def test_a_feed_ends_when_a_silent_database_gives_no_sign_of_life() -> None:
    async def work() -> float:
        house = House()
        began_at = house.loop.time()
        heard: list[News | None] = []
        house.loop.call_later(1, lambda: house.postgres.mode("postgres_hung", on=True))
        await house.collect(heard.append)
        assert heard == [None]
        return house.loop.time() - began_at

    assert run(work) == pytest.approx(13.0, abs=0.01)


def test_a_feed_lives_on_through_silence() -> None:
    async def work() -> list[News | None]:
        house = House()
        heard = await house.listening()
        await asyncio.sleep(100)
        await house.operator.apply(CATALOGUE)
        await asyncio.sleep(SETTLE_S)
        return heard

    assert run(work) == [CatalogueChanged()]


@pytest.mark.parametrize("fault", ["postgres_away", "feed_lost"])
def test_a_lost_connection_ends_the_feed(fault: str) -> None:
    async def work() -> list[News | None]:
        house = House()
        heard = await house.listening()
        house.postgres.mode(fault, on=True)
        await asyncio.sleep(SETTLE_S)
        return heard

    assert run(work) == [None]


def test_a_notification_that_is_lost_leaves_the_change() -> None:
    async def work() -> list[object]:
        house = House()
        key = await house.key()
        heard = await house.listening()
        await house.operator.revoke(key.id, heard=False)
        await asyncio.sleep(SETTLE_S)
        found = await house.view.keys.find((key.id,))
        return [heard, found[key.id].revoked]

    assert run(work) == [[], True]


def test_a_key_may_be_revoked_while_no_replica_reaches_the_database() -> None:
    async def work() -> list[object]:
        house = House()
        key = await house.key()
        house.postgres.mode("postgres_away", on=True)
        await house.operator.revoke(key.id)
        refused, _ = await house.timed(house.view.keys.find((key.id,)))
        house.postgres.mode("postgres_away", on=False)
        found = await house.view.keys.find((key.id,))
        return [refused, found[key.id].revoked]

    refused, revoked = run(work)
    assert isinstance(refused, StoreAway)
    assert revoked


def test_two_replicas_hear_the_same() -> None:
    async def work() -> list[list[News | None]]:
        house = House()
        other = PostgresView(house.postgres, "gw2", house.journal, SeededEntropy("gw2"), LoopClock())
        first = await house.listening()
        house.view = other
        second = await house.listening()
        await house.operator.apply(CATALOGUE)
        await asyncio.sleep(SETTLE_S)
        return [first, second]

    assert run(work) == [[CatalogueChanged()]] * 2


def test_a_feed_that_takes_no_news_ends_as_the_real_one_does() -> None:
    async def work() -> list[int]:
        house = House()
        heard = house.postgres.hear("gw1")
        for _ in range(NEWS_MAX + 5):
            house.postgres.store.tell(CatalogueChanged())
        return [heard.news.qsize(), len([news for news in drained(heard.news) if news is None])]

    assert run(work) == [NEWS_MAX + 1, 1]


def drained(news: "asyncio.Queue[News | None]") -> Iterator[News | None]:
    while not news.empty():
        yield news.get_nowait()
