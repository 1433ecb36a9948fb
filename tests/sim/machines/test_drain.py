"""A drain on the virtual loop, in any order of calls that enter, end, are cut, against a plain count of calls.

The prose: leaving turns readiness off and still takes calls; closed takes none; `quiet` ends exactly when no call
is under way; `cut` interrupts each call under way once, and each has time for a last word.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ktms.engine.drain import Drain, Phase
from sim.loop import VirtualLoop
from sim.seed import Seed
from sim.trace import Trace
from tests.sim.machines.budget import must_fail, search

BUDGET = {"examples": 250, "steps": 40}
PHASES = (Phase.SERVING, Phase.LEAVING, Phase.CLOSED)


@dataclass(slots=True)
class Running:
    """One call: the gate it waits at, how often it was interrupted, how long its last word takes."""

    gate: asyncio.Event
    task: asyncio.Task[None]
    word_s: float
    interrupted: int = 0


class Draining(RuleBasedStateMachine):
    """One replica; whoever drains it waits for quiet, perhaps not for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop(Seed(1).chance(), Trace())
        self.drain = Drain()
        self.calls: list[Running] = []
        self.phase = 0
        self.cut_count = 0
        self.waiting: asyncio.Task[int] | None = None

    def teardown(self) -> None:
        """Close the loop; nothing may have failed unseen on it."""
        unhandled = self.loop.unhandled
        self.loop.close()
        assert not unhandled

    @rule(count=st.integers(1, 4), word_s=st.sampled_from([0.0, 2.0]))
    def enter(self, count: int, word_s: float) -> None:
        """Calls come; also to a closed replica, which counts them until it has refused them."""
        for _ in range(count):
            gate = asyncio.Event()
            task = self.loop.create_task(self._call(len(self.calls), gate))
            self.calls.append(Running(gate, task, word_s))
        self._settle()

    @rule(which=st.integers(0, 3))
    def end(self, which: int) -> None:
        """The call that came so many calls ago ends, if it is still there."""
        for call in self._under_way()[which : which + 1]:
            call.gate.set()
        self._settle()

    @rule()
    def all_end_and_one_enters(self) -> None:
        """In the same turn: quiet must look again."""
        for call in self._under_way():
            call.gate.set()
        self.enter(1, 0.0)

    @rule()
    def leave(self) -> None:
        """The first signal."""
        self.drain.leave()
        self.phase = max(self.phase, 1)

    @rule()
    def close(self) -> None:
        """The balancer's delay is over."""
        self.drain.close()
        self.phase = 2

    @precondition(lambda self: not self.cut_count)
    @rule()
    def cut(self) -> None:
        """The time for a drain is over; the app cuts once."""
        under_way = self._under_way()
        self.cut_count = 1
        self.drain.cut()
        self._settle()
        assert [call.interrupted for call in under_way] == [1] * len(under_way)

    @precondition(lambda self: self.waiting is None)
    @rule()
    def wait_for_quiet(self) -> None:
        """One waits, as the app does."""
        self.waiting = self.loop.create_task(self._quiet())
        self._settle()

    @precondition(lambda self: self.waiting is not None)
    @rule()
    def give_up_waiting(self) -> None:
        """The drain timed out, or its replica was told to hurry."""
        assert self.waiting is not None
        self.waiting.cancel()
        self._settle()
        self.waiting = None

    @rule(seconds=st.sampled_from([1.0, 2.0, 30.0]))
    def time_passes(self, seconds: float) -> None:
        """Last words are spoken."""
        self._do(self._pause(seconds))

    async def _call(self, number: int, gate: asyncio.Event) -> None:
        task = self.drain.entered()
        try:
            await gate.wait()
        except asyncio.CancelledError:
            self.calls[number].interrupted += 1
            assert self.drain.cutting, "it is told that it was cut, not that its client left"
            task.uncancel()
            await self._pause(self.calls[number].word_s)
        finally:
            self.drain.left(task)

    async def _quiet(self) -> int:
        await self.drain.quiet()
        return self.drain.inflight

    def _under_way(self) -> list[Running]:
        return [call for call in self.calls if not call.task.done()]

    async def _pause(self, seconds: float) -> None:
        passed = self.loop.create_future()
        self.loop.call_later(seconds, passed.set_result, None)
        await passed

    def _settle(self) -> None:
        """All that is ready runs; no time passes."""
        self._do(self._turns())

    async def _turns(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    def _do(self, step: Coroutine[Any, Any, None]) -> None:
        self.loop.run_until_complete(step)

    @invariant()
    def every_call_under_way_is_counted_and_no_other(self) -> None:
        """Never below zero either."""
        assert self.drain.inflight == len(self._under_way())

    @invariant()
    def quiet_has_ended_exactly_if_no_call_was_left(self) -> None:
        """At the moment it ended none was; while one is, it waits."""
        if self.waiting is None:
            return
        if not self._under_way():
            assert self.waiting.done(), "no call is under way, and it waits still"
        if self.waiting.done():
            assert self.waiting.result() == 0, "calls were under way when it ended"
            self.waiting = None

    @invariant()
    def phases_only_go_on(self) -> None:
        """Ready only while it serves; calls are taken until it is closed."""
        assert self.drain.phase is PHASES[self.phase]
        assert (self.drain.leaving, self.drain.takes_calls) == (self.phase > 0, self.phase < 2)

    @invariant()
    def nobody_is_interrupted_but_by_the_cut(self) -> None:
        """And then once; no call ends in an error."""
        for call in self.calls:
            assert call.interrupted <= self.cut_count
            if call.task.done():
                call.task.result()


def test_no_order_of_calls_and_signals_takes_a_drain_off_the_prose() -> None:
    search(Draining, **BUDGET)


def forgets_calls_that_enter_late(patch: pytest.MonkeyPatch) -> None:
    def entered(drain: Drain) -> asyncio.Task[object]:
        task = right(drain)
        if drain.phase is Phase.LEAVING:
            del drain._calls[task]
        return task

    right = Drain.entered
    patch.setattr(Drain, "entered", entered)
    patch.setattr(Drain, "left", lambda drain, task: drain._calls.pop(task, None))


def never_wakes_who_waits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Drain, "left", lambda drain, task: drain._calls.pop(task))


def looks_once(patch: pytest.MonkeyPatch) -> None:
    async def quiet(drain: Drain) -> None:
        if drain.inflight:
            drain._quiet = asyncio.get_running_loop().create_future()
            await drain._quiet

    patch.setattr(Drain, "quiet", quiet)


def cuts_all_but_one(patch: pytest.MonkeyPatch) -> None:
    def cut(drain: Drain) -> None:
        drain.cutting = True
        for task in tuple(drain._calls)[1:]:
            task.cancel()

    patch.setattr(Drain, "cut", cut)


def cuts_without_saying_so(patch: pytest.MonkeyPatch) -> None:
    def cut(drain: Drain) -> None:
        for task in tuple(drain._calls):
            task.cancel()

    patch.setattr(Drain, "cut", cut)


def goes_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Drain, "leave", lambda drain: setattr(drain, "phase", Phase.LEAVING))


@pytest.mark.parametrize(
    "wrong",
    [
        forgets_calls_that_enter_late,
        never_wakes_who_waits,
        looks_once,
        cuts_all_but_one,
        cuts_without_saying_so,
        goes_back,
    ],
)
def test_a_drain_that_is_wrong_is_found(
    wrong: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong(monkeypatch)
    must_fail(Draining, **BUDGET)
