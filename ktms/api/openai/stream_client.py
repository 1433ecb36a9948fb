"""The client port over a request: a streamed answer, written straight to the transport.

A client that goes away cancels its handler; writes after that fall into nothing.
"""

from ktms.api.inbound import Inbound
from ktms.api.wire import Dates, Reply, head_of, is_http10

Headers = tuple[tuple[str, str], ...]

_EVENT_STREAM = "Content-Type: text/event-stream\r\nCache-Control: no-cache\r\nX-Accel-Buffering: no\r\n"


class StreamClient:
    """One client that waits for a streamed answer."""

    def __init__(self, request: Inbound, dates: Dates) -> None:
        self._request = request
        self._dates = dates
        self._chunked = not is_http10(request)
        self._keeps = request.keep_alive and self._chunked
        self._dropped = False

    def begin(self, headers: Headers) -> None:
        """Send status 200 and the headers."""
        framing = _EVENT_STREAM + ("Transfer-Encoding: chunked\r\n" if self._chunked else "")
        self._send(head_of(200, headers, self._dates, framing=framing, keeps=self._keeps, http10=False))

    def write(self, data: bytes) -> bool:
        """Send bytes; False when the transport's buffer is above its high-water mark."""
        self._send(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)
        return not self._request.protocol.writing_paused

    async def drained(self) -> None:
        """Wait until the transport's buffer is below its low-water mark."""
        await self._request.writer.drain()

    def end(self) -> None:
        """End the body."""
        if self._chunked:
            self._send(b"0\r\n\r\n")

    def drop(self) -> None:
        """Cut the connection at once."""
        self._dropped = True
        if self._request.transport is not None:
            self._request.transport.abort()

    def reply(self) -> Reply:
        """Tell the port that the answer has gone out."""
        return Reply(200, b"", None, self._keeps and not self._dropped)

    def _send(self, data: bytes) -> None:
        transport = self._request.transport
        if transport is not None:
            transport.write(data)
