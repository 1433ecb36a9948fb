"""A client in memory that takes a streamed answer, at its own pace, and can be looked at."""

import asyncio

ROOM_BYTES = 64 * 1024
"""What may lie unread before `write` says that it is enough; the usual high-water mark of a transport."""


class MemoryClient:
    """Implements the `Client` port. `headers` is None before the answer has begun."""

    def __init__(self, *, room_bytes: int = ROOM_BYTES) -> None:
        self._room_bytes = room_bytes
        self._reading = True
        self._unread_bytes = 0
        self._waiters: list[asyncio.Future[None]] = []
        self.headers: tuple[tuple[str, str], ...] | None = None
        self.pieces: list[bytes] = []
        self.ended = False
        self.dropped = False

    @property
    def body(self) -> bytes:
        """All that was written."""
        return b"".join(self.pieces)

    def begin(self, headers: tuple[tuple[str, str], ...]) -> None:
        """Take status 200 and the headers."""
        assert self.headers is None, "an answer begins once"
        self.headers = headers

    def write(self, data: bytes) -> bool:
        """Take bytes; False when more than the room lies unread."""
        assert self.headers is not None, "nothing is written before the answer has begun"
        assert not self.ended, "nothing is written after the end"
        if not self.dropped:
            self.pieces.append(data)
            self._unread_bytes += 0 if self._reading else len(data)
        return self._unread_bytes <= self._room_bytes

    async def drained(self) -> None:
        """Wait until what lies unread fits into the room."""
        while self._unread_bytes > self._room_bytes:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def end(self) -> None:
        """Take the clean end."""
        assert self.headers is not None, "an answer begins before it ends"
        assert not self.ended, "an answer ends once"
        self.ended = True

    def drop(self) -> None:
        """Lose the connection."""
        self.dropped = True
        self.read_on()

    def stop_reading(self) -> None:
        """Read no more: what is written from now on stays unread."""
        self._reading = False

    def read_on(self) -> None:
        """Read all there is, and go on reading."""
        self._reading = True
        self._unread_bytes = 0
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
