"""The pool under any sequence of events, and in virtual time."""

import asyncio
import selectors

from hypothesis import given
from hypothesis import strategies as st

from ktms.adapters.upstream_http.connection import Connection
from ktms.adapters.upstream_http.pool import Pool
from ktms.adapters.upstream_http.settings import UpstreamSettings
from tests.adapters.upstream_http.paper import get, small, turns
from tests.adapters.upstream_http.scripted import passed

STEPS = st.lists(
    st.tuples(st.sampled_from(["get", "fresh", "park", "kill", "cancel", "turn"]), st.integers(0, 3)), max_size=60
)


class VirtualTime(selectors.DefaultSelector):
    """Lets the clock of its loop jump to the next timer instead of waiting for it."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "nothing is ready and nothing is scheduled"
        self.now += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop on which time passes only while all wait."""

    def __init__(self) -> None:
        self._virtual = VirtualTime()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


@given(age_s=st.floats(0.001, 100.0), pauses=st.lists(st.floats(0.0, 50.0), min_size=1, max_size=8))
def test_in_virtual_time_too_idle_connections_live_exactly_their_age(age_s: float, pauses: list[float]) -> None:
    async def live() -> None:
        loop = asyncio.get_running_loop()
        pool = Pool(UpstreamSettings(idle_age_s=age_s))
        for number, pause in enumerate(pauses):
            pool.park(await get(pool, number))
            await passed(pause)
        last = max(connection.idle_since for connection in pool._adopted) if pool._adopted else 0.0
        while pool.open_total:
            await passed(age_s / 3)
        assert loop.time() <= max(last, sum(pauses)) + age_s * 1.4

    loop = VirtualLoop()
    try:
        loop.run_until_complete(live())
    finally:
        loop.close()


@given(steps=STEPS)
def test_bounds_hold_and_no_slot_is_lost_whatever_happens(steps: list[tuple[str, int]]) -> None:
    asyncio.run(_whatever_happens(steps))


async def _whatever_happens(steps: list[tuple[str, int]]) -> None:
    pool = small(3, 2, idle=1)
    held: list[Connection] = []
    waiting: list[asyncio.Task[None]] = []

    async def take(number: int, *, fresh: bool) -> None:
        held.append(await get(pool, number, within_s=1000.0, fresh=fresh))

    async with asyncio.TaskGroup() as group:
        for step, number in steps:
            if step in ("get", "fresh"):
                waiting.append(group.create_task(take(number, fresh=step == "fresh")))
            elif step == "park" and held:
                pool.park(held.pop(number % len(held)))
            elif step == "kill" and held:
                held.pop(number % len(held)).abort()
            elif step == "cancel" and waiting:
                waiting.pop(number % len(waiting)).cancel()
            elif step == "turn":
                await turns(number)
            assert 0 <= pool.idle_total <= pool.open_total <= 3
            assert all(entry.open <= 2 for entry in pool._lanes.values())
        for _ in range(len(steps) + 1):  # whoever still waits is served once the others let go
            await turns(6)
            while held:
                pool.park(held.pop())
    assert all(task.done() for task in waiting)
    await turns(6)
    assert pool.open_total == pool.idle_total, "nobody holds a slot any more"
    await pool.close()
    assert pool.open_total == 0
    assert not pool._lanes
