"""The database itself: one store for all replicas, reached over lines that fail as a real server's do.

Rules: away refuses and breaks what is under way; hung takes every question and answers none until it ends, then
all those still waited for; locked does so with questions about keys alone; slow adds to every answer; whoever asks
has the time limits and the places of the real adapter. Faults of one kind may overlap. Operators write beside all
of this: they sit at the database, replicas do not.
Not here: what is asked (`view.py`), what is written (`operator.py`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ktms.adapters.memory.clock import LoopClock
from ktms.adapters.memory.repeats import MemoryRepeats
from ktms.adapters.memory.shelf import MemoryShelf
from ktms.adapters.memory.store import NEWS_MAX, MemoryStore
from ktms.ports.catalogue import StoreAway
from ktms.ports.change_feed import News
from sim.seed import Chance, Seed
from sim.trace import Trace

T = TypeVar("T")

OPERATION_TIMEOUT_S = 3.0
"""An operation's time in all, as in the real pool."""

CONNECTIONS_MAX = 24
"""Operations of one replica at once, as in the real pool; more of them wait for a place. A 25th hears news."""

LATENCY_MIN_S, LATENCY_MAX_S = 0.0001, 0.0009
"""An answer of a sound database on the same network."""

FIND_KEYS = "find"
"""The question that waits for the table of keys."""

EARLY_SHARE = 0.5
"""How often an answer tells of the moment of the question: the other ones tell of the moment they are given."""


class Unanswered(StoreAway):
    """The question was taken, and its time ran out."""


class SharedStore(MemoryStore):
    """The state, with its news handed to one place in order. `muted`: notifications are lost on the way."""

    def __init__(self, hand_on: Callable[[News], None]) -> None:
        super().__init__()
        self._hand_on = hand_on
        self.muted = False

    def tell(self, news: News) -> None:
        """Tell all feeds, unless notifications are lost."""
        if not self.muted:
            self._hand_on(news)


class Heard:
    """What one feed has been sent; None is its end."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.news: asyncio.Queue[News | None] = asyncio.Queue(NEWS_MAX + 1)


class SimPostgres:
    """The database of a world."""

    def __init__(self, seed: Seed, trace: Trace) -> None:
        self.trace = trace
        self.store = SharedStore(self._tell)
        self.shelf = MemoryShelf(LoopClock(), self.store)
        self.repeats = MemoryRepeats(self.store)
        self._seed = seed
        self._faults: dict[str, list[float]] = {
            "postgres_away": [],
            "postgres_failover": [],
            "postgres_hung": [],
            "postgres_slow": [],
            "keys_locked": [],
        }
        self._feeds: list[Heard] = []
        self._held_news: list[News] = []
        self._waiting: dict[int, tuple[str, asyncio.Future[bool]]] = {}
        self._stuck: dict[int, asyncio.Future[bool]] = {}
        self._asked_total = 0

    @property
    def away(self) -> bool:
        """Whether it refuses."""
        return bool(self._faults["postgres_away"] or self._faults["postgres_failover"])

    @property
    def hung(self) -> bool:
        """Whether it takes questions and answers none."""
        return bool(self._faults["postgres_hung"])

    @property
    def slow_s(self) -> float:
        """What every answer takes longer."""
        return max(self._faults["postgres_slow"], default=0.0)

    @property
    def locked(self) -> bool:
        """Whether somebody holds the table of keys, and questions about keys wait for it."""
        return bool(self._faults["keys_locked"])

    @property
    def gives_no_answer(self) -> bool:
        """Whether a question about keys of now is bound to run out of time."""
        return self.hung or self.locked or self.slow_s >= OPERATION_TIMEOUT_S

    def mode(self, kind: str, amount: float = 0.0, *, on: bool) -> None:
        """Begin or end a fault by its name in the plan; `amount` is seconds for a slow one."""
        if kind == "feed_lost":
            self.lose_feeds()
            return
        if on:
            self._faults[kind].append(amount)
        else:
            self._faults[kind].remove(amount)
        if self.away:
            self._break_all()
        elif not self.hung:  # those that wait for a locked table find it so, and wait on
            self._go_on()

    def lose_feeds(self) -> None:
        """Lose the connection of every feed."""
        feeds, self._feeds = self._feeds, []
        for heard in feeds:
            heard.news.put_nowait(None)

    def forget(self, host: str) -> None:
        """Drop the connections of a host that crashed; nothing of it is woken."""
        self._feeds = [heard for heard in self._feeds if heard.host != host]
        for number in [number for number, (whose, _) in self._waiting.items() if whose == host]:
            self._stuck.pop(number, None)
            del self._waiting[number]

    def hear(self, host: str) -> Heard:
        """Begin a feed."""
        heard = Heard(host)
        self._feeds.append(heard)
        return heard

    def stop_hearing(self, heard: Heard) -> None:
        """End a feed; twice is harmless."""
        if heard in self._feeds:
            self._feeds.remove(heard)

    def line(self, host: str) -> "Line":
        """Give a replica's way to the database."""
        return Line(self, host, self._seed.chance(host))

    async def pause(self, host: str, seconds: float | None) -> None:
        """Wait so long, or until a hung database goes on.

        Raises:
            StoreAway: the connection broke meanwhile.
        """
        loop = asyncio.get_running_loop()
        self._asked_total += 1
        number, waiter = self._asked_total, loop.create_future()
        self._waiting[number] = (host, waiter)
        timer = None
        if seconds is None:
            self._stuck[number] = waiter
        else:
            timer = loop.call_later(seconds, _wake, waiter)
        try:
            holds = await waiter
        finally:
            self._waiting.pop(number, None)
            self._stuck.pop(number, None)
            if timer is not None:
                timer.cancel()
        if not holds:
            raise StoreAway("the connection broke")

    def _tell(self, news: News) -> None:
        if self.hung:
            self._held_news.append(news)
            return
        for heard in tuple(self._feeds):
            if heard.news.qsize() >= NEWS_MAX:
                self._feeds.remove(heard)
                heard.news.put_nowait(None)
            else:
                heard.news.put_nowait(news)

    def _break_all(self) -> None:
        self._held_news.clear()
        self.lose_feeds()
        for _, waiter in tuple(self._waiting.values()):
            _wake(waiter, holds=False)

    def _go_on(self) -> None:
        for waiter in tuple(self._stuck.values()):
            _wake(waiter)
        held, self._held_news = self._held_news, []
        for news in held:
            self._tell(news)


