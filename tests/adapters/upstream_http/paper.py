"""Connections whose transports are made of nothing, and a pool to put them in."""

import asyncio

from ktms.adapters.upstream_http.connection import Connection
from ktms.adapters.upstream_http.pool import Pool, Slot
from ktms.adapters.upstream_http.request_heads import LaneKey
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.snapshot import Reach


class PaperTransport(asyncio.Transport):
    """Is open until closed; the loss is told in the next turn, as real loops do."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self.connection = connection
        self.closing = False

    def is_closing(self) -> bool:
        return self.closing

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        if not self.closing:
            self.closing = True
            asyncio.get_running_loop().call_soon(self.connection.connection_lost, None)

    def abort(self) -> None:
        self.close()


def lane(number: int = 1) -> LaneKey:
    return LaneKey((("http", "h", number, None), Reach.NODE))


def open_connection(pool: Pool, slot: Slot) -> Connection:
    connection = Connection(asyncio.get_running_loop(), pool.lost)
    connection.connection_made(PaperTransport(connection))
    pool.adopt(slot, connection)
    return connection


async def get(pool: Pool, number: int = 1, *, within_s: float = 5.0, fresh: bool = False) -> Connection:
    """Take a connection the way the client does."""
    if not fresh and (idle := pool.take_idle(lane(number))) is not None:
        return idle
    at = asyncio.get_running_loop().time() + within_s
    granted = await pool.acquire(lane(number), at=at, late=FailureKind.POOL_TIMEOUT, fresh=fresh)
    return open_connection(pool, granted) if isinstance(granted, Slot) else granted


def small(total: int, per_origin: int, idle: int = 8) -> Pool:
    return Pool(
        UpstreamSettings(connections_max=total, connections_per_origin_max=per_origin, idle_per_origin_max=idle)
    )


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)
