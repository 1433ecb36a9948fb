"""Many clients who ask for streams, again and again until told to stop; on a thread and loop of their own."""

import asyncio
import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.e2e.http import CHAT
from tests.e2e.waiting import PATIENCE_S

PACE_S = 0.2
"""A client asks no more often than this: a cloud that answers at once must not be hammered."""

_HEADER = re.compile(rb"\r\n([^:\r\n]+): ([^\r\n]*)")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One answer: who gave it, and whether it came to its proper end. `status` 0: there was none."""

    status: int
    vendor: str
    node: str
    whole: bool
    text: str

    @property
    def good(self) -> bool:
        """Whether the client got what it asked for."""
        return self.status == 200 and self.whole


class Crowd:
    """`outcomes` grows while it runs; all of them are there once the block is over."""

    def __init__(self, urls: Sequence[str], clients: int, key: str, body: dict[str, object]) -> None:
        self.outcomes: list[Outcome] = []
        self._urls = urls
        self._clients = clients
        self._key = key
        self._body = json.dumps({"stream": True, **body}).encode()
        self._stopped: asyncio.Event
        self._began = threading.Event()
        self._loop: asyncio.AbstractEventLoop

    @property
    def failed(self) -> list[Outcome]:
        """Answers that were none."""
        return [outcome for outcome in self.outcomes if not outcome.good]

    def served_by(self, node: str) -> int:
        """How many answers a node gave."""
        return sum(outcome.node == node for outcome in self.outcomes)

    def run(self) -> None:
        """Run until told to stop; for the thread."""
        asyncio.run(self._run())

    def stop(self) -> None:
        """Let each client end its answer and go."""
        self._began.wait(PATIENCE_S)
        self._loop.call_soon_threadsafe(self._stopped.set)

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._began.set()
        async with asyncio.TaskGroup() as group:
            for url in self._urls:
                for _ in range(self._clients):
                    group.create_task(self._client(url))

    async def _client(self, url: str) -> None:
        while not self._stopped.is_set():
            until = self._loop.time() + PACE_S
            self.outcomes.append(await self._ask(url))
            try:
                async with asyncio.timeout_at(until):
                    await self._stopped.wait()
            except TimeoutError:
                pass  # the pace is over

    async def _ask(self, url: str) -> Outcome:
        place = urlsplit(url)
        head = (
            f"POST {CHAT} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {self._key}\r\n"
            f"Content-Type: application/json\r\nConnection: close\r\nContent-Length: {len(self._body)}\r\n\r\n"
        )
        try:
            async with asyncio.timeout(PATIENCE_S):
                reader, writer = await asyncio.open_connection(place.hostname, place.port)
                try:
                    writer.write(head.encode() + self._body)
                    return _read(await reader.read(-1))
                finally:
                    writer.close()
        except (OSError, TimeoutError) as error:
            return Outcome(0, "", "", whole=False, text=repr(error))


def _read(answer: bytes) -> Outcome:
    head, _, body = answer.partition(b"\r\n\r\n")
    headers = {name.decode().lower(): value.decode() for name, value in _HEADER.findall(head)}
    whole = b"data: [DONE]\n\n" in body and body.endswith(b"0\r\n\r\n")
    status = int(head.split(b" ", 2)[1]) if head else 0
    vendor, node = headers.get("x-ktms-vendor", ""), headers.get("x-ktms-node", "")
    return Outcome(status, vendor, node, whole, "" if whole else answer.decode(errors="replace"))


@contextmanager
def crowd(urls: Sequence[str], clients: int, key: str, body: dict[str, object]) -> Iterator[Crowd]:
    """Let so many clients ask at each address, while the block runs."""
    asking = Crowd(urls, clients, key, body)
    thread = threading.Thread(target=asking.run, name="crowd")
    thread.start()
    try:
        yield asking
    finally:
        asking.stop()
        thread.join()
