import asyncio

import pytest

from ktms.adapters.postgres import change_feed, pool
from ktms.domain.joined_node import NodePermit
from ktms.ports.catalogue import StoreAway
from sim.fakes.postgres import server, view
from sim.fakes.postgres.operator import OPERATOR
from sim.fakes.postgres.server import CONNECTIONS_MAX, Unanswered
from tests.sim.fakes.postgres.house import House
from tests.sim.fakes.virtual import run


def test_the_bounds_are_those_of_the_real_adapter() -> None:
    assert server.OPERATION_TIMEOUT_S == pool.OPERATION_TIMEOUT_S
    assert server.CONNECTIONS_MAX == pool.CONNECTIONS_MAX - change_feed.CONNECTIONS
    assert view.SILENCE_MAX_S == change_feed.SILENCE_MAX_S


def test_a_sound_database_answers_within_a_millisecond() -> None:
    async def work() -> list[float]:
        house = House()
        return [(await house.timed(house.view.catalogue.version()))[1] for _ in range(50)]

    took = run(work)
    assert min(took) > 0
    assert max(took) < 0.001


def test_one_that_is_away_refuses_at_once() -> None:
    async def work() -> tuple[object, float]:
        house = House()
        house.postgres.mode("postgres_away", on=True)
        return await house.timed(house.view.catalogue.version())

    error, took_s = run(work)
    assert isinstance(error, StoreAway)
    assert not isinstance(error, Unanswered)
    assert took_s < 0.001


def test_one_that_hangs_is_given_up_after_the_time_of_an_operation() -> None:
    async def work() -> tuple[object, float]:
        house = House()
        house.postgres.mode("postgres_hung", on=True)
        return await house.timed(house.view.catalogue.version())

    error, took_s = run(work)
    assert isinstance(error, Unanswered)
    assert took_s == pytest.approx(3.0)


def test_answers_still_waited_for_come_when_it_hangs_no_more() -> None:
    async def work() -> tuple[object, float]:
        house = House()
        house.postgres.mode("postgres_hung", on=True)
        house.loop.call_later(2, lambda: house.postgres.mode("postgres_hung", on=False))
        return await house.timed(house.view.catalogue.version())

    version, took_s = run(work)
    assert version == 0
    assert 2 < took_s < 2.01


def test_one_that_goes_away_breaks_what_is_under_way() -> None:
    async def work() -> tuple[object, float]:
        house = House()
        house.postgres.mode("postgres_hung", on=True)
        house.loop.call_later(1, lambda: house.postgres.mode("postgres_away", on=True))
        return await house.timed(house.view.catalogue.version())

    error, took_s = run(work)
    assert isinstance(error, StoreAway)
    assert took_s == pytest.approx(1.0)


def test_one_that_is_slow_takes_so_much_longer() -> None:
    async def work() -> float:
        house = House()
        house.postgres.mode("postgres_slow", 2.0, on=True)
        return (await house.timed(house.view.catalogue.version()))[1]

    assert run(work) == pytest.approx(2.0, abs=0.001)


def test_one_that_is_too_slow_is_given_up() -> None:
    async def work() -> object:
        house = House()
        house.postgres.mode("postgres_slow", 5.0, on=True)
        return (await house.timed(house.view.catalogue.version()))[0]

    assert isinstance(run(work), Unanswered)


def test_faults_of_one_kind_may_overlap() -> None:
    async def work() -> list[bool]:
        house = House()
        for on in (True, True, False):
            house.postgres.mode("postgres_away", on=on)
        before = house.postgres.away
        house.postgres.mode("postgres_away", on=False)
        return [before, house.postgres.away]

    assert run(work) == [True, False]


def test_no_replica_asks_more_at_once_than_its_pool_has_connections() -> None:
    async def work() -> list[float]:
        house = House()
        house.postgres.mode("postgres_slow", 1.0, on=True)
        asked = (house.timed(house.view.catalogue.version()) for _ in range(CONNECTIONS_MAX + 1))
        return sorted(took_s for _, took_s in await asyncio.gather(*asked))

    took = run(work)
    assert took[-2] < 1.1
    assert took[-1] == pytest.approx(2.0, abs=0.01)


