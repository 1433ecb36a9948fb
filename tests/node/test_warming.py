import asyncio
from dataclasses import dataclass, field, replace

from ktms.domain.catalogue import EngineKind
from ktms.node.engines.look import NotWarm
from ktms.node.state import EngineState, ModelState, NodeState
from ktms.node.warming import warm_named
from tests.node.nodes import SEEN

COLD = replace(SEEN, models=(ModelState("a:1", loaded=False), ModelState("b:1", loaded=False)))


@dataclass
class Loading:
    """An engine that notes what it was to load; models in `broken` do not."""

    broken: tuple[str, ...] = ()
    asked: list[str] = field(default_factory=list)
    kind: EngineKind = EngineKind.OLLAMA
    is_settling: bool = False

    async def look(self) -> EngineState:
        return COLD

    async def warm(self, model: str) -> None:
        self.asked.append(model)
        if model in self.broken:
            raise NotWarm("no room")


async def warmed(engine: Loading, *named: str, seen: EngineState = COLD) -> list[str]:
    lines: list[str] = []
    state = NodeState(EngineState(EngineKind.OLLAMA))
    async with asyncio.TaskGroup() as group:
        group.create_task(warm_named(engine, state, named, lambda _, line: lines.append(line)))
        await asyncio.sleep(0)
        assert engine.asked == []
        state.saw(seen)
    return lines


async def test_named_models_are_loaded_once_the_engine_answers() -> None:
    engine = Loading()
    assert await warmed(engine, "a:1", "b:1") == []
    assert engine.asked == ["a:1", "b:1"]


async def test_without_names_nothing_is_loaded() -> None:
    engine = Loading()
    await warmed(engine)
    assert engine.asked == []


async def test_what_is_in_memory_is_left_alone() -> None:
    engine = Loading()
    await warmed(engine, "qwen3:4b", seen=SEEN)
    assert engine.asked == []


async def test_the_first_that_does_not_load_ends_it() -> None:
    engine = Loading(broken=("a:1",))
    assert await warmed(engine, "a:1", "b:1") == ["a:1 was not loaded: no room"]
    assert engine.asked == ["a:1"]
