"""Client keys on the virtual loop: calls, revocations and a faulty database in any order, against the prose.

What must become of each call is in `key_prose.py`; here is what happens, and what holds for the replica as a
whole: one look-up per key at a time, each question bounded, readiness that follows the last answer (FP6, FP7).
"""

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.domain.access import key_window
from ktms.domain.access.client_key import ClientKey
from ktms.domain.access.key_form import KeyKind, digest_of, make_key, read_key
from ktms.domain.access.key_window import KeyWindow
from ktms.domain.errors import CallFailed, ErrorCode
from ktms.domain.ids import KeyId, TenantName
from ktms.engine import admit
from ktms.engine.admit import Admission
from ktms.engine.settings import EngineSettings
from ktms.ports.telemetry import Dependency, Gauge
from sim.fakes.clock import HostClock
from sim.loop import VirtualLoop
from sim.seed import Seed
from sim.trace import Trace
from tests.sim.machines.budget import must_fail, search
from tests.sim.machines.key_prose import BOUND_S, GRAIN_S, ROUND, WINDOW_S, Judge, Token, Verdict, Visit
from tests.sim.machines.key_store import ROUND_TRIP_S, FaultyKeys, Question

SETTINGS = EngineSettings()
ROUND_EVERY_S = 5.0
BUDGET = {"examples": 400, "steps": 25}

VERDICTS = {ErrorCode.INVALID_API_KEY.value: Verdict.INVALID, ErrorCode.AUTH_UNAVAILABLE.value: Verdict.AWAY}


def key_text(kind: KeyKind, number: int, secret: int) -> str:
    return make_key(kind, lambda count: bytes([number] * 10 + [secret] * (count - 10)))


def token_of(name: str, number: int, secret: int = 0) -> Token:
    text = key_text(KeyKind.CLIENT, number, secret)
    read = read_key(text)
    assert read is not None
    return Token(name, text, read.id)


def tokens() -> list[Token]:
    """Two keys, one made later, one that expires; a stranger, one with another's id, and two that are none."""
    later, twin, stranger = token_of("later", 3), token_of("twin", 1, secret=9), token_of("stranger", 8)
    later.made_at = stranger.made_at = None
    stranger.genuine = twin.genuine = False
    admin = Token("admin", key_text(KeyKind.ADMIN, 5, 0), KeyId("none"), well_formed=False)
    typo = Token("typo", token_of("", 1).text[:-1] + "!", KeyId("none"), well_formed=False)
    return [token_of("first", 1), token_of("second", 2), later, token_of("brief", 4), stranger, twin, admin, typo]


GENUINE = st.sampled_from([0, 0, 0, 0, 0, 1, 2, 3])
TOKENS = GENUINE | GENUINE | st.integers(0, len(tokens()) - 1)
PAUSES = st.sampled_from([0.0, 0.0, 0.0, 2.9, 7.1, 11.0, 60.0, 290.0, 290.0])

DATABASE = st.sampled_from([ROUND_TRIP_S, 2.9, 1.0, ROUND_TRIP_S, 3.5, "hung", "away", "away"])

WALL_JUMPS_S = {"sets the wall back": -86_400.0, "sets the wall on": 400.0}
DEEDS = st.sampled_from(["changes", "revokes", "revokes unheard", "starves", "makes", "changes", *WALL_JUMPS_S])


