"""The watcher: what it keeps, what it tells, how soon it looks again."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from ktms.domain.catalogue import EngineKind
from ktms.node.engines.watcher import MISSES_IDLE_MAX, MISSES_SERVING_MAX, Watcher, wall_s
from ktms.node.state import EngineState, ModelState, NodeState

COLD = ModelState("qwen3:4b", 4096, loaded=False)
WARM = ModelState("qwen3:4b", 4096, loaded=True, on_gpu=1.0)
SEEN = EngineState(EngineKind.OLLAMA, answers=True, version="0.33.0", slots=4, busy=0, models=(WARM,))
AWAY = EngineState(EngineKind.OLLAMA)


@dataclass
class Scripted:
    """An engine that is as the script says, then stays so; `looked` is set at each look."""

    script: list[EngineState]
    is_settling: bool = False
    kind: EngineKind = EngineKind.OLLAMA
    looks: int = 0
    looked: asyncio.Event = field(default_factory=asyncio.Event)

    async def look(self) -> EngineState:
        seen = self.script[min(self.looks, len(self.script) - 1)]
        self.looks += 1
        self.looked.set()
        return seen

    async def warm(self, model: str) -> None:
        raise AssertionError(f"a watcher warms {model}")


@dataclass
class Stand:
    """A watcher with its engine, its state and what it told."""

    watcher: Watcher
    engine: Scripted
    state: NodeState
    told: list[tuple[str, str]]

    async def looks(self, count: int) -> None:
        for _ in range(count):
            await self.watcher.look()

    def lines(self, level: str) -> list[str]:
        return [line for told, line in self.told if told == level]


def stand(*script: EngineState, wall: Callable[[], float] = wall_s, every_s: float = 0.001) -> Stand:
    engine, state, told = Scripted(list(script)), NodeState(AWAY), list[tuple[str, str]]()
    watcher = Watcher(
        engine,
        state,
        lambda level, line: told.append((level, line)),
        wall=wall,
        every_s=every_s,
        settling_every_s=0.001,
    )
    return Stand(watcher, engine, state, told)


async def test_what_is_seen_is_taken_in_and_is_news() -> None:
    made = stand(SEEN)
    await made.watcher.look()
    assert made.state.engine == SEEN
    assert made.state.news.is_set()
    assert made.lines("info")[0] == "the engine answers: ollama 0.33.0, slots: 4"


async def test_one_missed_look_is_no_death() -> None:
    made = stand(SEEN, *[AWAY] * (MISSES_IDLE_MAX - 1), SEEN)
    await made.looks(MISSES_IDLE_MAX + 1)
    assert made.state.engine == SEEN
    assert made.lines("warning") == []


async def test_after_enough_misses_it_does_not_answer_and_what_was_known_stays() -> None:
    made = stand(SEEN, AWAY)
    await made.looks(1 + MISSES_IDLE_MAX)
    assert made.state.engine == replace(SEEN, answers=False, busy=None)
    await made.looks(5)
    assert made.lines("warning") == ["the engine does not answer (ollama)"]


async def test_it_is_given_minutes_while_answers_are_under_way() -> None:
    made = stand(SEEN, AWAY)
    made.state.begin()
    await made.looks(MISSES_SERVING_MAX)
    assert made.state.engine.answers
    await made.looks(1)
    assert not made.state.engine.answers


async def test_an_engine_that_returns_is_told_once() -> None:
    made = stand(AWAY, AWAY, SEEN, SEEN)
    await made.looks(4)
    assert made.lines("warning") == ["the engine does not answer yet (ollama)"]
    assert len([line for line in made.lines("info") if "answers" in line]) == 1


async def test_models_that_come_and_go_and_slots_that_change_are_told() -> None:
    made = stand(replace(SEEN, models=(COLD,)), SEEN, replace(SEEN, models=(COLD,), slots=None))
    await made.looks(3)
    assert made.lines("info")[1:] == [
        "qwen3:4b is in memory, window: 4096",
        "qwen3:4b is in memory no more",
        "slots: unknown, before: 4",
    ]


async def test_a_model_that_was_always_split_is_told_once() -> None:
    split = replace(SEEN, models=(replace(WARM, on_gpu=0.4),))
    made = stand(split, split)
    await made.looks(2)
    assert made.lines("warning") == ["qwen3:4b: 40% of it is on the GPU"]


async def test_a_gpu_that_is_lost_is_told_even_when_the_model_was_away_in_between() -> None:
    made = stand(SEEN, replace(SEEN, models=(COLD,)), replace(SEEN, models=(replace(WARM, on_gpu=0.0),)))
    await made.looks(3)
    assert made.lines("warning") == ["qwen3:4b: 0% of it is on the GPU, before: 100%"]


async def run_until(made: Stand, done: Callable[[], bool]) -> None:
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        task = group.create_task(made.watcher.run())
        while not done():
            made.engine.looked.clear()
            await made.engine.looked.wait()
        task.cancel()


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0])
async def test_a_jump_of_the_clock_is_told_and_named_beside_a_lost_gpu(jump_s: float) -> None:
    loop = asyncio.get_running_loop()
    lost = replace(SEEN, models=(replace(WARM, on_gpu=0.0),))
    made = stand(SEEN, lost, wall=lambda: loop.time() + (jump_s if made.engine.looks else 0.0))
    await run_until(made, lambda: len(made.lines("warning")) == 2)
    assert made.lines("warning")[0].startswith(f"the clock jumped by {jump_s:.0f} s")
    assert made.lines("warning")[1].endswith("before: 100%, and the machine slept")


async def test_a_clock_that_runs_on_is_no_jump() -> None:
    made = stand(SEEN)
    await run_until(made, lambda: made.engine.looks > 3)
    assert made.lines("warning") == []


async def test_it_looks_again_soon_while_something_settles() -> None:
    made = stand(SEEN, every_s=3600.0)
    made.engine.is_settling = True
    await run_until(made, lambda: made.engine.looks > 2)
    assert made.engine.looks > 2


async def test_it_looks_again_soon_after_a_miss() -> None:
    made = stand(AWAY, AWAY, SEEN, every_s=3600.0)
    await run_until(made, lambda: made.engine.looks > 2)
    assert made.state.engine == SEEN


async def test_otherwise_it_waits() -> None:
    made = stand(SEEN, every_s=3600.0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await made.watcher.run()
    assert made.engine.looks == 1
