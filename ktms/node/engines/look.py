"""The port to an engine: looking at it, and having one token generated.

Rules: a look never raises and never changes anything in the engine; it is bounded in time and bytes; what an
engine does not tell is not known, never zero. Not here: each engine's own way (`ollama.py` and its neighbours).
"""

import asyncio
from collections.abc import Awaitable
from typing import Protocol

from ktms.domain.catalogue import EngineKind
from ktms.node.state import EngineState

LOOK_S = 4.0
"""All of a look. The gateway asks every 5 s, so a longer one would be old when it is told."""

WARM_S = 600.0
"""Hundreds of gigabytes from a slow disk; after that it will not come."""


class NotWarm(Exception):
    """No token came; the message says why, in one line and without the text of an answer."""


class Engine(Protocol):
    """One engine of this machine."""

    @property
    def kind(self) -> EngineKind:
        """Say which engine it is."""
        ...

    @property
    def is_settling(self) -> bool:
        """Whether more will be known soon: a model is on its way into memory, or not all could be read at once."""
        ...

    async def look(self) -> EngineState:
        """Look once. Where nobody answers, `answers` is False and nothing else is said."""
        ...

    async def warm(self, model: str) -> None:
        """Have the model generate one token with the options that calls through the gateway have, no others (N26).

        Raises:
            NotWarm: it did not.
        """
        ...


async def in_time(kind: EngineKind, look: Awaitable[EngineState], within_s: float = LOOK_S) -> EngineState:
    """Wait for a look; one that takes longer found nobody."""
    try:
        async with asyncio.timeout(within_s):
            return await look
    except TimeoutError:
        return EngineState(kind)
