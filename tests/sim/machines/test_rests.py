"""Rests of vendor keys and targets, from the header a vendor sends to what is dialled next, against the prose.

The prose: a 429 (or a 503 with Retry-After) rests exactly that key or target for as long as it says, in seconds,
as a date or in milliseconds, capped; nonsense is the default. A rest is never shortened. A key that is refused is
set aside for 60 s if another one is usable; the last one stays in use.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import TimeoutSpec, VendorKind
from ktms.domain.ids import VendorKeyId, VendorModel, VendorName
from ktms.domain.routing import cooldown
from ktms.domain.routing.cooldown import Rests, rest_s
from ktms.domain.routing.retry_after import retry_after_s
from ktms.domain.snapshot import CloudTarget, Origin, Reach, Vendor, VendorKey
from ktms.engine.condition import Condition
from tests.sim.machines.budget import must_fail, search

DEFAULT_S = 5.0
CAP_S = 300.0
SET_ASIDE_S = 60.0

TIMES = TimeoutSpec()


def vendor(name: str, keys: int) -> Vendor:
    origin = Origin("https", f"{name}.example", 443, "/v1", Reach.PUBLIC)
    held = tuple(VendorKey(VendorKeyId(f"{name}-key-{number}"), Secret("x")) for number in range(keys))
    return Vendor(VendorName(name), VendorKind.OPENAI, origin, None, held, (), TIMES)


VENDORS = (vendor("alpha", 3), vendor("beta", 1), vendor("open", 0))
TARGETS = tuple(
    CloudTarget(f"{each.name}/{model}", each, VendorModel(model), None, TIMES)
    for each in VENDORS
    for model in ("small", "big")
)
KEYS = tuple(key for each in VENDORS for key in each.keys)
NAMES = tuple(key.id for key in KEYS) + tuple(target.id for target in TARGETS)


@dataclass(frozen=True, slots=True)
class Told:
    """What a vendor sends, and what it means: seconds from now, or at this wall time, or nothing at all."""

    headers: tuple[tuple[str, str], ...]
    seconds: float | None = None
    wall: float | None = None

    def means_s(self, wall: float) -> float:
        if self.wall is not None:
            return min(max(0.0, self.wall - wall), CAP_S)
        return DEFAULT_S if self.seconds is None else min(self.seconds, CAP_S)


NONSENSE = st.sampled_from(
    ["", "-1", "soon", "1e9", "nan", "inf", "0x10", "1;2", "32 Jan", "Mon, 99 Foo 2026 1:2:3"]
)
SECONDS = st.sampled_from([0.0, 0.5, 1.0, 20.0, 299.0, 300.0, 301.0, 86_400.0, 999_999_999_999.0])
DATES = st.sampled_from([-3600, 0, 30, 299, 301, 10**7]).map(lambda ahead: 1_790_000_000.0 + ahead)

TELLINGS = st.one_of(
    st.just(Told(())),
    SECONDS.map(lambda s: Told((("retry-after", f"{s:.1f}"),), seconds=s)),
    SECONDS.map(lambda s: Told((("retry-after-ms", f"{1000 * s:.0f}"), ("retry-after", "7")), seconds=s)),
    DATES.map(lambda at: Told((("retry-after", formatdate(at, usegmt=True)),), wall=at)),
    NONSENSE.map(lambda text: Told((("retry-after", text),))),
    NONSENSE.map(lambda text: Told((("retry-after-ms", text), ("retry-after", "12")), seconds=12.0)),
)


class Resting(RuleBasedStateMachine):
    """Refusals of two vendors with several keys, and of one without any."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.condition = Condition(self.clock, MemoryTelemetry())
        self.until = dict.fromkeys(NAMES, 0.0)

    @rule(name=st.sampled_from(NAMES), told=TELLINGS)
    def told_to_wait(self, name: str, told: Told) -> None:
        """A vendor answers 429 for a key, or for a target."""
        now, wall = self.clock.monotonic(), self.clock.wall()
        self.condition.rest(name, rest_s(retry_after_s(dict(told.headers).get, wall)))
        self.until[name] = max(self.until[name], now + told.means_s(wall))

    @rule(each=st.sampled_from(VENDORS[:2]), index=st.integers(0, 2))
    def refuses_a_credential(self, each: Vendor, index: int) -> None:
        """A vendor answers 401 for one of its keys, which may rest already: the call began earlier."""
        key = each.keys[index % len(each.keys)]
        replaced = any(self._left_s(other.id) == 0 for other in each.keys if other is not key)
        assert self.condition.rest_refused_key(each, key) == replaced
        if replaced:
            self.until[key.id] = max(self.until[key.id], self.clock.monotonic() + SET_ASIDE_S)

    @rule(seconds=st.sampled_from([0.5, 1.0, 5.0, 30.0, 60.0, 299.0, 300.0]) | st.integers(0, 320))
    def time_passes(self, seconds: float) -> None:
        """Nothing happens for a while."""
        self.clock.advance(seconds)

    @rule(seconds=st.sampled_from([-86_400.0, -60.0, 60.0, 86_400.0]))
    def wall_jumps(self, seconds: float) -> None:
        """The wall clock is set: rests that were told before do not notice."""
        self.clock.jump_wall(seconds)

    def _left_s(self, name: str) -> float:
        return max(0.0, self.until[name] - self.clock.monotonic())

    def _wait_s(self, target: CloudTarget) -> float:
        keys_s = min((self._left_s(key.id) for key in target.vendor.keys), default=0.0)
        return max(keys_s, self._left_s(target.id))

    @invariant()
    def the_first_key_that_does_not_rest_is_used(self) -> None:
        """And none when all rest, however long."""
        for each in VENDORS:
            awake = [key for key in each.keys if self._left_s(key.id) == 0]
            assert self.condition.usable_key(each) is (awake[0] if awake else None), each.name

    @invariant()
    def exactly_the_targets_told_to_do_rest(self) -> None:
        """The other targets of the vendor go on."""
        for target in TARGETS:
            assert self.condition.target_rests(target) == (self._left_s(target.id) > 0), target.id

    @invariant()
    def a_client_is_told_when_the_first_target_is_back(self) -> None:
        """Of one target, and of all of them; never longer than the cap."""
        for some in (*((target,) for target in TARGETS), TARGETS[:4], TARGETS):
            soonest_s = self.condition.soonest_s(some)
            assert soonest_s == pytest.approx(min(self._wait_s(target) for target in some), abs=1e-6)
            assert soonest_s <= CAP_S


