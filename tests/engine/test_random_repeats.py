"""Two replicas, one store, clients that use few words again and again: whatever happens, nothing is paid twice.

The machine decides when each call ends and how, when replicas die, the store is away and time passes.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.clock import LoopClock
from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.adapters.memory.repeats import MemoryRepeats
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.dialects.openai_chat.request import read_request
from ktms.domain.call import NO_CHOICES, Route
from ktms.domain.errors import CallFailed, ErrorCode, problem
from ktms.domain.ids import RequestId
from ktms.engine.call import Call, Failed, Result, Whole
from ktms.engine.repeats import END_WAIT_S, OWED_S, KeyedCalls, RepeatMeans
from ktms.engine.trail import Trail
from ktms.ports.client import Client
from ktms.ports.repeats import KEPT_S
from tests.engine.rig import client_key, cloud, snapshot
from tests.engine.virtual_loop import VirtualLoop, after, settle

RUNS_S = 100.0
A_HAIR_S = 0.001
"""No call runs longer than it may: it ends this much before its key is free again."""

KEYS = st.sampled_from(["a", "b"])
BODIES = st.sampled_from([1, 2])
BROKEN = problem(ErrorCode.UPSTREAM_ERROR, "no")


@dataclass(eq=False)
class Generation:
    """One time that an upstream was asked."""

    number: int
    key: str
    body: int
    replica: int
    end: "asyncio.Future[Result]"
    task: "asyncio.Task[Result]"


@dataclass
class Answered:
    """What the client of a key was given first, and until when it is to get the same."""

    text: bytes
    body: int
    until: float


@dataclass(eq=False)
class Replica:
    keyed: KeyedCalls
    work: "asyncio.Task[None]"
    calls: "list[asyncio.Task[Result]]" = field(default_factory=list)


class Repeating(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner(loop_factory=VirtualLoop)
        self.loop = self.runner.get_loop()
        self.store = MemoryStore()
        self.clock = LoopClock()
        self.repeats = MemoryRepeats(self.store, self.clock)
        self.model, _ = cloud(snapshot())
        self.running: list[Generation] = []
        self.answered: dict[str, Answered] = {}
        self.numbers = 0
        self.replicas = [self.born(), self.born()]

    def teardown(self) -> None:
        for replica in self.replicas:
            self.end(replica)
        self.runner.run(settle())
        self.runner.close()

    def born(self) -> Replica:
        means = RepeatMeans(self.repeats, MemoryLeaseStore(), self.clock, MemoryTelemetry(), RUNS_S)
        keyed = KeyedCalls(means)
        return Replica(keyed, self.loop.create_task(keyed.run()))

    def end(self, replica: Replica) -> None:
        replica.work.cancel()
        for task in replica.calls:
            task.cancel()

    async def turn(self, seconds: float = 0.0) -> None:
        await settle()
        if seconds:
            await after(seconds)
            await settle()

    @rule(replica=st.integers(0, 1), key=KEYS, body=BODIES)
    def a_client_calls(self, replica: int, key: str, body: int) -> None:
        before = self.answered.get(key)
        fresh = before is not None and before.until > self.loop.time()
        task = self.loop.create_task(self.call(replica, key, body))
        self.replicas[replica].calls.append(task)
        self.runner.run(self.turn())
        if not task.done():
            assert not fresh, "an answer that is kept is given, not made again"
            return
        ended = task.result()
        if self.store.away:
            assert cause(ended) == ErrorCode.IDEMPOTENCY_UNAVAILABLE
        elif isinstance(ended, Whole):
            assert before is not None
            assert (ended.body, body) == (before.text, before.body)
        elif fresh:
            assert before is not None
            assert cause(ended) == ErrorCode.IDEMPOTENCY_CONFLICT
            assert before.body != body

    async def call(self, replica: int, key: str, body: int) -> Result:
        self.numbers += 1
        number = self.numbers
        raw = b'{"model":"cloudy","n":%d}' % body
        request = RequestId(f"request-{number}")
        call = Call(request, Route.CHAT, "", NO_CHOICES, read_request(raw, Route.CHAT), self.loop.time(), once=key)
        trail = Trail(call, key=client_key(), model=self.model)
        try:
            return await self.replicas[replica].keyed.answer(
                trail, MemoryClient(), self.generation(number, key, body, replica)
            )
        except CallFailed as failure:
            return Failed((), failure.problem)

    def generation(self, number: int, key: str, body: int, replica: int) -> Callable[[Client], Awaitable[Result]]:
        async def ask(_: Client) -> Result:
            task: Any = asyncio.current_task()
            mine = Generation(number, key, body, replica, self.loop.create_future(), task)
            self.running.append(mine)
            try:
                async with asyncio.timeout(RUNS_S - A_HAIR_S):
                    return await mine.end
            except TimeoutError:
                return Failed((), BROKEN)
            finally:
                self.running.remove(mine)

        return ask

    @precondition(lambda self: self.running)
    @rule(data=st.data(), well=st.booleans())
    def a_call_ends(self, data: st.DataObject, well: bool) -> None:
        mine = data.draw(st.sampled_from(self.running))
        text = b"answer %d" % mine.number
        mine.end.set_result(Whole((), text) if well else Failed((), BROKEN))
        self.runner.run(self.turn())
        if well and not self.store.away:
            self.answered[mine.key] = Answered(text, mine.body, self.loop.time() + KEPT_S)
        self.runner.run(self.turn(END_WAIT_S))
        if not self.store.away:
            assert mine.task.done()

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def a_client_leaves(self, data: st.DataObject) -> None:
        mine = data.draw(st.sampled_from(self.running))
        mine.task.cancel()
        self.runner.run(self.turn())

    @rule(number=st.integers(0, 1))
    def a_replica_is_killed(self, number: int) -> None:
        """What it owes the store dies with it."""
        self.replicas[number].work.cancel()
        self.runner.run(self.turn())
        self.end(self.replicas[number])
        self.runner.run(self.turn())
        self.replicas[number] = self.born()

    @precondition(lambda self: not self.store.away)
    @rule()
    def the_store_goes_away_for_a_while(self) -> None:
        """Ends of calls meanwhile are told to it when it is back."""
        self.store.away = True
        self.runner.run(self.turn(1.0))

    @precondition(lambda self: self.store.away)
    @rule()
    def the_store_is_back(self) -> None:
        self.store.away = False
        self.runner.run(self.turn(OWED_S))
        for key in "ab":
            row = self.repeats._rows.get((client_key().id, key))
            if row is not None and row.answered and row.answer is not None:
                text = row.answer.partition(b"\n")[2]
                body = next((known.body for known in (self.answered.get(key),) if known and known.text == text), 0)
                self.answered[key] = Answered(text, body or self.body_of(key, row.call.body_digest), row.until)

    def body_of(self, key: str, digest: bytes) -> int:
        del key
        return next(body for body in (1, 2) if self.digest(body) == digest)

    def digest(self, body: int) -> bytes:
        raw = b'{"model":"cloudy","n":%d}' % body
        call = Call(RequestId("x"), Route.CHAT, "", NO_CHOICES, read_request(raw, Route.CHAT), 0.0, once="x")
        return self.runner.run(self.replicas[0].keyed._repeatable(call, client_key())).body_digest

    @rule(seconds=st.sampled_from([1.0, RUNS_S / 2, RUNS_S, KEPT_S / 2, KEPT_S]))
    def time_passes(self, seconds: float) -> None:
        self.runner.run(self.turn(seconds))

    @invariant()
    def never_two_of_one_key_run(self) -> None:
        keys = [mine.key for mine in self.running]
        assert len(keys) == len(set(keys)), keys


def cause(result: Result) -> str:
    assert isinstance(result, Failed), result
    return result.problem.code


Repeating.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestRepeating = Repeating.TestCase
