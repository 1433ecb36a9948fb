"""Condition of the targets as this replica has seen it: breakers per origin, rests per target and per vendor key.

Rules: a breaker belongs to a vendor's origin; nodes have a health instead (`fleet.py`); a 429 rests exactly one
key or target and counts nowhere else. The rules themselves are pure (`domain/routing/breaker.py`,
`cooldown.py`); this file only keeps their state between calls and tells telemetry.
"""

from ktms.domain.routing.breaker import Breaker, State
from ktms.domain.routing.cooldown import KEY_AUTH_REST_S, Rests
from ktms.domain.snapshot import CloudTarget, Origin, OriginKey, Vendor, VendorKey
from ktms.ports.clock import Clock
from ktms.ports.telemetry import Gauge, Telemetry

BREAKERS_MAX = 20_000
"""Vendors and nodes of the largest fleet, twice; a tunnel that changes its address often must be no leak."""


class Condition:
    """Breakers and rests of this replica; synchronous, hence without races."""

    def __init__(self, clock: Clock, telemetry: Telemetry) -> None:
        self._clock = clock
        self._telemetry = telemetry
        self._breakers: dict[tuple[str, OriginKey], Breaker] = {}
        self._rests = Rests()

    def pass_for(self, name: str, origin: Origin) -> "Pass | None":
        """Let one call pass to a vendor or node, or none while its breaker refuses."""
        breaker = self._breaker(name, origin)
        if not breaker.admits(self._clock.monotonic()):
            return None
        return Pass(name, breaker, self._clock, self._telemetry)

    def ready_in(self, name: str, origin: Origin) -> float:
        """Seconds until the breaker of a vendor or node lets a call pass."""
        return self._breaker(name, origin).opens_in(self._clock.monotonic())

    def usable_key(self, vendor: Vendor) -> VendorKey | None:
        """Give the first key of a vendor that does not rest; None when all do."""
        now = self._clock.monotonic()
        for key in vendor.keys:
            if not self._rests.resting(key.id, now):
                return key
        return None

    def rest(self, who: str, seconds: float) -> None:
        """Rest a target or a vendor key, be it the last one: asking again would only make it worse."""
        self._rests.rest(who, self._clock.monotonic() + seconds)

    def rest_refused_key(self, vendor: Vendor, refused: VendorKey) -> bool:
        """Set a refused key aside if another one is usable; the last one stays in use (False)."""
        now = self._clock.monotonic()
        replaced = any(key is not refused and not self._rests.resting(key.id, now) for key in vendor.keys)
        if replaced:
            self.rest(refused.id, KEY_AUTH_REST_S)
        return replaced

    def target_rests(self, target: CloudTarget) -> bool:
        """Whether this target was told to wait."""
        return self._rests.resting(target.id, self._clock.monotonic())

    def soonest_s(self, targets: tuple[CloudTarget, ...]) -> float:
        """Seconds until the first of these targets may be dialled again; 0 when one may be now."""
        return min((self._target_ready_in(target) for target in targets), default=0.0)

    def _target_ready_in(self, target: CloudTarget) -> float:
        now = self._clock.monotonic()
        vendor = target.vendor
        keys_s = min((self._rests.remaining_s(key.id, now) for key in vendor.keys), default=0.0)
        return max(keys_s, self.ready_in(vendor.name, vendor.origin), self._rests.remaining_s(target.id, now))

    def _breaker(self, name: str, origin: Origin) -> Breaker:
        key = (name, origin.key)
        breaker = self._breakers.get(key)
        if breaker is None:
            if len(self._breakers) >= BREAKERS_MAX:
                del self._breakers[
                    next(iter(self._breakers))
                ]  # the oldest: its origin left the catalogue long ago
            breaker = self._breakers[key] = Breaker()
        return breaker


class Pass:
    """The right to one dial; exactly one of its three ends is told, and before it perhaps that it speaks."""

    __slots__ = ("_breaker", "_clock", "_name", "_telemetry", "_trial")

    def __init__(self, name: str, breaker: Breaker, clock: Clock, telemetry: Telemetry) -> None:
        self._name = name
        self._breaker = breaker
        self._clock = clock
        self._telemetry = telemetry
        self._trial = breaker.trials if breaker.on_trial else 0
        if self._trial:
            self._tell(State.OPEN)

    def speaks(self) -> None:
        """Something of an answer came: a trial has proven all it was for, however long the answer goes on."""
        if self._trial:
            self.succeeded()
            self._trial = 0

    def succeeded(self) -> None:
        """An answer came: whatever it said, the origin is alive."""
        if self._counts():
            before = self._breaker.state
            self._breaker.succeeded()
            self._tell(before)

    def failed(self) -> None:
        """A failure that is the target's own fault."""
        if self._counts():
            before = self._breaker.state
            self._breaker.failed(self._clock.monotonic())
            self._tell(before)

    def says_nothing(self) -> None:
        """The dial ended without telling anything about the target: its client left, or the fault was ours."""
        if self._trial and self._counts():
            before = self._breaker.state
            self._breaker.abandoned()
            self._tell(before)

    def _counts(self) -> bool:
        """Whether this dial's word moves the breaker: while a trial is under way, only the trial's own does."""
        return not self._breaker.on_trial or self._trial == self._breaker.trials

    def _tell(self, before: State) -> None:
        state = self._breaker.state
        if state is not before:
            self._telemetry.gauge(Gauge.BREAKER_STATE, state.level, self._name)
            self._telemetry.event("warning", "breaker_turned", target=self._name, state=state.value)
