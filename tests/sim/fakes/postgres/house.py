"""A database with one replica's view of it and its operator, on virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ktms.adapters.memory.clock import LoopClock
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.domain.access.client_key import ClientKey
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    Catalogue,
    ClientKeySpec,
    ModelSpec,
    TargetSpec,
    VendorKind,
    VendorSpec,
)
from ktms.ports.change_feed import News
from sim.fakes.entropy import SimEntropy
from sim.fakes.postgres.operator import Operator
from sim.fakes.postgres.server import SimPostgres
from sim.fakes.postgres.view import PostgresView
from sim.journal.journal import Journal
from sim.seed import Seed
from sim.trace import Trace

T = TypeVar("T")

CATALOGUE = Catalogue(
    vendors=(
        VendorSpec("cloud-a", VendorKind.OPENAI, "https://a.example.com/v1", keys=(Secret("sk-vendor-key-1"),)),
    ),
    models=(ModelSpec("small", (TargetSpec("cloud-a", "gpt"),)),),
)


SETTLE_S = 0.01
"""Longer than any answer of a sound database."""


class House:
    """Made inside of a running loop."""

    def __init__(self, seed: int = 1) -> None:
        self.loop = asyncio.get_running_loop()
        self.journal = Journal(self.loop.time)
        self.trace = Trace()
        self.postgres = SimPostgres(Seed(seed), self.trace)
        self.operator = Operator(self.postgres.store, SimEntropy(Seed(seed).chance("operator")), self.journal)
        self.view = PostgresView(self.postgres, "gw1", self.journal, SeededEntropy("gw1"), LoopClock())

    async def key(self, name: str = "app") -> ClientKey:
        key, _ = await self.operator.make_key(ClientKeySpec(name, "default"))
        return key

    async def timed(self, work: Awaitable[T]) -> tuple[T | BaseException, float]:
        """Give what came of it, an error too, and how long it took."""
        began_at = self.loop.time()
        try:
            made: T | BaseException = await work
        except Exception as error:  # noqa: BLE001 - the error is what the test asks about
            made = error
        return made, self.loop.time() - began_at

    def answers(self) -> list[str]:
        """Give how the questions about keys were answered."""
        return [fact.text("answer") for fact in self.journal.of("keys_asked")]

    async def collect(self, hear: Callable[[News | None], None]) -> None:
        """Listen until the feed ends, which is heard as None."""
        async for news in self.view.changes.listen():
            hear(news)
        hear(None)

    async def listening(self) -> list[News | None]:
        """Begin to listen, and give what will be heard."""
        heard: list[News | None] = []
        self.listener = self.loop.create_task(self.collect(heard.append))
        await asyncio.sleep(SETTLE_S)
        return heard
