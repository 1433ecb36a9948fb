"""Connections to the simulated Redis, and how it fails.

Rules: requests of one connection are answered in their order, however their bytes are cut; away refuses and breaks
every connection; hung takes bytes, up to what a kernel would hold, and answers them when it ends. What lies unread
or unanswered is bounded. Not here: what a command does (`commands.py`).
"""

import asyncio
from collections.abc import Callable
from typing import cast

from sim.fakes.redis.commands import Session, State, answer
from sim.fakes.redis.keyspace import Keyspace, loop_now_s
from sim.fakes.redis.quota_twins import register_quota_twins
from sim.fakes.redis.refusals import Refusals
from sim.fakes.redis.resp import Answer, FramingBroken, RequestReader, encode
from sim.fakes.redis.scripts import Twin
from sim.fakes.redis.twins import register_twins

HELD_MAX_BYTES = 256 * 1024
"""What a connection may send while nothing is answered; then it is read no more."""


def _unheard(transport: asyncio.BaseTransport, how: str) -> None:
    del transport, how


class SimRedis:
    """A server. Give `connection` to the network as the factory of its protocols.

    `met` hears, once for each connection, who turned to it in vain: refused, unanswered, or kept from before.
    `now` gives the seconds that times to live count on; by default those of the running loop.
    """

    def __init__(self, *, password: str | None = None, now: Callable[[], float] = loop_now_s) -> None:
        self.state = State(None if password is None else password.encode(), Keyspace(now))
        self.met: Callable[[asyncio.BaseTransport, str], None] = _unheard
        self._faults = {"redis_away": 0, "redis_hung": 0}
        self._refusals = Refusals()
        self._open: dict[int, RedisConnection] = {}
        self._connections_total = 0
        register_twins(self.state.scripts)
        register_quota_twins(self.state.scripts)

    @property
    def away(self) -> bool:
        """Whether it refuses."""
        return self._faults["redis_away"] > 0

    @property
    def hung(self) -> bool:
        """Whether it takes bytes and answers nothing."""
        return self._faults["redis_hung"] > 0

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._open)

    def connection(self, *, at_other_port: bool = False) -> asyncio.Protocol:
        """Make the protocol of one connection."""
        self._connections_total += 1
        trusted = self.state.password is None
        session = Session(self._connections_total, trusted=trusted, at_other_port=at_other_port)
        return RedisConnection(self, session)

    def answer(self, session: Session, request: list[bytes]) -> Answer:
        """Answer a request, or refuse it with an error of its own."""
        refused = self._refusals.of(session, request)
        return answer(self.state, session, request) if refused is None else refused

    def register(self, source: str, twin: Twin) -> str:
        """Say what a Lua script does; gives its digest."""
        return self.state.scripts.register(source.encode(), twin).decode()

    def mode(self, kind: str, amount: float = 0.0, *, on: bool) -> None:
        """Begin or end a fault by its name in the plan."""
        if kind not in self._faults:
            self._refusals.mode(kind, amount, on=on)
            return
        self._faults[kind] += 1 if on else -1
        assert self._faults[kind] >= 0, f"{kind} ended more often than it began"
        for connection in tuple(self._open.values()):
            if self.away:
                connection.cut()
            else:
                connection.go_on()

    def restart_empty(self) -> None:
        """Lose all connections, keys and scripts, as a restart without persistence does."""
        for connection in tuple(self._open.values()):
            connection.cut()
        self.state.data.clear()
        self.state.scripts.flush()

    def take_over(self, data: Keyspace) -> None:
        """Let a replica be the server from now on: connections, scripts and what it had not heard are lost."""
        for connection in tuple(self._open.values()):
            connection.cut()
        self.state.data = data
        self.state.scripts.flush()

    def hand_out(self) -> None:
        """Hand the news of what was done to those who subscribed."""
        for channel, message in self.state.data.take_told():
            for connection in tuple(self._open.values()):
                if channel in connection.session.channels:
                    connection.hear(channel, message)

    def opened(self, connection: "RedisConnection") -> None:
        """Note an open connection."""
        self._open[connection.session.number] = connection

    def closed(self, connection: "RedisConnection") -> None:
        """Note that a connection is gone; twice is harmless."""
        self._open.pop(connection.session.number, None)


class RedisConnection(asyncio.Protocol):
    """One client."""

    def __init__(self, server: SimRedis, session: Session) -> None:
        self._server = server
        self.session = session
        self._requests = RequestReader()
        self._transport: asyncio.Transport | None = None
        self._writing_paused = False
        self._reading_paused = False
        self._met_in_vain = False
        self._was_served = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, unless the server is away."""
        self._transport = cast("asyncio.Transport", transport)
        if self._server.away:
            self._server.met(self._transport, "refused")
            self._transport.abort()
        else:
            self._server.opened(self)
            self._was_served = not self._server.hung

    def data_received(self, data: bytes) -> None:
        """Take bytes and answer the requests that are whole."""
        if self._server.hung and self._transport is not None and not self._met_in_vain:
            self._met_in_vain = True
            self._server.met(self._transport, "kept" if self._was_served else "unanswered")
        self._requests.feed(data)
        self.go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        del exc
        self._transport = None
        self._server.closed(self)

    def pause_writing(self) -> None:
        """Answer no more until the client takes what it was sent."""
        self._writing_paused = True

    def resume_writing(self) -> None:
        """Answer what came meanwhile."""
        self._writing_paused = False
        self.go_on()

    def hear(self, channel: bytes, message: bytes) -> None:
        """Send news on; a client that does not take them is cut off, as Redis does."""
        if self._writing_paused:
            self.cut()
        elif self._transport is not None and not self._transport.is_closing():
            news = encode([b"message", channel, message], self.session.version)
            self._transport.write(news if self.session.version == 2 else b">" + news[1:])

    def cut(self) -> None:
        """Break the connection."""
        self._server.closed(self)
        if self._transport is not None:
            self._transport.abort()

    def go_on(self) -> None:
        """Answer what waits, unless the server is hung; read on as long as there is room."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if not (self._server.hung or self._writing_paused):
            self._answer_all(transport)
        full = self._requests.waiting_bytes > HELD_MAX_BYTES and (self._server.hung or self._writing_paused)
        if full != self._reading_paused and not transport.is_closing():
            self._reading_paused = full
            (transport.pause_reading if full else transport.resume_reading)()

    def _answer_all(self, transport: asyncio.Transport) -> None:
        answers: list[bytes] = []
        try:
            while not self.session.ended and (request := self._requests.take()) is not None:
                answers.append(encode(self._server.answer(self.session, request), self.session.version))
        except FramingBroken as error:
            answers.append(b"-ERR Protocol error: %b\r\n" % str(error).encode())
            self.session.ended = True
        if answers:
            transport.write(b"".join(answers))
        self._server.hand_out()
        if self.session.ended:
            transport.close()
