"""A transport of paper: keeps what is written, and what was asked of it."""

import asyncio

from sim.fakes.redis.server import SimRedis


class Paper(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.reading = True
        self.aborted = False
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        self._closing = True

    def abort(self) -> None:
        self._closing = self.aborted = True


def request(*arguments: bytes) -> bytes:
    return b"*%d\r\n" % len(arguments) + b"".join(b"$%d\r\n%b\r\n" % (len(one), one) for one in arguments)


def connected(server: SimRedis) -> tuple[asyncio.Protocol, Paper]:
    connection, paper = server.connection(), Paper()
    connection.connection_made(paper)
    return connection, paper
