"""A request as the doors see it, whichever of the port's two ways it came (`listener.py`, `fast_lane.py`).

Shapes only; aiohttp's request has them as it is.
"""

import asyncio
from typing import Protocol

RawHeaders = tuple[tuple[bytes, bytes], ...]


class Body(Protocol):
    """The bytes of a request body, as they come."""

    def is_eof(self) -> bool:
        """Whether all of it has come; it may still have to be read."""
        ...

    def read_nowait(self) -> bytes:
        """Give what has come and was not read yet."""
        ...

    async def readany(self) -> bytes:
        """Wait for the next piece; empty at the end."""
        ...


class Writes(Protocol):
    """The way back, when it is full."""

    async def drain(self) -> None:
        """Wait until the client takes bytes again."""
        ...


class Connection(Protocol):
    """The connection the request came on."""

    @property
    def writing_paused(self) -> bool:
        """Whether the client's buffer is above its high-water mark."""
        ...


class Inbound(Protocol):
    """One request. `raw_path` is the target as sent; `transport` is None once the client has left."""

    @property
    def method(self) -> str: ...  # noqa: D102
    @property
    def raw_path(self) -> str: ...  # noqa: D102
    @property
    def raw_headers(self) -> RawHeaders: ...  # noqa: D102
    @property
    def version(self) -> tuple[int, int]: ...  # noqa: D102
    @property
    def keep_alive(self) -> bool: ...  # noqa: D102
    @property
    def content_length(self) -> int | None: ...  # noqa: D102
    @property
    def content(self) -> Body: ...  # noqa: D102
    @property
    def transport(self) -> asyncio.Transport | None: ...  # noqa: D102
    @property
    def writer(self) -> Writes: ...  # noqa: D102
    @property
    def protocol(self) -> Connection: ...  # noqa: D102
