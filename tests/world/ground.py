"""What a world stands on: time, tasks and a network. Real sockets and the simulated network both provide it."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

P = TypeVar("P", bound=asyncio.Protocol)


@dataclass(frozen=True, slots=True)
class Listening:
    """An open port, until `close` is called."""

    name: str
    host: str
    port: int
    close: Callable[[], None]

    @property
    def url(self) -> str:
        """The base URL, without a trailing slash."""
        return f"http://{self.host}:{self.port}"


class Ground(Protocol):
    """Time, tasks, network."""

    def now(self) -> float:
        """Give the loop's time, in seconds."""
        ...

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work that ends with the world; an error of it fails the test when the world stops."""
        ...

    async def listen(self, name: str, factory: Callable[[], asyncio.Protocol]) -> Listening:
        """Open a port on the host of that name (all names are one machine where hosts are real)."""
        ...

    async def connect(self, host: str, port: int, factory: Callable[[], P]) -> P:
        """Open a connection."""
        ...

    def reset(self, transport: asyncio.BaseTransport) -> None:
        """Close a connection by RST; what was not delivered yet is lost."""
        ...
