"""What an agent knows: of the engine at the last look, of itself now. What is None is not known, never zero.

Not here: how it was found out (`engines/`), what the gateway is told of it (`announcer.py`), who is let through
(`filter/`).
"""

import asyncio
from dataclasses import dataclass, field, replace

from ktms.domain.catalogue import EngineKind


@dataclass(frozen=True, slots=True)
class ModelState:
    """One model of the engine, by the engine's own name. `context_window` in tokens per slot.

    `on_gpu` is the share of its weights that is in the memory of a GPU, 0 to 1; `tokens_per_s` that of one stream.
    """

    name: str
    context_window: int | None = None
    loaded: bool | None = None
    on_gpu: float | None = None
    tokens_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class EngineState:
    """One look at the engine; `slots` and `busy` count calls.

    `answers` False: all else is what was known before.
    """

    kind: EngineKind
    answers: bool = False
    version: str | None = None
    slots: int | None = None
    busy: int | None = None
    models: tuple[ModelState, ...] = ()


@dataclass(slots=True)
class NodeState:
    """The agent's own state: one per process, changed in its loop alone. `news` is set at each change.

    `seen` is set once the engine has answered a look.
    First it is `leaving`, which is announced; once that is known it is `draining`, and takes nothing new.
    """

    engine: EngineState
    leaving: bool = False
    draining: bool = False
    under_way: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)
    seen: asyncio.Event = field(default_factory=asyncio.Event)
    _quiet: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self) -> None:
        """Count an answer that begins."""
        self.under_way += 1
        self._quiet.clear()

    def end(self) -> None:
        """Count one that has ended."""
        self.under_way -= 1
        if self.under_way == 0:
            self._quiet.set()

    async def quiet(self) -> None:
        """Wait until no answer is under way."""
        while self.under_way:
            await self._quiet.wait()

    def saw(self, engine: EngineState) -> None:
        """Take in a look; how busy and how fast the engine is, which changes all the time, is no news."""
        before, self.engine = self.engine, engine
        if engine.answers:
            self.seen.set()
        if _steady(before) != _steady(engine):
            self.news.set()

    def leave(self) -> None:
        """Be about to take no more calls."""
        self.leaving = True
        self.news.set()

    def drain(self) -> None:
        """Take no more calls from here on."""
        self.draining = True
        self.news.set()


def _steady(engine: EngineState) -> EngineState:
    """Give a look without what changes with each call."""
    models = tuple(replace(model, tokens_per_s=None, on_gpu=None) for model in engine.models)
    return replace(engine, busy=None, models=models)
