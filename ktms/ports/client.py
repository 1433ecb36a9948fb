"""The caller's side of one streamed answer, as the relay writes to it."""

from typing import Protocol


class Client(Protocol):
    """Takes a streamed answer. Writes are synchronous and leave in the same loop turn.

    A client that goes away cancels the task of its call; there is no error to look for here.
    """

    def begin(self, headers: tuple[tuple[str, str], ...]) -> None:
        """Send status 200 with these headers; once, before the first write."""
        ...

    def write(self, data: bytes) -> bool:
        """Send bytes; False when the client's buffer is full and no more should come before `drained`."""
        ...

    async def drained(self) -> None:
        """Wait until the client takes bytes again; the caller sets the time limit."""
        ...

    def end(self) -> None:
        """End the answer cleanly; nothing is written after it."""
        ...

    def drop(self) -> None:
        """Close the connection at once, without a clean end: the client does not read."""
        ...
