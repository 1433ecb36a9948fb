"""What all replicas of a world share where there are no bytes, the way from each of them to it, and how it fails.

Rules: as over the wire, a store that hangs or is too slow costs whoever asks one timeout; after three failures in
a row a replica leaves it alone for 2 s, then asks once. What was asked of a store that hung takes effect when it
goes on, and of a slow one although the answer comes too late. Not here: what is kept and by which rules
(`ktms.adapters.memory`), what a replica does with it (`fleet_line.py`, `quota_line.py`).
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ktms.adapters.memory.answer_cache import MemoryAnswerCache
from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.adapters.memory.quotas import MemoryQuotas
from ktms.ports.lease_store import LeaseStoreAway
from sim.fakes.clock import WALL_AT_START
from sim.loop import STARTS_AT

T = TypeVar("T")

TIMEOUT_S = 0.1
"""The default of KTMS_REDIS_TIMEOUT_MS."""

FAILURES_MAX = 3
SILENCE_S = 2.0
"""FR7: so many failures in a row, and a replica leaves the store alone for so long."""

UNHEARD_MAX = 1_000
"""Requests that a store takes while it hangs: as many as fit into the buffers of its connections."""


def _wall() -> float:
    return WALL_AT_START - STARTS_AT + asyncio.get_running_loop().time()


class SharedStore:
    """What one Redis would be: what it keeps, and the faults that are on."""

    def __init__(self, store: MemoryFleetStore) -> None:
        self.store = store
        self.quotas = MemoryQuotas(wall=_wall)
        self.answers = MemoryAnswerCache()
        self._ways: dict[str, StoreWay] = {}
        self._on: Counter[str] = Counter()
        self._slow: list[float] = []
        self._unheard: deque[Callable[[], object]] = deque(maxlen=UNHEARD_MAX)

    @property
    def hung(self) -> bool:
        """Whether it takes what is asked and answers nothing."""
        return self._on["redis_hung"] > 0

    @property
    def slow_s(self) -> float:
        """How long its answers take."""
        return max(self._slow, default=0.0)

    def mode(self, kind: str, amount: float = 0.0, *, on: bool) -> None:
        """Begin or end a fault by its name in the plan."""
        match kind:
            case "redis_empty":
                if on:
                    self._unheard.clear()
                    self.store.lose()
                    self.quotas.lose()
                    self.answers.lose()
                    self.store.cut_news()
                return
            case "redis_slow":
                (self._slow.append if on else self._slow.remove)(amount)
            case _:
                self._on[kind] += 1 if on else -1
        if self._on["redis_away"] and not self.hung:
            self.store.cut_news()
        away = self.store.away
        self.store.away = "away" if self._on["redis_away"] else "timeout" if self.hung else None
        self.quotas.away = self.store.away
        if self._on["redis_away"]:
            self._unheard.clear()
        elif away is not None and self.store.away is None:
            while self._unheard:
                self._unheard.popleft()()

    def way_of(self, replica: str) -> "StoreWay":
        """Give the one way of a process to all that is kept here: a failure of one question counts for all."""
        return self._ways.setdefault(replica, StoreWay(self))

    def unheard(self, effect: Callable[[], object]) -> None:
        """Keep what was asked of a store that hangs."""
        self._unheard.append(effect)


class StoreWay:
    """One process's way to the store. What nobody waits for and could not be told is told when it is back."""

    def __init__(self, shared: SharedStore) -> None:
        self._shared = shared
        self._failures = 0
        self._silent_until = 0.0
        self._on_trial = False
        self._owed: deque[Callable[[], object]] = deque(maxlen=UNHEARD_MAX)

    @property
    def silenced(self) -> bool:
        """Whether the store is left alone for now."""
        return asyncio.get_running_loop().time() < self._silent_until

    def tell(self, effect: Callable[[], object]) -> None:
        """Have something done for which nobody waits."""
        if self.silenced:
            self._owed.append(effect)
        else:
            effect()

    async def ask(self, carry_out: Callable[[], Awaitable[T]], effect: Callable[[], object] | None = None) -> T:
        """Ask the store; `effect` is what happens if it hangs and goes on later.

        Raises:
            LeaseStoreAway: it could not be asked, or did not answer in time.
        """
        if self.silenced or self._on_trial:
            raise LeaseStoreAway("silenced")
        self._on_trial = self._failures >= FAILURES_MAX  # nobody else asks before this one has its answer
        await self._reach(effect)
        while self._owed:
            self._owed.popleft()()
        try:
            answer = await carry_out()
        except LeaseStoreAway:
            await self._answered()
            raise
        await self._answered()
        return answer

    async def _reach(self, effect: Callable[[], object] | None) -> None:
        away = self._shared.store.away
        if away is None:
            return
        if away == "timeout":
            if effect is not None:
                self._shared.unheard(effect)
            await self._wait(TIMEOUT_S)
        self._failed()
        raise LeaseStoreAway(away)

    async def _answered(self) -> None:
        """Wait for the answer of a store that is slow; what was asked has taken effect."""
        slow_s = self._shared.slow_s
        if slow_s:
            await self._wait(min(slow_s, TIMEOUT_S))
        if slow_s >= TIMEOUT_S:
            self._failed()
            raise LeaseStoreAway("timeout")
        self._failures, self._on_trial = 0, False

    async def _wait(self, seconds: float) -> None:
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self._on_trial = False  # the next one is it
            raise

    def _failed(self) -> None:
        self._failures, self._on_trial = self._failures + 1, False
        if self._failures >= FAILURES_MAX:
            self._silent_until = asyncio.get_running_loop().time() + SILENCE_S
