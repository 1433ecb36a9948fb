import asyncio

from hypothesis import given
from hypothesis import strategies as st

from ktms.dialects.openai_chat.kept import KeptAnswer
from ktms.domain.conversation.usage import NO_USAGE
from ktms.engine.flights import FLIGHT_S, PATIENCE_S, Flight, Flights, Landing
from tests.engine.virtual_loop import VirtualLoop, after, settle

KEY = bytes(32)
ANSWER = KeptAnswer("m", streamed=False, usage=NO_USAGE, body=b"{}")
Boarded = KeptAnswer | Flight | None


async def leader(flights: Flights) -> Flight:
    flight = await flights.board(KEY)
    assert isinstance(flight, Flight)
    return flight


async def test_the_first_one_leads_and_the_others_get_what_it_got() -> None:
    flights = Flights()
    flight = await leader(flights)
    async with asyncio.TaskGroup() as group:
        waiters = [group.create_task(flights.board(KEY)) for _ in range(5)]
        await settle()
        flight.land(ANSWER)
    assert [waiter.result() for waiter in waiters] == [ANSWER] * 5
    assert len(flights) == 0


async def test_where_the_leader_fails_the_next_one_leads_and_the_rest_waits_on() -> None:
    flights = Flights()
    flight = await leader(flights)
    async with asyncio.TaskGroup() as group:
        waiters = [group.create_task(flights.board(KEY)) for _ in range(3)]
        await settle()
        flight.land(Landing.FAILED)
        await settle()
        done = [waiter for waiter in waiters if waiter.done()]
        assert len(done) == 1
        second = done[0].result()
        assert isinstance(second, Flight)
        second.land(ANSWER)
    assert [waiter.result() for waiter in waiters if waiter not in done] == [ANSWER] * 2


async def test_what_cannot_be_shared_lets_each_ask_alone() -> None:
    flights = Flights()
    flight = await leader(flights)
    async with asyncio.TaskGroup() as group:
        waiters = [group.create_task(flights.board(KEY)) for _ in range(3)]
        await settle()
        flight.land(Landing.OPEN)
    assert [waiter.result() for waiter in waiters] == [None] * 3


async def test_a_leader_that_hangs_blocks_nobody_for_ever() -> None:
    flights = Flights()
    hung = await leader(flights)
    before = asyncio.get_running_loop().time()
    second = await leader(flights)
    assert asyncio.get_running_loop().time() - before == FLIGHT_S
    assert second is not hung


async def test_all_that_waited_for_one_that_hangs_wait_for_the_one_in_its_place() -> None:
    flights = Flights()
    await leader(flights)
    async with asyncio.TaskGroup() as group:
        waiters = [group.create_task(flights.board(KEY)) for _ in range(5)]
        await after(FLIGHT_S)
        await settle()
        done = [waiter for waiter in waiters if waiter.done()]
        assert len(done) == 1
        second = done[0].result()
        assert isinstance(second, Flight)
        await after(FLIGHT_S - 1)
        second.land(ANSWER)
    assert [waiter.result() for waiter in waiters if waiter not in done] == [ANSWER] * 4


async def test_where_that_one_hangs_too_each_asks_alone() -> None:
    flights = Flights()
    await leader(flights)
    began = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as group:
        waiters = [group.create_task(flights.board(KEY)) for _ in range(5)]
    assert asyncio.get_running_loop().time() - began == PATIENCE_S
    assert sorted(type(waiter.result()).__name__ for waiter in waiters) == ["Flight", *["NoneType"] * 4]


async def test_who_comes_after_one_that_hangs_waits_for_the_next_leader() -> None:
    flights = Flights()
    hung = await leader(flights)
    second = await leader(flights)
    async with asyncio.TaskGroup() as group:
        waiter = group.create_task(flights.board(KEY))
        await settle()
        hung.land(Landing.FAILED)
        await settle()
        assert not waiter.done()
        second.land(ANSWER)
    assert waiter.result() is ANSWER
    assert len(flights) == 0


async def test_only_the_first_word_about_a_flight_counts() -> None:
    flights = Flights()
    flight = await leader(flights)
    flight.land(ANSWER)
    flight.land(Landing.FAILED)
    assert await flight.outcome(0) is ANSWER


async def test_other_questions_do_not_wait() -> None:
    flights = Flights()
    await leader(flights)
    assert isinstance(await flights.board(b"x" * 32), Flight)


async def test_a_waiter_that_leaves_takes_nobody_along() -> None:
    flights = Flights()
    flight = await leader(flights)
    async with asyncio.TaskGroup() as group:
        leaves, stays = (group.create_task(flights.board(KEY)) for _ in range(2))
        await settle()
        leaves.cancel()
        await settle()
        flight.land(ANSWER)
    assert stays.result() is ANSWER


@given(st.lists(st.sampled_from(["fail", "open", "answer", "hang"]), min_size=1, max_size=6), st.integers(1, 6))
def test_whatever_leaders_do_everybody_ends_within_the_wait_and_nothing_is_left(
    ends: list[str], many: int
) -> None:
    async def play() -> None:
        flights = Flights()
        script = iter(ends)

        async def one() -> Boarded:
            began = asyncio.get_running_loop().time()
            boarded = await flights.board(KEY)
            assert asyncio.get_running_loop().time() - began <= PATIENCE_S
            if isinstance(boarded, Flight):
                match next(script, "answer"):
                    case "hang":
                        await after(3 * PATIENCE_S)
                        boarded.land(ANSWER)
                    case "open":
                        boarded.land(Landing.OPEN)
                    case "fail":
                        await after(0.1)
                        boarded.land(Landing.FAILED)
                    case _:
                        boarded.land(ANSWER)
            return boarded

        async with asyncio.TaskGroup() as group:
            for _ in range(many):
                group.create_task(one())
        assert len(flights) == 0

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(play())
