"""Runs lines of batches on this replica: claims them in turn, answers each as a call, stores what came of it.

Rules: a line is run by one replica at a time, and what it came to is stored once; lines stand behind all other
calls for machines of ours; a line that nobody could take is given back, for nothing, and so is one that this
replica cannot end; its usage is booked when its result is stored. What a limit refuses rests with all lines of its
key; a batch that lacks a machine lets others go first for a moment; a line that only waits for one gives its place
to whoever has fewer. Not here: what becomes of a failure (`domain/batch/line.py`), who gets the places
(`domain/batch/shares.py`), what is in hand (`batch_hand.py`), the claims (port LineStore).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from ktms.dialects.openai_chat.batch_line import (
    BadLine,
    LineRequest,
    answered_line,
    read_line,
    refused_line,
    unrun_line,
)
from ktms.dialects.openai_chat.request import is_heavy
from ktms.domain.access.client_key import ClientKey
from ktms.domain.access.usage_event import BatchLine
from ktms.domain.batch.line import DEATHS_MAX, FAILED_PAUSE_S, Again, ClaimedLine, after_failure
from ktms.domain.batch.names import BatchId
from ktms.domain.batch.shares import shares, to_give_up
from ktms.domain.call import NO_CHOICES
from ktms.domain.errors import ErrorCode, Problem, problem
from ktms.domain.fault import fault_of
from ktms.domain.ids import KeyId
from ktms.engine.admit import Admission
from ktms.engine.batch_hand import Hand, Held, Rests, Turns
from ktms.engine.call import Call, Failed, LineRun, Whole
from ktms.engine.drain import Drain
from ktms.engine.ids import Identities
from ktms.engine.lasting import Loop, run_lasting
from ktms.engine.outbox import Outbox
from ktms.engine.switchboard import Switchboard
from ktms.ports.catalogue import StoreAway
from ktms.ports.clock import Clock
from ktms.ports.file_store import PIECE_BYTES, FileStore
from ktms.ports.line_store import LEASE_S, RENEW_EVERY_S, LineEnd, LineResult, LineStore
from ktms.ports.secrets import DecryptFailed
from ktms.ports.telemetry import Count, Dependency, Telemetry

T = TypeVar("T")

LINES_AT_ONCE = 16
"""Lines under way on one replica: as many as some machines have slots, and a small part of what it can hold."""

POLL_S = 1.0
"""While lines run or rest: how soon those that may go on again are found."""

IDLE_POLL_S = 5.0
"""Without any: how late another replica's batch may be noticed."""

GATHER_S = 0.05
"""Lines that end together are followed by one round of claims."""

AGAIN_S = 1.0
"""Between attempts to reach a store that is away."""

LAST_WORD_S = 1.5
"""What a line that is called back may take to say so, when the process ends; else its claim does."""

FENCE_S = LEASE_S - 2 * RENEW_EVERY_S
"""A replica that could not renew for so long ends its lines itself: others are about to begin them."""

_UNREADABLE = problem(ErrorCode.INTERNAL_ERROR, "The line cannot be read any more.")
_EXPIRED = problem(ErrorCode.BATCH_EXPIRED, "The window of the batch ended before this line was run.")
_KEY_GONE = problem(ErrorCode.INVALID_API_KEY, "The key of the batch was revoked or has expired.")
_DEADLY = problem(ErrorCode.INTERNAL_ERROR, "The line was given up: its replicas died again and again.")


@dataclass(frozen=True, slots=True)
class WorkerMeans:
    """What running lines takes.

    `status_of` gives the HTTP status of a problem; `stir` says that a batch may be due to move on.
    """

    engine: Switchboard
    admission: Admission
    lines: LineStore
    files: FileStore
    outbox: Outbox
    identities: Identities
    drain: Drain
    clock: Clock
    telemetry: Telemetry
    status_of: Callable[[Problem], int]
    stir: Callable[[], None]
    lines_max: int = LINES_AT_ONCE


