"""Looks at the well-known ports, all at once."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Final

from ktms.adapters.discovery.engines import ENGINES, recognise
from ktms.adapters.discovery.found import Found, found
from ktms.adapters.discovery.pages import Ask, Page

PORTS: Final = (11434, 8000, *range(8081, 8090))
"""Ollama; vLLM and TGI; llama.cpp, whose own default 8080 is ours."""


async def discover(ask: Ask, *, ports: Sequence[int] = PORTS, own_ports: Collection[int] = ()) -> list[Found]:
    """Find the engines behind `ports`, in their order; `own_ports` are ours and are not looked at."""
    async with asyncio.TaskGroup() as group:
        looks = [group.create_task(_look(ask, port)) for port in ports if port not in own_ports]
    return [engine for look in looks if (engine := look.result()) is not None]


async def _look(ask: Ask, port: int) -> Found | None:
    pages = await _pages(ask, port, [engine.mark for engine in ENGINES])
    engine = recognise(pages)
    if engine is None:
        return None
    return found(engine.read({**pages, **await _pages(ask, port, engine.pages)}), port)


async def _pages(ask: Ask, port: int, paths: Sequence[str]) -> dict[str, Page]:
    return dict(zip(paths, await asyncio.gather(*(ask(port, path) for path in paths)), strict=True))