def test_waiting_for_a_connection_counts_into_the_time_of_an_operation() -> None:
    async def work() -> list[float]:
        house = House()
        house.postgres.mode("postgres_hung", on=True)
        asked = (house.timed(house.view.catalogue.version()) for _ in range(3 * CONNECTIONS_MAX))
        return [took_s for _, took_s in await asyncio.gather(*asked)]

    assert run(work) == pytest.approx([3.0] * 3 * CONNECTIONS_MAX)


def test_a_slow_answer_tells_of_the_question_or_of_the_answer() -> None:
    async def work() -> set[int]:
        told: set[int] = set()
        for seed in range(20):
            house = House(seed)
            house.postgres.mode("postgres_slow", 1.0, on=True)
            asking = house.loop.create_task(house.view.catalogue.version())
            await asyncio.sleep(0.5)
            await house.operator.spoil()
            told.add(await asking)
        return told

    assert run(work) == {0, 1}


def test_the_same_seed_gives_the_same_trace() -> None:
    async def work() -> str:
        house = House()
        await house.key()
        for _ in range(5):
            await house.view.catalogue.version()
        house.postgres.mode("postgres_away", on=True)
        await house.timed(house.view.catalogue.snapshot())
        return house.trace.digest()

    assert run(work) == run(work)


def test_every_answer_and_every_refusal_is_in_the_trace() -> None:
    async def work() -> int:
        house = House()
        await house.view.catalogue.version()
        house.postgres.mode("postgres_away", on=True)
        await house.timed(house.view.catalogue.version())
        return house.trace.counts["reply"]

    assert run(work) == 2


def test_a_host_that_crashed_is_forgotten() -> None:
    async def work() -> list[object]:
        house = House()
        house.postgres.mode("postgres_hung", on=True)
        asking = house.loop.create_task(house.timed(house.view.catalogue.version()))
        await asyncio.sleep(1)
        house.postgres.forget("gw1")
        house.postgres.mode("postgres_hung", on=False)
        return [*await asking]

    error, took_s = run(work)
    assert isinstance(error, Unanswered)  # as nobody wakes it, only its own timer does
    assert took_s == pytest.approx(3.0)


def test_a_locked_table_of_keys_holds_up_questions_about_keys_and_no_others() -> None:
    async def work() -> tuple[object, float, object]:
        house = House()
        house.postgres.mode("keys_locked", on=True)
        error, took_s = await house.timed(house.view.keys.find(()))
        return error, took_s, await house.view.catalogue.version()

    error, took_s, version = run(work)
    assert isinstance(error, Unanswered)
    assert took_s == pytest.approx(3.0)
    assert version == 0


def test_questions_about_keys_are_answered_when_the_table_is_free() -> None:
    async def work() -> float:
        house = House()
        house.postgres.mode("keys_locked", on=True)
        house.loop.call_later(2, lambda: house.postgres.mode("keys_locked", on=False))
        return (await house.timed(house.view.keys.find(())))[1]

    assert run(work) == pytest.approx(2.0, abs=0.01)


def test_that_no_connection_is_free_is_a_fact() -> None:
    async def work() -> list[tuple[str, float]]:
        house = House()
        house.postgres.mode("keys_locked", on=True)
        asked = (house.timed(house.view.keys.find(())) for _ in range(CONNECTIONS_MAX))
        await asyncio.gather(*asked, house.timed(house.view.catalogue.version()))
        return [(fact.text("operation"), fact.number("in_use")) for fact in house.journal.of("places_full")]

    assert run(work) == [("version", CONNECTIONS_MAX)]


def test_in_a_failover_a_change_is_made_or_not_and_its_answer_is_lost() -> None:
    async def work() -> set[tuple[bool, bool]]:
        found: set[tuple[bool, bool]] = set()
        for seed in range(20):
            house = House(seed)
            await house.operator.permit("node-1", ())
            house.postgres.mode("postgres_slow", 1.0, on=True)
            issuing = house.loop.create_task(
                house.timed(house.view.nodes.issue(NodePermit("node-2"), actor=OPERATOR))
            )
            await asyncio.sleep(0.5)
            house.postgres.mode("postgres_failover", on=True)
            assert isinstance((await issuing)[0], StoreAway)
            (lost,) = house.journal.of("answer_lost")
            house.postgres.mode("postgres_failover", on=False)
            house.postgres.mode("postgres_slow", 1.0, on=False)
            names = [node.name for node in await house.view.nodes.list()]
            found.add((lost.has("took_effect"), "node-2" in names))
        return found

    assert run(work) == {(True, True), (False, False)}