class BatchWorker:
    """Runs lines until it is cancelled."""

    def __init__(self, means: WorkerMeans) -> None:
        self._means = means
        self._hand = Hand()
        self._rests = Rests()
        self._turns = Turns()
        self._awake = asyncio.Event()

    @property
    def running(self) -> int:
        """Lines under way here."""
        return len(self._hand)

    def wake(self) -> None:
        """Look for lines at once."""
        self._awake.set()

    async def run(self) -> None:
        """Run lines until cancelled; what is under way then is given back."""
        async with asyncio.TaskGroup() as group:
            loops: dict[str, Loop] = {"renew-lines": self._renews, "claim-lines": partial(self._serves, group)}
            group.create_task(run_lasting(loops, self._means.telemetry))

    async def _serves(self, group: asyncio.TaskGroup) -> None:
        while True:
            self._awake.clear()
            if self._means.drain.leaving:
                self._call_back_waiting()
            else:
                await self._round(group)
            busy = bool(len(self._hand) or self._rests)
            try:
                async with asyncio.timeout(POLL_S if busy else IDLE_POLL_S):
                    await self._awake.wait()
            except TimeoutError:
                continue
            await asyncio.sleep(GATHER_S)

    async def _round(self, group: asyncio.TaskGroup) -> None:
        """Claim as many lines as there are places, keys in turn; without any make room for who has less."""
        now = self._means.clock.monotonic()
        places = self._means.lines_max - len(self._hand)
        if places <= 0 and not self._hand.waits(now):
            return
        self._rests.over(now)
        try:
            ready = self._turns.ordered(self._rests.awake(await self._means.lines.ready()))
            if places <= 0:
                self._make_room(ready)
                return
            keys = await self._means.admission.vouch(set(ready.values())) if ready else {}
            if keys is None:
                return
            in_hand = [held.seen(now) for held in self._hand]
            for batch, count in shares(ready, in_hand, places).items():
                await self._claim(group, batch, count, keys)
        except StoreAway:
            self._away("claim_lines")

    def _make_room(self, ready: Mapping[BatchId, KeyId]) -> None:
        """Give lines back that wait for a machine, so that those of others who have fewer can be run meanwhile."""
        now, held = self._means.clock.monotonic(), tuple(self._hand)
        if any(one.leaves for one in held):
            return  # there will be room in a moment
        for at in to_give_up(ready, [one.seen(now) for one in held]):
            held[at].call_back()

    async def _claim(
        self, group: asyncio.TaskGroup, batch: BatchId, count: int, keys: Mapping[KeyId, ClientKey]
    ) -> None:
        asked_at = self._means.clock.monotonic()
        for line in await self._means.lines.claim(batch, count):
            self._turns.had(batch, line.owner, asked_at)
            held = self._hand.take(line, asked_at)
            held.task = group.create_task(self._one(held, keys.get(line.owner)), name="batch-line")

    async def _one(self, held: Held, key: ClientKey | None) -> None:
        """Run one line to its end, and store it; or give it back."""
        line = held.line
        try:
            came_to = await self._came_to(held, key)
            held.ended = True
            if isinstance(came_to, Again):
                await self._give_back(line, came_to)
            else:
                await self._store(held, came_to)
        except asyncio.CancelledError:
            if not held.ended:
                await self._return(line)
            raise
        except Exception as error:  # noqa: BLE001 - the boundary: our mistake costs one run of one line
            self._means.telemetry.event("error", "internal_error", **fault_of(error))
            await self._return(line, FAILED_PAUSE_S)
        finally:
            self._hand.drop(line.ref)
            self.wake()
            if not self._hand.of_batch(line.ref.batch):
                self._means.stir()

    async def _came_to(self, held: Held, key: ClientKey | None) -> LineResult | Again:
        line = held.line
        try:
            text = await self._insist("read_line", lambda: self._text(line))
            request = await _read(text, line)
        except DecryptFailed:
            return self._unrun(line, None, _UNREADABLE)
        except BadLine as bad:  # it was judged before, by an older release perhaps
            return self._unrun(line, bad.custom_id, bad.problem)
        if line.left_s <= 0:
            return self._unrun(line, request.custom_id, _EXPIRED, LineEnd.EXPIRED)
        if key is None:
            return self._unrun(line, request.custom_id, _KEY_GONE)
        if line.deaths > DEATHS_MAX:
            return self._unrun(line, request.custom_id, _DEADLY)
        return await self._answer(held, key, request)

    async def _answer(self, held: Held, key: ClientKey, request: LineRequest) -> LineResult | Again:
        """Let the engine answer a line as it answers any call."""
        means, line = self._means, held.line
        batch, number = line.ref.batch, line.ref.number
        now = means.clock.monotonic()
        held.run = run = LineRun(BatchLine(batch, number), key, now + line.left_s)
        request_id = means.identities.request()
        call = Call(request_id, line.route, "", NO_CHOICES, request.body, now, run=run)
        result = await means.engine.handle(call, _NOBODY)
        if isinstance(result, Whole):
            text = answered_line(batch, number, request.custom_id, request_id, result.body)
            return LineResult(LineEnd.DONE, text)
        assert isinstance(result, Failed), "no line is streamed"
        again = after_failure(result.problem, line.failures)
        if again is not None:
            return again
        status = means.status_of(result.problem)
        text = refused_line(batch, number, request.custom_id, request_id, status, result.problem)
        return LineResult(LineEnd.FAILED, text)

    async def _store(self, held: Held, result: LineResult) -> None:
        """Book a line and store its result, as often as it takes; at the end of the process once more, quickly."""
        means, line = self._means, held.line
        if held.run is not None and held.run.event is not None:
            means.outbox.record(held.run.event)

        async def finish() -> bool:
            return await means.lines.finish(line.ref, result)

        try:
            stored = await self._insist("finish_line", finish)
        except asyncio.CancelledError:
            await self._quickly("finish_line", finish)
            raise
        means.telemetry.counted(Count.BATCH_LINES, label=result.end.value if stored else "lost")

    async def _give_back(self, line: ClaimedLine, again: Again) -> None:
        until = self._means.clock.monotonic() + again.pause_s
        if again.whole:
            self._rests.keys[line.owner] = until
        elif not again.failed:
            self._rests.batches[line.ref.batch] = min(until, self._means.clock.monotonic() + POLL_S)
        await self._insist(
            "give_back_line",
            lambda: self._means.lines.give_back(line.ref, again.pause_s, failed=again.failed),
        )
        self._means.telemetry.counted(Count.BATCH_LINES, label="again")

    async def _return(self, line: ClaimedLine, pause_s: float = 0.0) -> None:
        """Give a line back that was called back; without that its claim ends by itself."""
        give_back = self._means.lines.give_back
        await self._quickly("give_back_line", lambda: give_back(line.ref, pause_s, failed=False))

    async def _text(self, line: ClaimedLine) -> bytes:
        """Read one line out of its file.

        Raises:
            DecryptFailed: it is damaged, or not there.
        """
        first, offset = divmod(line.start, PIECE_BYTES)
        count = (offset + line.size_bytes - 1) // PIECE_BYTES + 1
        pieces = await self._means.files.read(line.input_file, first, count)
        if [piece.number for piece in pieces] != list(range(first, first + count)):
            raise DecryptFailed("batch_file_piece", line.input_file)
        return b"".join(piece.content for piece in pieces)[offset : offset + line.size_bytes]

    def _unrun(
        self, line: ClaimedLine, custom_id: str | None, cause: Problem, end: LineEnd = LineEnd.FAILED
    ) -> LineResult:
        return LineResult(end, unrun_line(line.ref.batch, line.ref.number, custom_id, cause))

    async def _renews(self) -> None:
        while True:
            await asyncio.sleep(RENEW_EVERY_S)
            if len(self._hand):
                await self._renew()

    async def _renew(self) -> None:
        """Renew all claims at once; a line that others may have, or that nobody wants, is called back."""
        asked_at = self._means.clock.monotonic()
        refs = self._hand.refs()
        try:
            kept = await self._means.lines.renew(refs)
        except StoreAway:
            self._away("renew_lines")
            for held in self._hand:
                if asked_at - held.renewed_at >= FENCE_S:
                    held.call_back()
            return
        for ref in refs:
            held_now = self._hand.of(ref)
            if held_now is None:
                continue
            held_now.renewed_at = asked_at
            if ref not in kept or (not kept[ref] and not held_now.asked):
                held_now.call_back()

    def _call_back_waiting(self) -> None:
        """A replica that leaves ends what it has begun; what only waits may wait elsewhere."""
        for held in self._hand:
            if not held.asked:
                held.call_back()

    async def _insist(self, operation: str, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask until the store answers; the line's claim bounds it."""
        while True:
            try:
                return await ask()
            except StoreAway:
                self._away(operation)
            await asyncio.sleep(AGAIN_S)

    async def _quickly(self, operation: str, ask: Callable[[], Awaitable[object]]) -> None:
        try:
            async with asyncio.timeout(LAST_WORD_S):
                await ask()
        except (StoreAway, TimeoutError):
            self._away(operation)

    def _away(self, operation: str) -> None:
        self._means.telemetry.dependency_failed(Dependency.POSTGRES, operation, "away")


async def _read(text: bytes, line: ClaimedLine) -> LineRequest:
    if is_heavy(text):
        return await asyncio.get_running_loop().run_in_executor(None, read_line, text, line.route)
    return read_line(text, line.route)


class _Nobody:
    """The client of a line (port: Client): an answer that is not streamed is never written to it."""

    def begin(self, headers: tuple[tuple[str, str], ...]) -> None:
        """Never happens."""
        raise AssertionError(headers)

    def write(self, data: bytes) -> bool:
        """Never happens."""
        raise AssertionError(len(data))

    async def drained(self) -> None:
        """Never happens."""

    def end(self) -> None:
        """Never happens."""

    def drop(self) -> None:
        """Never happens."""


_NOBODY = _Nobody()