BUDGET = {"examples": 250, "steps": 30}


def test_no_order_of_refusals_takes_the_rests_off_the_prose() -> None:
    search(Resting, **BUDGET)


def test_all_rests_end_by_themselves_with_the_zone_of_the_machine_far_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dates are read in UTC wherever the gateway stands."""
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    try:
        search(Resting, examples=40, steps=20)
    finally:
        monkeypatch.undo()
        time.tzset()


def can_be_shortened(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Rests, "rest", lambda rests, who, until: rests._until.update({who: until}))


def rests_the_whole_vendor(patch: pytest.MonkeyPatch) -> None:
    def rest(rests: Rests, who: str, until: float) -> None:
        for name in NAMES:
            if name[:4] == who[:4]:  # names of one vendor begin alike
                right(rests, name, until)

    right = Rests.rest
    patch.setattr(Rests, "rest", rest)


def rests_without_a_cap(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("ktms.domain.routing.retry_after.REST_MAX_S", 1e12)
    patch.setattr(cooldown, "REST_MAX_S", 1e12)


def forgets_nonsense(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cooldown, "REST_DEFAULT_S", 0.0)


def sets_the_last_key_aside(patch: pytest.MonkeyPatch) -> None:
    def rest_refused_key(condition: Condition, _vendor: Vendor, refused: VendorKey) -> bool:
        condition.rest(refused.id, SET_ASIDE_S)
        return True

    patch.setattr(Condition, "rest_refused_key", rest_refused_key)


@pytest.mark.parametrize(
    "wrong",
    [can_be_shortened, rests_the_whole_vendor, rests_without_a_cap, forgets_nonsense, sets_the_last_key_aside],
)
def test_a_rest_that_is_wrong_is_found(
    wrong: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong(monkeypatch)
    must_fail(Resting, **BUDGET)
