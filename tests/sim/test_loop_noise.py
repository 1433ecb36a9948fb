"""Scheduling noise: steps of tasks come a little later."""

import asyncio

from sim.loop import STARTS_AT
from tests.sim.virtual_loop import make_loop, run

# Noise.


def test_noise_delays_steps_of_tasks_and_never_reorders_callbacks() -> None:
    loop = make_loop(noise=0.5)
    seen: list[int] = []
    for number in range(200):
        loop.call_soon(seen.append, number)

    async def steps() -> None:
        for _ in range(100):
            await asyncio.sleep(0)
        for _ in range(100):
            answer = loop.create_future()
            loop.call_soon(answer.set_result, None)
            await answer

    run(loop, steps())
    loop.close()
    assert seen == list(range(200))
    assert 50 * 2e-6 < loop.time() - STARTS_AT < 200 * 52e-6


def test_noise_finds_an_order_that_first_come_first_served_hides() -> None:
    def over_admits(seed: int, noise: float) -> bool:
        loop = make_loop(seed, noise=noise)
        held, over = [0], [False]

        async def admit() -> None:
            if held[0] < 3:
                await asyncio.sleep(0)
                held[0] += 1
                over[0] = over[0] or held[0] > 3
                await asyncio.sleep(0.5)

        async def arrivals() -> None:
            async with asyncio.TaskGroup() as group:
                for _ in range(8):
                    group.create_task(admit())
                    await asyncio.sleep(2e-5)

        run(loop, arrivals())
        loop.close()
        return over[0]

    assert not any(over_admits(seed, 0.0) for seed in range(100))
    assert any(over_admits(seed, 0.2) for seed in range(100))


def test_the_same_seed_gives_the_same_noise() -> None:
    def ends_at(seed: int) -> float:
        loop = make_loop(seed, noise=0.3)

        async def steps() -> None:
            for _ in range(100):
                await asyncio.sleep(0)

        run(loop, steps())
        loop.close()
        return loop.time()

    assert ends_at(7) == ends_at(7) != ends_at(8)
