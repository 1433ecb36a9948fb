"""Queues for a slot: first come, first served, per model and class, for as long as a call may wait.

Rules: a call whose forecast is beyond its patience does not wait at all; whoever waits is woken in order, and only
when somebody of the queue can use what came free, or has nothing left to wait for; leaving the queue is a
`finally`. A slot may come free here, on another replica (news), or by expiry (a look at the board every POLL_S).
Lines of batches stand behind everybody, on all replicas; they are not counted among those who wait.
Not here: how long a call may wait (`domain/capacity/wait_forecast.py`), who takes the slot (`node_walk.py`),
reading the board (`sweep.py`).
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum

from ktms.domain.capacity.wait_forecast import held_back_s
from ktms.domain.ids import ModelName
from ktms.engine.desk import Desk
from ktms.ports.waiting_room import WaitingRoom

POLL_S = 0.05
"""Somebody waits: how often the board is read meanwhile; news of free slots are hints and may be lost."""

WAITERS_MAX = 4096
"""As many as calls at once; a queue is bounded by patience long before."""


class Urgency(IntEnum):
    """Classes of waiters; a lower one is served first."""

    INTERACTIVE = 0
    NORMAL = 1
    BATCH = 2


@dataclass(slots=True, eq=False)
class Waiter:
    """One call in a queue.

    `due` says, without waiting, whether it has something to do: a slot that seems free would do for it, or there
    is none any more that it could wait for.
    """

    urgency: Urgency
    due: Callable[[], bool]
    turn: asyncio.Future[None] | None = None
    since: float = 0.0  # when it joined, and until when it waits, by the loop's clock
    until: float = 0.0


@dataclass(slots=True, eq=False)
class _Line:
    desk: Desk
    waiters: list[Waiter] = field(default_factory=list)  # in the order in which they are served
    held_back: asyncio.TimerHandle | None = None  # a turn that is given a moment later

    def first(self) -> Waiter | None:
        """Give the first who has something to do; None while somebody asks for a slot."""
        for waiter in self.waiters:
            if waiter.turn is None or waiter.turn.done():
                return None  # somebody asks right now; the queue goes on when the answer is there
            if waiter.due():
                return waiter
        return None

    def give(self) -> None:
        """Give the turn."""
        self.let_go()
        waiter = self.first()
        if waiter is not None and waiter.turn is not None:
            waiter.turn.set_result(None)

    def let_go(self) -> None:
        """Forget the turn that was to be given a moment later."""
        if self.held_back is not None:
            self.held_back.cancel()
            self.held_back = None


class Queues:
    """The queues of this replica."""

    def __init__(self, room: WaitingRoom) -> None:
        self._room = room
        self._lines: dict[int, _Line] = {}  # by the identity of the desk, which the line keeps alive
        self._somebody = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How many wait here, in all queues."""
        return sum(len(line.waiters) for line in self._lines.values())

    @property
    def desks(self) -> tuple[Desk, ...]:
        """The desks somebody waits at."""
        return tuple(line.desk for line in self._lines.values())

    async def somebody_waits(self) -> None:
        """Wait until somebody waits."""
        await self._somebody.wait()

    def ahead(self, desk: Desk, urgency: Urgency) -> int:
        """How many of this replica would be served before one who comes now."""
        line = self._lines.get(id(desk))
        return 0 if line is None else sum(waiter.urgency <= urgency for waiter in line.waiters)

    def ahead_for_slots(self, desk: Desk, urgency: Urgency) -> int:
        """How many of this replica want the same slots before one who comes now, whichever model they ask for."""
        return sum(self.ahead(one, urgency) for one in desk.sharing)

    def others_near(self, desk: Desk) -> bool:
        """Whether anybody but lines of batches waits for a node of this desk, here or on another replica."""
        return any(one.elsewhere or self.ahead(one, Urgency.NORMAL) for one in desk.near)

    @contextmanager
    def joined(self, desk: Desk, waiter: Waiter, name: str) -> Iterator[None]:
        """Stand in the queue while the block runs; `name` is unique among all replicas."""
        line = self._lines.setdefault(id(desk), _Line(desk))
        position = sum(other.urgency <= waiter.urgency for other in line.waiters)
        waiter.since = asyncio.get_running_loop().time()
        line.waiters.insert(position, waiter)
        counts = waiter.urgency is not Urgency.BATCH  # nobody waits behind a line of a batch
        if counts:
            desk.here += 1
            self._room.join(desk.model, name)
            self._somebody.set()
        try:
            yield
        finally:
            line.waiters.remove(waiter)
            if counts:
                desk.here -= 1
                self._room.leave(ModelName(desk.model), name)
            if not line.waiters:
                line.let_go()
                del self._lines[id(desk)]
            if not any(line.desk.here for line in self._lines.values()):
                self._somebody.clear()
            self.pump(desk)

    async def turn(self, desk: Desk, waiter: Waiter, limit_s: float) -> bool:
        """Wait until it is this waiter's turn to ask for a slot; it keeps its place while it asks.

        False: its time is over.
        """
        loop = asyncio.get_running_loop()
        waiter.turn, waiter.until = loop.create_future(), loop.time() + limit_s
        self.pump(desk)
        try:
            async with asyncio.timeout(limit_s):
                await waiter.turn
        except TimeoutError:
            return False
        finally:
            waiter.turn = None
        return True

    def pump(self, desk: Desk) -> None:
        """Give the turn to the first in the queue who has something to do; one at a time."""
        line = self._lines.get(id(desk))
        waiter = None if line is None or line.held_back is not None else line.first()
        if line is None or waiter is None:
            return
        loop = asyncio.get_running_loop()
        back_s = 0.0
        if desk.elsewhere and waiter.urgency is not Urgency.INTERACTIVE:
            back_s = held_back_s(waited_s=loop.time() - waiter.since, limit_s=waiter.until - waiter.since)
        if back_s > 0:
            line.held_back = loop.call_later(back_s, line.give)
        else:
            line.give()

    def pump_each(self, desks: Iterable[Desk]) -> None:
        """Give turns in queues that one slot may be for: the most urgent first, then who has waited longest."""
        lines = [line for desk in desks if (line := self._lines.get(id(desk))) is not None]
        for line in sorted(lines, key=_foremost):
            self.pump(line.desk)

    def pump_all(self) -> None:
        """Give turns in all queues: counts have changed."""
        self.pump_each([line.desk for line in self._lines.values()])


def _foremost(line: _Line) -> tuple[Urgency, float]:
    first = line.waiters[0]
    return first.urgency, first.since
