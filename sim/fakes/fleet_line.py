"""The way from each replica to the shared store of the fleet where there are no bytes, and how it fails.

Rules: as over the wire, a store that hangs or is too slow costs whoever asks one timeout; after three failures in
a row a replica leaves it alone for 2 s, then asks once. What was asked of a store that hung takes effect when it
goes on, and of a slow one although the answer comes too late: whoever gave up then gives a lease back that it was
never told of. Not here: the rules of the store (`ktms.adapters.memory`), facts (`leases.py`).
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.domain.capacity.node_report import NodeReport
from ktms.domain.ids import LeaseId, ModelName, NodeName
from ktms.ports.fleet_board import BoardView
from ktms.ports.lease_store import Grant, Lease, LeaseStoreAway, Renewed, SlotWish

T = TypeVar("T")

TIMEOUT_S = 0.1
"""The default of KTMS_REDIS_TIMEOUT_MS."""

FAILURES_MAX = 3
SILENCE_S = 2.0
"""FR7: so many failures in a row, and a replica leaves the store alone for so long."""

UNHEARD_MAX = 1_000
"""Requests that a store takes while it hangs: as many as fit into the buffers of its connections."""


class SharedStore:
    """What one Redis would be: a store, and the faults that are on. Replicas see it through a `FleetLine`."""

    def __init__(self, store: MemoryFleetStore) -> None:
        self.store = store
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
        if self._on["redis_away"]:
            self._unheard.clear()
        elif away is not None and self.store.away is None:
            while self._unheard:
                self._unheard.popleft()()

    def unheard(self, effect: Callable[[], object]) -> None:
        """Keep what was asked of a store that hangs."""
        self._unheard.append(effect)


class FleetLine:
    """One process's way to the store; implements the ports LeaseStore, WaitingRoom and FleetBoard.

    `name` tells processes apart where a duty is claimed.
    """

    def __init__(self, shared: SharedStore, name: str) -> None:
        self._shared = shared
        self._replica = MemoryReplica(shared.store, name)
        self._failures = 0
        self._silent_until = 0.0
        self._on_trial = False
        self._owed: deque[tuple[Lease, float]] = deque(maxlen=UNHEARD_MAX)

    async def take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Grant:
        """Take a slot on the first node that has one free."""
        try:
            return await self._ask(
                lambda: self._replica.take(wishes, lease_id), lambda: self._unheard_take(wishes, lease_id)
            )
        except (LeaseStoreAway, asyncio.CancelledError) as error:
            if not isinstance(error, LeaseStoreAway) or error.kind == "timeout":
                for wish in wishes:
                    self.release(Lease(lease_id, wish.node, wish.slots))
            raise

    def release(self, lease: Lease, *, drain_s: float = 0.0) -> None:
        """Give a slot back, as soon as the store is asked again."""
        if self._silenced:
            self._owed.append((lease, drain_s))
        else:
            self._replica.release(lease, drain_s=drain_s)

    async def renew(self) -> Renewed:
        """Renew what this replica holds, and those who wait."""
        return await self._ask(self._replica.renew)

    def join(self, model: ModelName, waiter: str) -> None:
        """Count one more waiter."""
        self._replica.join(model, waiter)

    def leave(self, model: ModelName, waiter: str) -> None:
        """Count a waiter off."""
        self._replica.leave(model, waiter)

    async def freed(self) -> AsyncIterator[NodeName]:
        """Yield nodes with a freed slot until the news are cut."""
        if self._silenced:
            raise LeaseStoreAway("silenced")
        async for node in self._replica.freed():
            yield node

    async def read(self, nodes: Sequence[NodeName], models: Sequence[ModelName]) -> BoardView:
        """Read counts and reports."""
        return await self._ask(lambda: self._replica.read(nodes, models))

    async def claim(self, duty: str, ttl_s: float) -> bool:
        """Claim a duty, or keep it."""
        return await self._ask(lambda: self._replica.claim(duty, ttl_s))

    async def post(self, reports: Sequence[NodeReport]) -> None:
        """Put reports up."""
        await self._ask(lambda: self._replica.post(reports))

    async def drained(self, nodes: Sequence[NodeName]) -> None:
        """Free the draining slots of idle nodes."""
        await self._ask(lambda: self._replica.drained(nodes))

    @property
    def _silenced(self) -> bool:
        return asyncio.get_running_loop().time() < self._silent_until

    async def _ask(self, carry_out: Callable[[], Awaitable[T]], effect: Callable[[], object] | None = None) -> T:
        """Ask the store; `effect` is what happens if it hangs and goes on later."""
        if self._silenced or self._on_trial:
            raise LeaseStoreAway("silenced")
        self._on_trial = self._failures >= FAILURES_MAX  # nobody else asks before this one has its answer
        await self._reach(effect)
        while self._owed:
            lease, drain_s = self._owed.popleft()
            self._replica.release(lease, drain_s=drain_s)
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

    def _unheard_take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> None:
        with suppress(LeaseStoreAway):  # it may be too young to know
            self._shared.store.take(wishes, lease_id)

    def _failed(self) -> None:
        self._failures, self._on_trial = self._failures + 1, False
        if self._failures >= FAILURES_MAX:
            self._silent_until = asyncio.get_running_loop().time() + SILENCE_S
