"""An event loop on virtual time: no selector, no sockets, no threads; the clock jumps to the next timer.

Rules: `time()` is exact, timers never fire early; callbacks run in the order they were made; with scheduling
noise a step of a task may come a little later, which is how interleavings are searched, but never a plain
callback, since transports rely on that order. A crash is no cancellation: what the dead process had to run is set
aside, still referenced, so that no `finally` of it runs in the world.
Not here: bytes between hosts (`sim/network`), the process around the loop, such as `time.time` (`sim/ground.py`).
"""

import asyncio
import contextlib
import gc
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from dataclasses import dataclass
from types import AsyncGeneratorType
from typing import Any, TypeVar

from sim.hosts import HOST, NOWHERE
from sim.kernelless import KernellessLoop
from sim.seed import Chance
from sim.tasks import Future, Step, Task, Timer, Timers, waits_at
from sim.trace import Trace

T = TypeVar("T")

STARTS_AT = 1000.0
"""Not 0, so that an instant forgotten as 0.0 lies in the past, and no epoch: at 1.8e9 a float has but 0.2 us."""

NOISE_MIN_S, NOISE_MAX_S = 2e-6, 52e-6
"""How much later a step of a task comes when noise strikes."""

TURNS_MAX = 500_000
"""Rounds of callbacks within one second before the loop says that time stands still: noise moves it a little."""

TASKS_MIN = 256
"""Tasks of a host that are kept before the ended ones are swept out."""

CLOSING_ROUNDS = 100
"""How often closing looks for tasks that others started as they ended, and how many awaits of one it sits out."""


class Deadlock(Exception):
    """Nothing can ever run again; the text lists every waiting task, its host and where it waits."""


class Standstill(Exception):
    """Callbacks run for ever at one instant, as in a loop over `sleep(0)`; the text lists the tasks."""


@dataclass(frozen=True, slots=True)
class Unhandled:
    """An error that nobody took, as asyncio reports it."""

    at: float
    host: str
    message: str
    error: BaseException | None