class Keys(RuleBasedStateMachine):
    """One replica before its database."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop(Seed(1).chance(), Trace())
        self.clock = HostClock(self.loop)
        self.telemetry = MemoryTelemetry()
        self.complaints: list[str] = []
        self.store = FaultyKeys(self.loop, self._asked)
        self.admission = Admission(self.store, self.clock, self.telemetry, SETTINGS)
        self.judge = Judge(self.store)
        self.tokens = tokens()
        self.tokens[3].expires_at = self.clock.wall() + 400
        self.coming: list[asyncio.Task[None]] = []
        self.starved = False
        for token in self.tokens[:4]:
            if token.made_at is not None:
                self._store_row(token)
        self.rounds = self.loop.create_task(self._rounds(), name=ROUND)

    def teardown(self) -> None:
        """Close the loop; nothing may have failed unseen on it."""
        unhandled = self.loop.unhandled
        self.loop.close()
        assert not unhandled

    @initialize(slow_s=st.sampled_from([ROUND_TRIP_S, 2.9]), starved=st.booleans(), late=st.booleans())
    def begin(self, slow_s: float, *, starved: bool, late: bool) -> None:
        """The database is there."""
        self.store.answer(slow_s)
        self.store.reads_late, self.starved = late, starved

    @rule(index=TOKENS, after_s=PAUSES, count=st.integers(1, 4), stay=st.booleans())
    def come(self, index: int, after_s: float, count: int, *, stay: bool) -> None:
        """After a while clients come at one moment with one key; they may stay until they know."""
        self._pass(after_s)
        token = self.tokens[index]
        tasks = [self.loop.create_task(self._visit(token), name=token.name) for _ in range(count)]
        self.coming += tasks
        self._do(self._ended(tasks) if stay else self._turns())

    @rule(which=st.integers(0, 2), after_s=st.sampled_from([2.0, 2.9, 0.5, 0.0]))
    def give_up(self, which: int, after_s: float) -> None:
        """One of the clients that wait longest leaves, after a while."""
        self._pass(after_s)
        for task in self.coming[which : which + 1]:
            self.store.leavers.append(task)
            task.cancel()
        self._do(self._turns())

    @rule(how=DATABASE, late=st.booleans(), uneven=st.booleans(), for_s=PAUSES)
    def database_turns(self, how: str | float, for_s: float, *, late: bool, uneven: bool) -> None:
        """It refuses, and what was under way breaks; or it is there: hung, slow or quick; for a while at least."""
        self.store.reads_late, self.store.uneven = late, uneven
        if how == "away":
            self.store.go_away()
        else:
            self.store.answer(None if isinstance(how, str) else how)
        self._pass(for_s)

    @rule(index=GENUINE, what=DEEDS)
    def operator_acts(self, index: int, what: str) -> None:
        """A key is revoked, changed or made; the rounds have no turn, or have one again; the wall is set (FG5)."""
        now, token = self.loop.time(), self.tokens[2 if what == "makes" else index]
        if what == "makes" and token.made_at is None:
            token.made_at = now
            self._store_row(token)
        if what.startswith("revokes") and token.made_at is not None and token.revoked_at is None:
            token.revoked_at = now
            self._store_row(token)
        if what in {"revokes", "changes"}:
            token.noticed_at.append(now)
            token.noticed_alone_at += [] if self.store.any_under_way(token.id) else [now]
            self.admission.forget(token.id)
        if what == "starves":
            self.starved = not self.starved
        if what in WALL_JUMPS_S:
            self.clock.jump_wall(WALL_JUMPS_S[what])

    async def _rounds(self) -> None:
        while True:
            if not self.starved:
                await self.admission.reverify()
            await self._pause(ROUND_EVERY_S)

    async def _visit(self, token: Token) -> None:
        began_at, retry_after_s = self.loop.time(), None
        try:
            key = await self.admission.admit(token.text)
        except CallFailed as failure:
            verdict, retry_after_s = VERDICTS[failure.problem.code], failure.problem.retry_after_s
        else:
            verdict = Verdict.PASSED
            if key.id != token.id:
                self.complaints.append(f"{token.name} passed as another key")
        ended_at, wall = self.loop.time(), self.clock.wall()
        visit = Visit(token, began_at, ended_at, wall, verdict, retry_after_s)
        complaint = self.judge.complaint(visit)
        if complaint is not None:
            self.complaints.append(f"{token.name} {began_at} to {ended_at}: {verdict.value}: {complaint}")
        if verdict is Verdict.INVALID and token.revoked_at is not None and not token.expired(wall):
            token.refused_at = token.refused_at or ended_at

    def _asked(self, question: Question) -> None:
        if self.store.under_way(question.who):
            self.complaints.append(f"two questions of {question.who} at once (FP3)")
        if question.who in {token.name for token in self.tokens if not token.well_formed}:
            self.complaints.append("a question about what is no key")

    def _store_row(self, token: Token) -> None:
        key = ClientKey(
            token.id, digest_of(token.text), token.name, TenantName("default"), expires_at=token.expires_at
        )
        self.store.rows[token.id] = replace(key, revoked=token.revoked_at is not None)

    async def _turns(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    async def _ended(self, tasks: list[asyncio.Task[None]]) -> None:
        await asyncio.wait(tasks)

    async def _pause(self, seconds: float) -> None:
        passed = self.loop.create_future()
        self.loop.call_later(seconds, passed.set_result, None)
        await passed

    def _pass(self, seconds: float) -> None:
        self._do(self._pause(seconds))

    def _do(self, step: Coroutine[Any, Any, None]) -> None:
        self.loop.run_until_complete(step)
        self.coming = [task for task in self.coming if not task.done()]

    @invariant()
    def every_call_ended_as_the_prose_says(self) -> None:
        """And the rounds are still running."""
        assert self.complaints == []
        assert not self.rounds.done()

    @invariant()
    def no_question_lasts_longer_than_a_verification(self) -> None:
        """And so does no call that is still under way."""
        for asked in itertools.islice(reversed(self.store.questions), 10):
            ended_at = self.loop.time() if asked.ended_at is None else asked.ended_at
            assert ended_at - asked.asked_at <= BOUND_S + GRAIN_S

    @invariant()
    def readiness_follows_the_last_answer(self) -> None:
        """Degraded for 300 s after it, monotonic; then not ready."""
        last_at = self.store.last_answer_at
        assert self.admission.window_open() == (last_at is not None and self.loop.time() - last_at < WINDOW_S)
        if self.store.answers is not None:
            told = self.telemetry.gauges[Gauge.DEPENDENCY_UP, Dependency.POSTGRES.value]
            assert self.admission.store_answers == told == self.store.answers


def test_no_order_of_calls_and_faults_takes_the_keys_off_the_prose() -> None:
    search(Keys, **BUDGET)


def counts_from_the_answer(patch: pytest.MonkeyPatch) -> None:
    def remember(window: KeyWindow, digest: bytes, key: ClientKey | None, _asked_at: float) -> None:
        right(window, digest, key, asyncio.get_running_loop().time())

    def confirm(window: KeyWindow, found: Any, asked: Any, _asked_at: float) -> None:
        right_round(window, found, asked, asyncio.get_running_loop().time())

    right, right_round = KeyWindow.remember, KeyWindow.confirm
    patch.setattr(KeyWindow, "remember", remember)
    patch.setattr(KeyWindow, "confirm", confirm)


def looks_up_once_per_call(patch: pytest.MonkeyPatch) -> None:
    def look_up(admission: Admission, *asked: Any) -> object:
        admission._pending.clear()
        return right(admission, *asked)

    right = Admission._look_up_once
    patch.setattr(Admission, "_look_up_once", look_up)


def takes_silence_for_a_refusal(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(admit, "_AWAY", admit._INVALID)


def waits_too_long(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(globals(), "SETTINGS", EngineSettings(lookup_s=4.0))


def knows_too_long(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(key_window, "WINDOW_S", WINDOW_S + 60)
    patch.setitem(globals(), "SETTINGS", EngineSettings(key_window_s=WINDOW_S + 60))


def knows_too_briefly(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(globals(), "SETTINGS", EngineSettings(key_window_s=WINDOW_S - 60))


def trusts_too_long(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(key_window, "FRESH_S", 20.0)


def does_not_hear(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(KeyWindow, "forget", lambda _window, _key_id: None)


def throws_rounds_away(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(KeyWindow, "confirm", lambda _window, _found, _asked, _now: None)


def is_always_ready(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(KeyWindow, "open", lambda _window, _last, _now: True)


def looks_at_no_date(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(admit, "usable", lambda key, _wall: key is not None and not key.revoked)


def compares_no_digest(patch: pytest.MonkeyPatch) -> None:
    def remember(window: KeyWindow, _digest: bytes, key: ClientKey | None, asked_at: float) -> None:
        if key is not None:
            right(window, key.digest, key, asked_at)

    right = KeyWindow.remember
    patch.setattr(KeyWindow, "remember", remember)
    patch.setattr(admit, "same_digest", lambda _one, _other: True)


@pytest.mark.parametrize(
    "wrong",
    [
        counts_from_the_answer,
        looks_up_once_per_call,
        takes_silence_for_a_refusal,
        waits_too_long,
        knows_too_long,
        knows_too_briefly,
        trusts_too_long,
        does_not_hear,
        throws_rounds_away,
        is_always_ready,
        looks_at_no_date,
        compares_no_digest,
    ],
)
def test_an_admission_that_is_wrong_is_found(
    wrong: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong(monkeypatch)
    must_fail(Keys, **BUDGET)