class Line:
    """One replica's connections to the database, each use of one bounded in time.

    `on_full` is told what is asked for when no place is free, `on_lost` what was asked for when its answer is lost
    with the connection, and whether it took effect all the same.
    """

    def __init__(self, server: SimPostgres, host: str, chance: Chance) -> None:
        self.server = server
        self.host = host
        self.in_use = 0
        self.on_full: Callable[[str], None] = _nobody
        self.on_lost: Callable[[str, bool], None] = _nobody_knows
        self._chance = chance
        self._places = asyncio.Semaphore(CONNECTIONS_MAX)

    async def ask(
        self, method: str, read: Callable[[], Awaitable[T]], show: Callable[[T], str], *, early: bool = True
    ) -> T:
        """Make one round trip; `show` writes its answer in one line for the trace.

        `early` allows the answer to tell of the moment of the question, for a `read` that never raises.

        Raises:
            Unanswered: no answer in time.
            StoreAway: refused, or broken off.
        """
        if self._places.locked():
            self.on_full(method)
        try:
            async with asyncio.timeout(OPERATION_TIMEOUT_S), self._places:
                self.in_use += 1
                try:
                    told = await self._answer(method, read, early=early)
                finally:
                    self.in_use -= 1
        except (StoreAway, TimeoutError) as error:
            self.reply(method, type(error).__name__)
            if isinstance(error, TimeoutError):
                raise Unanswered(f"{method}: the database does not answer") from error
            raise
        self.reply(method, show(told))
        return told

    def reply(self, method: str, text: str) -> None:
        """Fold what came into the trace."""
        self.server.trace.replied(asyncio.get_running_loop().time(), f"{self.host}/postgres", method, text)

    async def _answer(self, method: str, read: Callable[[], Awaitable[T]], *, early: bool) -> T:
        server = self.server
        if server.away:
            await asyncio.sleep(self._latency_s())
            raise StoreAway("the connection is refused")
        is_early = self._chance.happens(EARLY_SHARE) and early
        told = await read() if is_early else None
        try:
            await server.pause(self.host, server.slow_s + self._latency_s())
        except StoreAway:
            self.on_lost(method, is_early)
            raise
        while server.hung or (server.locked and method == FIND_KEYS):
            await server.pause(self.host, None)
            await server.pause(self.host, self._latency_s())
        return await read() if told is None else told

    def _latency_s(self) -> float:
        return self._chance.uniform(LATENCY_MIN_S, LATENCY_MAX_S)


def _nobody(_: str) -> None:
    """Hear that no place is free and do nothing."""


def _nobody_knows(_: str, _took_effect: bool) -> None:
    """Hear that an answer is lost and do nothing."""


def _wake(waiter: "asyncio.Future[bool]", *, holds: bool = True) -> None:
    if not waiter.done():
        waiter.set_result(holds)
