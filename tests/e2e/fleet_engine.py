"""An engine that generates nothing but counts: `python -m tests.e2e.fleet_engine WORDS_PER_S`.

It takes whatever it is sent, beyond any number of slots: whoever grants too much shows in `most`, which
`GET /seen` tells. What it says follows from the last thing the user says: `hold` never ends, a number is so many
words, anything else is one word at once. A generation is over with its last word or with its connection.
"""

import asyncio
import json
import sys
from typing import Any, cast

from tests.world.bare_http import STREAM_END, STREAM_HEAD, Requests, framed, whole
from tests.world.events import DONE, VENDOR_MODEL, C, F, U, chat_answer, compact, role

HOLD = "hold"

HOLD_EVERY_S = 1.0
"""An answer without end says a word this often: nobody needs to read it, and it is not taken for dead."""

WINDOW_TOKENS = 8192

_MODELS = compact(
    {"object": "list", "data": [{"id": VENDOR_MODEL, "object": "model", "max_model_len": WINDOW_TOKENS}]}
)


class Counts:
    """Generations: running now, the most at once ever, all that were begun, and those that came to their end."""

    def __init__(self) -> None:
        self.running = self.most = self.begun = self.whole = 0

    def begin(self) -> None:
        """Count one more."""
        self.begun += 1
        self.running += 1
        self.most = max(self.most, self.running)

    def end(self) -> None:
        """Count one less."""
        self.running -= 1


class Generation:
    """One streamed answer: a word at each due instant, without drift. `words` None: without end."""

    def __init__(self, transport: asyncio.Transport, counts: Counts, words: int | None, every_s: float) -> None:
        self._transport = transport
        self._counts = counts
        self._words = words
        self._every_s = every_s
        self._said = 0
        self._loop = asyncio.get_running_loop()
        self._began_at = self._loop.time()
        self.over = False
        counts.begin()
        transport.write(STREAM_HEAD + framed(role()))
        self._timer: asyncio.Handle = self._loop.call_soon(self._say)

    def stop(self) -> None:
        """Free the slot; twice is harmless."""
        if not self.over:
            self.over = True
            self._timer.cancel()
            self._counts.end()

    def _say(self) -> None:
        if self._said == self._words:
            self.stop()  # first, since whoever reads the end may ask for the slot at once
            self._counts.whole += 1
            last = F("stop") + U(3, self._said) + DONE
            self._transport.write(framed(last) + STREAM_END)
            return
        self._said += 1
        self._transport.write(framed(C(" word")))
        self._timer = self._loop.call_at(self._began_at + self._said * self._every_s, self._say)


class Connection(asyncio.Protocol):
    """One connection: requests in order, one generation at a time."""

    transport: asyncio.Transport

    def __init__(self, counts: Counts, every_s: float) -> None:
        self._counts = counts
        self._every_s = every_s
        self._requests = Requests()
        self._generation: Generation | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop for whoever has left."""
        del exc  # why does not matter
        if self._generation is not None:
            self._generation.stop()

    def data_received(self, data: bytes) -> None:
        """Answer each complete request."""
        for head, body in self._requests.fed(data):
            self._answer(head.split(b" ", 2)[1], body)

    def _answer(self, path: bytes, body: bytes) -> None:
        match path:
            case b"/seen":
                self._json(compact(vars(self._counts)))
            case b"/v1/models":
                self._json(_MODELS)
            case _:
                self._chat(json.loads(body))

    def _chat(self, asked: dict[str, Any]) -> None:
        if not asked.get("stream"):
            self._counts.begin()
            self._json(chat_answer("word"))
            self._counts.end()
            return
        said = asked["messages"][-1]["content"]
        if said == HOLD:
            self._generation = Generation(self.transport, self._counts, None, HOLD_EVERY_S)
        else:
            words = int(said) if said.isdecimal() else 1
            self._generation = Generation(self.transport, self._counts, words, self._every_s)

    def _json(self, body: bytes) -> None:
        self.transport.write(whole(body))


async def main(words_per_s: float) -> None:
    """Say the port, and serve until killed."""
    counts = Counts()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(counts, 1 / words_per_s), "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"port {server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
