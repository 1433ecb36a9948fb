"""Batches as a state machine: replicas claim, run, die, freeze, cancel and expire in any order, over one store.

Each line has one result at most, counts add up, nothing begins after a cancellation, nothing is lost in the end.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.shelf import MemoryShelf
from ktms.adapters.memory.store import MemoryStore
from ktms.domain.batch.batch import Batch
from ktms.domain.batch.line import ClaimedLine, LineRef
from ktms.domain.batch.names import BatchId
from ktms.domain.batch.state import ENDED, NEXT, BatchState
from ktms.ports.line_store import LEASE_S, LineEnd, LineResult
from tests.contracts.shelf_stage import OWNER, Shelf, over

T = TypeVar("T")
WINDOW_S = 600.0
REPLICA = st.integers(0, 2)
PART = st.integers(0, 5)


def run(ask: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner() as runner:
        return runner.run(ask)


class Batches(RuleBasedStateMachine):
    """Three replicas, two batches; `held` is what each replica believes to have."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.memory = MemoryShelf(self.clock, MemoryStore())
        self.shelf: Shelf = over(self.memory, self.clock.advance, MemoryStore())
        self.names: list[BatchId] = []
        self.held: list[dict[LineRef, ClaimedLine]] = [{}, {}, {}]
        self.results: dict[tuple[BatchId, int], list[str]] = {}
        self.cancelled: set[BatchId] = set()
        self.states: dict[BatchId, BatchState] = {}
        self.since_beat = [0.0, 0.0, 0.0]

    @initialize(counts=st.tuples(st.integers(1, 4), st.integers(1, 4)))
    def make(self, counts: tuple[int, int]) -> None:
        self.names = [run(self.shelf.batch(count, window_s=WINDOW_S)) for count in counts]

    @rule(replica=REPLICA, batch=st.integers(0, 1), most=st.integers(1, 3))
    def claim(self, replica: int, batch: int, most: int) -> None:
        name = self.names[batch]
        lines = run(self.shelf.lines.claim(name, most))
        assert not (lines and name in self.cancelled), "a line began after the cancellation"
        for line in lines:
            running = [one for one in self.held if line.ref in one]
            assert not running
            assert (line.ref.batch, line.ref.number) not in self.results
            self.held[replica][line.ref] = line

    @rule(replica=REPLICA, part=PART, ok=st.booleans())
    def finish(self, replica: int, part: int, *, ok: bool) -> None:
        line = self.pick(replica, part)
        if line is None:
            return
        end = LineEnd.EXPIRED if line.left_s <= 0 else LineEnd.DONE if ok else LineEnd.FAILED
        text = f"{line.ref.number}/{line.ref.claim}\n"
        if run(self.shelf.lines.finish(line.ref, LineResult(end, text.encode()))):
            self.results.setdefault((line.ref.batch, line.ref.number), []).append(text)
        del self.held[replica][line.ref]

    @rule(replica=REPLICA, part=PART, pause_s=st.sampled_from([0.0, 5.0]), failed=st.booleans())
    def give_back(self, replica: int, part: int, pause_s: float, *, failed: bool) -> None:
        line = self.pick(replica, part)
        if line is not None:
            run(self.shelf.lines.give_back(line.ref, pause_s, failed=failed))
            del self.held[replica][line.ref]

    @rule(replica=REPLICA)
    def renew(self, replica: int) -> None:
        kept = run(self.shelf.lines.renew(list(self.held[replica])))
        self.held[replica] = {ref: line for ref, line in self.held[replica].items() if ref in kept}

    @rule(replica=REPLICA)
    def kill(self, replica: int) -> None:
        self.held[replica] = {}

    @rule(seconds=st.sampled_from([1.0, 10.0, LEASE_S - 1, LEASE_S + 1, WINDOW_S / 2]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def move_on(self) -> None:
        run(self.shelf.upkeep.move_on())

    @rule(batch=st.integers(0, 1))
    def cancel(self, batch: int) -> None:
        found = run(self.shelf.batches.cancel(self.names[batch], OWNER))
        assert found is not None
        if found.state is BatchState.CANCELLING:
            self.cancelled.add(self.names[batch])

    @invariant()
    def each_line_has_one_result(self) -> None:
        assert all(len(texts) == 1 for texts in self.results.values())

    @invariant()
    def counts_add_up(self) -> None:
        for name in self.names:
            found, row = self.found(name), self.memory.batches[name]
            ended = sum(batch == name for batch, _ in self.results)
            assert found.total == len(row.lines)
            assert found.completed + found.failed == ended
            progress = row.progress()
            assert progress.waiting + progress.running + ended == found.total

    @invariant()
    def states_follow_the_table(self) -> None:
        for name in self.names:
            before, now = self.states.get(name, BatchState.IN_PROGRESS), self.found(name).state
            assert before is now or now in NEXT[before] or any(now in NEXT[mid] for mid in NEXT[before])
            self.states[name] = now

    def teardown(self) -> None:
        """Let one sound replica end everything: nothing may be lost."""
        if not self.names:
            return
        for _ in range(8):
            self.clock.advance(LEASE_S + 1)
            self.held = [{}, {}, {}]
            run(self.shelf.upkeep.move_on())
            for number in range(2):
                self.claim(0, number, 10)
            while self.held[0]:
                self.finish(0, 0, ok=True)
            run(self.shelf.upkeep.move_on())
        for name in self.names:
            found = self.found(name)
            assert found.state in ENDED
            if name not in self.cancelled:
                assert found.completed + found.failed == found.total
            self.counts_add_up()
            assert self.stored(name) == sorted(
                text for (batch, _), texts in self.results.items() for text in texts if batch == name
            )

    def stored(self, name: BatchId) -> list[str]:
        new = self.memory.batches[name].new
        files = [
            self.memory.files[file] for file in (new.output_file, new.error_file) if file in self.memory.files
        ]
        return sorted(piece.decode() for file in files for piece in file.pieces.values())

    def found(self, name: BatchId) -> Batch:
        return run(self.shelf.found(name))

    def pick(self, replica: int, part: int) -> ClaimedLine | None:
        lines = list(self.held[replica].values())
        return lines[part % len(lines)] if lines else None


TestBatches = Batches.TestCase
TestBatches.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
