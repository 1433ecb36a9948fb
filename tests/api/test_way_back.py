"""Waiting for a client that reads slowly, or not at all."""

import asyncio
from dataclasses import dataclass, field
from typing import cast

from ktms.api.inbound import Inbound
from ktms.api.way_back import taken

STALL_S = 0.02


@dataclass
class Client:
    """A connection whose client takes `per_wait` bytes each time it is waited for, until nothing is left.

    It is the request, the way back, the connection and the transport in one.
    """

    left_bytes: int
    per_wait: int
    cut: bool = False
    waits: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def transport(self) -> "Client | None":
        return None if self.cut else self

    @property
    def protocol(self) -> "Client":
        return self

    @property
    def writer(self) -> "Client":
        return self

    @property
    def writing_paused(self) -> bool:
        return self.left_bytes > 0

    def get_write_buffer_size(self) -> int:
        return self.left_bytes

    def abort(self) -> None:
        self.cut = True

    async def drain(self) -> None:
        self.waits += 1
        self.left_bytes -= self.per_wait
        if self.left_bytes > 0:
            await self.over.wait()


async def until_taken(client: Client) -> None:
    await taken(cast("Inbound", client), STALL_S)


async def test_a_client_that_reads_is_not_waited_for() -> None:
    client = Client(0, 0)
    await until_taken(client)
    assert (client.waits, client.cut) == (0, False)


async def test_a_slow_client_gets_all_of_its_answer() -> None:
    client = Client(5, 1)
    await until_taken(client)
    assert (client.waits, client.left_bytes, client.cut) == (5, 0, False)


async def test_a_client_that_takes_nothing_is_cut_off() -> None:
    client = Client(5, 0)
    await until_taken(client)
    assert (client.waits, client.cut) == (1, True)


async def test_a_client_that_has_left_is_not_waited_for() -> None:
    client = Client(5, 0, cut=True)
    await until_taken(client)
    assert client.waits == 0
