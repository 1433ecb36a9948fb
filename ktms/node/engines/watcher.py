"""Looks at the engine for as long as the agent runs, and tells what changes.

Rules: every 5 s, every second while more is about to be known; nothing is ever restarted. One missed look is no
death: a server with one thread is silent while it reads a long prompt, and while answers are under way it is given
minutes (N15). Shares of GPUs are compared with those before, above all after a sleep of the machine, in which
drivers lose them without a word. Not here: what a look is (`look.py`), where it is told (`state.py`).
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from ktms.node.engines.look import Engine
from ktms.node.filter.listing import WHOLLY
from ktms.node.state import EngineState, ModelState, NodeState

LOOK_EVERY_S = 5.0
"""As often as the gateway asks."""

SETTLING_EVERY_S = 1.0

MISSES_IDLE_MAX = 3
MISSES_SERVING_MAX = 60
"""In a row, at least a second each: with calls under way some minutes, which the longest prompts take."""

SLEPT_S = 10.0
"""Clocks that are set right jump less; a machine that wakes has slept longer."""

Told = Callable[[str, str], None]
"""Takes a level and a line."""


def wall_s() -> float:
    """Give seconds since 1970: unlike a loop's clock they go on while the machine sleeps."""
    return datetime.now(UTC).timestamp()


class Watcher:
    """Watches one engine for one agent."""

    def __init__(
        self,
        engine: Engine,
        state: NodeState,
        told: Told,
        *,
        wall: Callable[[], float] = wall_s,
        every_s: float = LOOK_EVERY_S,
        settling_every_s: float = SETTLING_EVERY_S,
    ) -> None:
        self._engine = engine
        self._state = state
        self._told = told
        self._wall = wall
        self._every_s = every_s
        self._settling_every_s = settling_every_s
        self._misses = 0
        self._slept = False
        self._on_gpu: dict[str, float] = {}

    async def run(self) -> None:
        """Look until cancelled."""
        loop = asyncio.get_running_loop()
        ahead_s = self._wall() - loop.time()
        while True:
            await self.look()
            is_soon = self._misses > 0 or self._engine.is_settling
            await asyncio.sleep(self._settling_every_s if is_soon else self._every_s)
            jump_s = self._wall() - loop.time() - ahead_s
            ahead_s += jump_s
            if abs(jump_s) >= SLEPT_S:
                self._slept = True
                self._told("warning", f"the clock jumped by {jump_s:.0f} s: the machine slept, or was set right")

    async def look(self) -> None:
        """Look once and take in what was seen."""
        before, seen = self._state.engine, await self._engine.look()
        if not seen.answers:
            self._missed(before)
            return
        self._misses = 0
        if not before.answers:
            called = f"{seen.kind.value} {seen.version or 'of an unknown version'}"
            self._told("info", f"the engine answers: {called}, slots: {seen.slots or 'unknown'}")
        self._compare(before, seen)
        self._state.saw(seen)

    def _missed(self, before: EngineState) -> None:
        """Keep what was known; after enough misses the engine is said not to answer."""
        self._misses += 1
        most = MISSES_SERVING_MAX if self._state.under_way else MISSES_IDLE_MAX
        if before.answers and self._misses >= most:
            self._state.saw(replace(before, answers=False, busy=None))
            self._told("warning", f"the engine does not answer ({before.kind.value})")
        elif not before.answers and self._misses == 1:
            self._told("warning", f"the engine does not answer yet ({before.kind.value})")

    def _compare(self, before: EngineState, seen: EngineState) -> None:
        """Tell what has changed for calls."""
        was = {model.name: model for model in before.models}
        for model in seen.models:
            self._compare_model(was.get(model.name), model)
        if before.answers and before.slots != seen.slots:
            self._told("info", f"slots: {seen.slots or 'unknown'}, before: {before.slots or 'unknown'}")
        self._on_gpu = {name: share for name, share in self._on_gpu.items() if name in map(_name, seen.models)}
        if any(model.on_gpu is not None for model in seen.models):
            self._slept = False

    def _compare_model(self, was: ModelState | None, model: ModelState) -> None:
        if model.loaded and not (was is not None and was.loaded):
            self._told("info", f"{model.name} is in memory, window: {model.context_window or 'unknown'}")
        elif was is not None and was.loaded and model.loaded is False:
            self._told("info", f"{model.name} is in memory no more")
        if model.on_gpu is None:
            return
        before = self._on_gpu.get(model.name)
        if model.on_gpu < WHOLLY and (before is None or model.on_gpu < before):
            then = "" if before is None else f", before: {before:.0%}"
            why = ", and the machine slept" if self._slept else ""
            self._told("warning", f"{model.name}: {model.on_gpu:.0%} of it is on the GPU{then}{why}")
        self._on_gpu[model.name] = model.on_gpu


def _name(model: ModelState) -> str:
    return model.name
