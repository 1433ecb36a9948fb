"""A look is bounded as a whole."""

import asyncio

from ktms.domain.catalogue import EngineKind
from ktms.node.engines.look import in_time
from ktms.node.state import EngineState

SEEN = EngineState(EngineKind.TGI, answers=True)


async def seen() -> EngineState:
    return SEEN


async def endless() -> EngineState:
    await asyncio.Event().wait()
    return SEEN


async def test_a_look_in_time_is_what_it_saw() -> None:
    assert await in_time(EngineKind.TGI, seen()) == SEEN


async def test_a_look_that_takes_too_long_found_nobody() -> None:
    assert await in_time(EngineKind.TGI, endless(), 0.01) == EngineState(EngineKind.TGI)
