"""The breaker behind `Condition`, in any order of calls and reports, against a model written from the prose.

The prose: 5 consecutive failures open it; it refuses for 30 s; then exactly one call passes, the trial; success
closes it, failure opens it again; a trial that says nothing is given back, one that never reports is lost after
660 s, as soon as somebody asks; reports of calls that began before it opened neither close nor prolong it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, RuleBasedStateMachine, consumes, invariant, multiple, rule

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.domain.routing.breaker import NEXT, Breaker, Event, State
from ktms.domain.snapshot import Origin, Reach
from ktms.engine.condition import Condition, Pass
from ktms.ports.telemetry import Gauge
from tests.sim.machines.budget import must_fail, search

FAILURES = 5
OPEN_S = 30
TRIAL_S = 660
CLOSED, HALF_OPEN, OPEN = 0, 1, 2

NAMES = ("alpha", "local/mac-1")
ORIGINS = {name: Origin("https", f"{name[:5]}.example", 443, "/v1", Reach.PUBLIC) for name in NAMES}

PAUSES = st.sampled_from([1, 5, 29, 30, 31, 60, 630, 659, 660]) | st.integers(0, 700)
"""Whole seconds, so that model and product add up to the same float."""

BUDGET = {"examples": 400, "steps": 40}


@dataclass(slots=True)
class Prose:
    """What one breaker has to do. `trial` is the number of the call that is the trial."""

    in_a_row: int = 0
    opened_at: float | None = None
    trial: int | None = None
    trial_at: float = 0.0

    @property
    def level(self) -> int:
        if self.trial is not None:
            return HALF_OPEN
        return CLOSED if self.opened_at is None else OPEN

    def passes(self, now: float) -> bool:
        if self.trial is not None:
            return now - self.trial_at >= TRIAL_S
        return self.opened_at is None or now - self.opened_at >= OPEN_S

    def passed(self, call: int, now: float) -> None:
        if self.opened_at is not None:
            self.trial, self.trial_at = call, now

    def told(self, call: int, what: str, now: float) -> None:
        if self.trial == call:
            self.trial = None
            if what == "failed":
                self.opened_at = now
            elif what == "succeeded":
                self.opened_at, self.in_a_row = None, 0
        elif self.opened_at is None and what == "failed":
            self.in_a_row += 1
            self.opened_at = now if self.in_a_row >= FAILURES else None
        elif self.opened_at is None and what == "succeeded":
            self.in_a_row = 0


@dataclass(slots=True)
class Dial:
    """One call under way."""

    name: str
    number: int
    gate: Pass


@dataclass(slots=True)
class Side:
    """One vendor or node: its model and its trials under way that are not lost, by number."""

    prose: Prose = field(default_factory=Prose)
    trials: dict[int, float] = field(default_factory=dict)


class Breakers(RuleBasedStateMachine):
    """Calls to two origins."""

    dials: Bundle[Dial] = Bundle("dials")

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.telemetry = MemoryTelemetry()
        self.condition = Condition(self.clock, self.telemetry)
        self.sides = {name: Side() for name in NAMES}
        self.calls = 0

    @rule(target=dials, name=st.sampled_from(NAMES), count=st.integers(1, 6))
    def ask(self, name: str, count: int) -> MultipleResults[Dial]:
        """So many calls ask at one moment."""
        dials = [dial for dial in (self._ask_once(name) for _ in range(count)) if dial is not None]
        return multiple(*dials)

    @rule(dial=consumes(dials), what=st.sampled_from(["succeeded", "failed", "failed", "failed", "says_nothing"]))
    def report(self, dial: Dial, what: str) -> None:
        """A call ends, in its own time."""
        getattr(dial.gate, what)()
        self.sides[dial.name].prose.told(dial.number, what, self.clock.monotonic())
        self.sides[dial.name].trials.pop(dial.number, None)

    @rule(dial=dials)
    def speak(self, dial: Dial) -> None:
        """An answer begins, and may go on for long: a trial has proven all it was for."""
        dial.gate.speaks()
        side = self.sides[dial.name]
        if side.prose.trial == dial.number:
            side.prose.told(dial.number, "succeeded", self.clock.monotonic())
            side.trials.pop(dial.number)

    @rule(name=st.sampled_from(NAMES), count=st.integers(1, FAILURES))
    def outage(self, name: str, count: int) -> None:
        """So many calls, one after the other, fail at once."""
        for _ in range(count):
            dial = self._ask_once(name)
            if dial is not None:
                self.report(dial, "failed")

    @rule(seconds=PAUSES)
    def time_passes(self, seconds: int) -> None:
        """Nothing happens for a while."""
        self.clock.advance(seconds)

    @rule(seconds=st.sampled_from([-86_400.0, 3600.0]))
    def wall_jumps(self, seconds: float) -> None:
        """The wall clock is set: no breaker may notice."""
        self.clock.jump_wall(seconds)

    def _ask_once(self, name: str) -> Dial | None:
        now, side = self.clock.monotonic(), self.sides[name]
        gate = self.condition.pass_for(name, ORIGINS[name])
        assert (gate is not None) == side.prose.passes(now), f"{name}: {side.prose}"
        if gate is None:
            return None
        self.calls += 1
        side.prose.passed(self.calls, now)
        if side.prose.trial == self.calls:
            side.trials = {number: at for number, at in side.trials.items() if now - at < TRIAL_S}
            assert not side.trials, "two trials at once"
            side.trials[self.calls] = now
        return Dial(name, self.calls, gate)

    @invariant()
    def waiting_is_told_exactly_while_it_would_refuse(self) -> None:
        """0 seconds mean: ask now, and you will pass; an open breaker tells how long."""
        for name, side in self.sides.items():
            now, wait_s = self.clock.monotonic(), self.condition.ready_in(name, ORIGINS[name])
            assert (wait_s == 0) == side.prose.passes(now), f"{name}: {wait_s} s, {side.prose}"
            if side.prose.level == OPEN and side.prose.opened_at is not None:
                assert wait_s == max(0.0, side.prose.opened_at + OPEN_S - now)

    @invariant()
    def operators_see_the_state(self) -> None:
        """A gauge that was never set means closed."""
        for name, side in self.sides.items():
            seen = self.telemetry.gauges.get((Gauge.BREAKER_STATE, name), CLOSED)
            assert seen == side.prose.level, f"{name}: {side.prose}"


def test_no_order_of_calls_and_reports_takes_a_breaker_off_the_prose() -> None:
    search(Breakers, **BUDGET)


def admits_two_trials(patch: pytest.MonkeyPatch) -> None:
    def admits(breaker: Breaker, now: float) -> bool:
        return right(breaker, now) or (breaker.state is State.HALF_OPEN and now == breaker._trial_at)

    right = Breaker.admits
    patch.setattr(Breaker, "admits", admits)


def takes_six_failures(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("ktms.domain.routing.breaker.FAILURES_MAX", FAILURES + 1)


def closes_without_a_trial(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(NEXT, (State.OPEN, Event.SUCCEEDED), State.CLOSED)


def never_gives_a_trial_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("ktms.domain.routing.breaker.TRIAL_MAX_S", 10.0 * TRIAL_S)


def keeps_a_trial_that_said_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Pass, "says_nothing", lambda _gate: None)


def does_not_tell_operators(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Pass, "_tell", lambda _gate, _before: None)


def late_failures_prolong(patch: pytest.MonkeyPatch) -> None:
    def failed(breaker: Breaker, now: float) -> None:
        right(breaker, now)
        if breaker.state is State.OPEN:
            breaker._opened_at = now

    right = Breaker.failed
    patch.setattr(Breaker, "failed", failed)


@pytest.mark.parametrize(
    "wrong",
    [
        admits_two_trials,
        takes_six_failures,
        closes_without_a_trial,
        never_gives_a_trial_up,
        keeps_a_trial_that_said_nothing,
        does_not_tell_operators,
        late_failures_prolong,
    ],
)
def test_a_breaker_that_is_wrong_is_found(
    wrong: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong(monkeypatch)
    must_fail(Breakers, **BUDGET)