class VirtualLoop(KernellessLoop):
    """The loop of one world. `unhandled` are the errors nobody took."""

    def __init__(self, chance: Chance, trace: Trace, *, noise: float = 0.0) -> None:
        super().__init__()
        self.unhandled: list[Unhandled] = []
        self._chance = chance
        self._trace = trace
        self._noise = noise
        self._now = STARTS_AT
        self._turns = 0
        self._counted_since = STARTS_AT
        self._numbers = 0
        self._halting = self._over = False
        self._queue: deque[Step | Timer] = deque()
        self._timers = Timers()
        self._tasks: dict[str, list[Task[Any]]] = {}
        self._tasks_max: dict[str, int] = {}
        self._aside: dict[str, list[Step | Timer]] = {}
        self._frozen_until: dict[str, float] = {}
        self._dead: set[str] = set()
        self._own_context = Context()

    def time(self) -> float:
        """Give the virtual time in seconds."""
        return self._now

    # Hosts.

    def start_on(self, incarnation: str, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Start a task of this incarnation; what it starts is of the same.

        Raises:
            ValueError: the incarnation was killed.
        """
        if incarnation in self._dead:
            work.close()
            raise ValueError(f"{incarnation} was killed: start the next incarnation of the host")
        context = Context()
        context.run(HOST.set, incarnation)
        return self.create_task(work, name=name, context=context)

    def crash(self, incarnation: str) -> None:
        """Kill: nothing of it ever runs again, no `finally` either; killing it again changes nothing."""
        if incarnation in self._dead:
            return
        self._dead.add(incarnation)
        self._frozen_until.pop(incarnation, None)
        self._aside.setdefault(incarnation, []).extend(self._timers.take_of(incarnation))

    def freeze(self, incarnation: str, until: float) -> None:
        """Let it stand still: what it has to run runs at this instant, in order; of two instants, at the later."""
        if incarnation in self._dead or until <= max(self._now, self._frozen_until.get(incarnation, 0.0)):
            return
        self._frozen_until[incarnation] = until
        self._aside.setdefault(incarnation, [])
        self._timers.add(until, self._thaw, (incarnation,), self._own_context, told=False)

    def tasks_of(self, incarnation: str) -> int:
        """Count its tasks that have not ended."""
        return sum(not task.done() for task in self._tasks.get(incarnation, ()))

    def _thaw(self, incarnation: str) -> None:
        if self._frozen_until.get(incarnation, self._now + 1) <= self._now:
            del self._frozen_until[incarnation]
            self._queue.extend(self._aside.pop(incarnation))

    # Callbacks and timers.

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        """Run a callback in the next round."""
        if context is None:
            context = copy_context()
        if self._noise and _is_step(callback) and self._chance.happens(self._noise):
            at = self._now + self._chance.uniform(NOISE_MIN_S, NOISE_MAX_S)
            return self._timers.add(at, callback, args, context, told=False)
        step = Step(callback, args, context)
        self._queue.append(step)
        return step

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        """Do as `call_soon`: there are no threads."""
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback after so many seconds."""
        # Not `context or …`: an empty context is falsy.
        context = copy_context() if context is None else context
        return self._timers.add(self._now + delay, callback, args, context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback at an instant."""
        context = copy_context() if context is None else context
        return self._timers.add(when, callback, args, context)

    def deliver_at(
        self, when: float, callback: Callable[..., object], *args: object, context: Context
    ) -> asyncio.TimerHandle:
        """Run a callback at an instant that the trace learns of otherwise."""
        return self._timers.add(when, callback, args, context, told=False)

    def stop(self) -> None:
        """Stop after this round."""
        self._halting = True
        super().stop()

    def run_forever(self) -> None:
        """Run until `stop`.

        Raises:
            Deadlock: nothing can ever run again.
            Standstill: callbacks run for ever and time does not move.
        """
        try:
            super().run_forever()
        finally:
            self._halting = False

    def _run_once(self) -> None:
        """Run one round: what is due by now, and not what that adds. The base class calls it until `stop`."""
        queue, aside = self._queue, self._aside
        self._gather_due()
        for _ in range(len(queue)):
            step = queue.popleft()
            if step.off:
                continue
            if aside and (place := aside.get(step.context.get(HOST, NOWHERE))) is not None:
                place.append(step)
                continue
            try:
                step.context.run(step.callback, *step.args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:  # noqa: BLE001 - asyncio's contract: an error of a callback is reported
                told = {"message": f"Exception in callback {step!r}", "exception": error}
                step.context.run(self.call_exception_handler, told)

    def _gather_due(self) -> None:
        """Move timers that are due to the queue; with nothing else to do, go to the instant of the next."""
        heap, timers = self._timers.heap, self._timers
        while heap and heap[0][2].off:
            timers.pop()
        if not self._queue and not self._halting:
            if not heap:
                raise Deadlock(self.report("nothing can ever run again"))
            if heap[0][0] > self._now:
                self._now = heap[0][0]
                if self._now - self._counted_since >= 1.0:
                    self._counted_since, self._turns = self._now, 0
        while heap and heap[0][0] <= self._now:
            timer = timers.pop()
            if not timer.off:
                self._queue.append(timer)
                if timer.told:
                    self._trace.fired(timer.at)
        self._turns += 1
        if self._turns > TURNS_MAX:
            raise Standstill(self.report("time does not move"))

    # Tasks and futures.

    def create_future(self) -> asyncio.Future[Any]:
        """Make a future with a number."""
        self._numbers += 1
        return Future(self._numbers, self)

    def create_task(
        self,
        coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """Make a task with a number; it stays referenced until it has ended."""
        self._numbers += 1
        task: Task[T] = Task(self._numbers, coro, self, name, context)
        host = HOST.get() if context is None else context.get(HOST, NOWHERE)
        mine = self._tasks.setdefault(host, [])
        if len(mine) >= self._tasks_max.get(host, TASKS_MIN):
            mine[:] = [each for each in mine if not each.done()]
            self._tasks_max[host] = max(TASKS_MIN, 2 * len(mine))
        mine.append(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep an error that nobody took; what killed processes leave behind at the end is no such error."""
        if self._over:
            return
        error = context.get("exception")
        self.unhandled.append(Unhandled(self._now, HOST.get(), str(context.get("message")), error))

    def report(self, what: str) -> str:
        """Say what is the matter, when, and where every task of the living waits."""
        lines = [f"{what}, at {self._now!r}; tasks:"]
        for host, tasks in self._tasks.items():
            if host not in self._dead:
                lines += [
                    f"  {host} {task.get_name()}: " + " > ".join(waits_at(task))
                    for task in tasks
                    if not task.done()
                ]
        return "\n".join(lines)

    def close(self) -> None:
        """End what still waits, without a word; only now do `finally` blocks of killed hosts run: judge before."""
        if self.is_closed():
            return
        self._halting = self._over = True
        if hasattr(self, "network"):
            self.network.close()  # first, or streams that are dropped below would complain of being open
        for _ in range(CLOSING_ROUNDS):
            waiting = [task for tasks in self._tasks.values() for task in tasks if not task.done()]
            self._tasks.clear()
            for task in waiting:
                _end(task)
            if not waiting:
                break
        self._queue.clear()
        self._aside.clear()
        self._timers.heap.clear()
        super().close()


def _awaited(work: object) -> object:
    """Give what a coroutine or an asynchronous generator waits for; of a step of a generator, the generator."""
    if type(work).__name__ == "async_generator_asend":
        return next((one for one in gc.get_referents(work) if isinstance(one, AsyncGeneratorType)), None)
    return getattr(work, "cr_await", None) or getattr(work, "ag_await", None)


def _is_step(callback: object) -> bool:
    """Whether it is a step of a task: its first one, or that after a future it waited for."""
    return type(callback).__name__ == "TaskStepMethWrapper" or getattr(callback, "__name__", "") == "task_wakeup"


def _end(task: Task[Any]) -> None:
    """End the coroutines of a task, the innermost first: it would outlive the others if its `finally` awaits."""
    task.say_nothing()
    chain: list[Any] = [task.get_coro()]
    while (inner := _awaited(chain[-1])) is not None:
        chain.append(inner)
    for work in reversed(chain):
        for _ in range(CLOSING_ROUNDS if hasattr(work, "close") else 0):
            # Suppressed: errors of a `finally` that awaits, or that meets a world which is over.
            with contextlib.suppress(BaseException):
                work.close()
                break
