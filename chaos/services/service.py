"""What the chaos suite asks of the services it breaks, and of whoever has them to give.

A service keeps its address, its password and (unless asked otherwise) its data through `kill` and `start`. What is
frozen keeps its connections: the kernel goes on taking what is sent, nobody answers. Not here: any way to get one.
"""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol


class Unavailable(Exception):
    """Something is not to be had here; `why` is one line that says what is missing and how to get it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class ServiceFailed(Exception):
    """A service that should be there does not do as told; `why` is one line and holds no password."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Address:
    """Where something listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """As it stands in URLs."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Postgres(Protocol):
    """One Postgres server.

    Everything that breaks it raises `Unavailable` when it is not ours to break, `ServiceFailed` when it fails.
    """

    @property
    def name(self) -> str:
        """What people call it, with where it came from."""
        ...

    @property
    def address(self) -> Address:
        """Where it listens itself, in front of no proxy."""
        ...

    def url(self, database: str = "postgres", *, through: Address | None = None) -> str:
        """Give the URL of a database, password included: never log it. `through` is the proxy to go by."""
        ...

    async def freeze(self) -> None:
        """Stop every process of it where it stands."""
        ...

    async def thaw(self) -> None:
        """Let it go on after `freeze`; harmless otherwise."""
        ...

    async def kill(self) -> None:
        """End every process of it at once, as a loss of power would; returns when they are gone."""
        ...

    async def start(self) -> None:
        """Start it again after `kill`, on the same port with the same data; returns when it answers."""
        ...


class Redis(Protocol):
    """One Redis (or Valkey) server; raises like `Postgres`."""

    @property
    def name(self) -> str:
        """What people call it, with where it came from."""
        ...

    @property
    def address(self) -> Address:
        """Where it listens itself, in front of no proxy."""
        ...

    def url(self, *, through: Address | None = None) -> str:
        """Give its URL, password included: never log it. `through` is the proxy to go by."""
        ...

    async def freeze(self) -> None:
        """Stop it where it stands."""
        ...

    async def thaw(self) -> None:
        """Let it go on after `freeze`; harmless otherwise."""
        ...

    async def kill(self) -> None:
        """End it at once; returns when it is gone."""
        ...

    async def start(self, *, empty: bool = False) -> None:
        """Start it again after `kill` on the same port, with what it held or `empty`; returns when it answers."""
        ...


class ToxiproxyServer(Protocol):
    """One Toxiproxy server: whoever runs it, its proxies are made at run time."""

    @property
    def name(self) -> str:
        """What people call it, with where it came from."""
        ...

    @property
    def address(self) -> Address:
        """Where its control API listens."""
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """All that an experiment breaks besides processes of the product."""

    postgres: Postgres
    redis: Redis
    toxiproxy: ToxiproxyServer


class Source(Protocol):
    """Whoever has services to give; each is running while its context is open and gone after.

    Entering a context raises `Unavailable` when this source does not have that service, so that another one is
    asked, and `ServiceFailed` when it has it and it does not run.
    """

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    async def ready(self) -> str | None:
        """Give None, or one line that says why nothing at all comes from here."""
        ...

    def postgres(self) -> AbstractAsyncContextManager[Postgres]:
        """Run a Postgres."""
        ...

    def redis(self) -> AbstractAsyncContextManager[Redis]:
        """Run a Redis."""
        ...

    def toxiproxy(self) -> AbstractAsyncContextManager[ToxiproxyServer]:
        """Run a Toxiproxy server."""
        ...
