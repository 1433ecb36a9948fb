"""What a client is sent, written down beside it while the answer may be wanted again.

Stands before the client's own port, so that a call whose answer nobody keeps pays nothing for it. Not here: who
keeps an answer (`answer_cache.py`, `repeats.py`).
"""

from ktms.dialects.openai_chat.errors import KEEPALIVE
from ktms.dialects.openai_chat.kept import KeptAnswer
from ktms.dialects.openai_chat.stream import DONE
from ktms.engine.call import Failed, Headers, Result, Streamed, Whole
from ktms.engine.trail import Trail
from ktms.ports.client import Client

_TOLD = "X-KTMS-"


class Recording:
    """A client (port: Client) that remembers up to `bytes_max` of its stream; beyond it, nothing."""

    def __init__(self, client: Client, bytes_max: int) -> None:
        self._client = client
        self._left_bytes = bytes_max
        self._pieces: list[bytes] = []
        self._headers: Headers = ()
        self.too_large = False
        self.complete = False

    def begin(self, headers: Headers) -> None:
        """Send status and headers."""
        self._headers = headers
        self._client.begin(headers)

    def write(self, data: bytes) -> bool:
        """Send bytes; comments that bridge silence are not part of the answer."""
        if data is DONE:
            self.complete = True
        elif data is not KEEPALIVE and not self.too_large:
            self._remember(data)
        return self._client.write(data)

    async def drained(self) -> None:
        """Wait until the client takes bytes again."""
        await self._client.drained()

    def end(self) -> None:
        """End the body."""
        self._client.end()

    def drop(self) -> None:
        """Cut the connection."""
        self._client.drop()

    def answer(self, result: Result | None, trail: Trail) -> KeptAnswer | None:
        """Give the answer of a call that has ended, None where there is none, or a stream is cut or too large."""
        match result:
            case Whole(headers, body):
                return self._made(trail, headers, body, streamed=False)
            case Streamed() | None if self.complete and not self.too_large:
                return self._made(trail, self._headers, b"".join(self._pieces), streamed=True)
            case Failed() | Streamed() | None:
                return None

    def _made(self, trail: Trail, headers: Headers, body: bytes, *, streamed: bool) -> KeptAnswer:
        assert trail.model is not None, "somebody answered"
        told = tuple((name, value) for name, value in headers if name.startswith(_TOLD))
        return KeptAnswer(trail.model.name, streamed, trail.usage, body, told)

    def _remember(self, data: bytes) -> None:
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            self.too_large = True
            self._pieces.clear()
        else:
            self._pieces.append(data)
