"""Our own machines as one step of a call's plan: choose a node, take a slot, ask; wait where that is worth it.

Rules: each node is asked at most once per call; a node's `busy` answer is no attempt; a slot is given back in the
same block; without the lease store the state of the nodes is unknown and none is asked (FR5, FR6); a cold model is
loaded beside, while the call goes elsewhere. Not here: whom to choose and how long to wait (`domain/capacity/`),
the queue itself (`waiting.py`), what an answer means (`walk.py`).
"""

from dataclasses import dataclass

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.call import Route
from ktms.domain.capacity.node_health import Evidence
from ktms.domain.capacity.seat import Health, Seat
from ktms.domain.capacity.selection import Ask, Choice
from ktms.domain.capacity.speed import sample_of
from ktms.domain.capacity.wait_forecast import Patience
from ktms.domain.ids import LOCAL, NodeName
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.plan import LocalStep
from ktms.engine.desk import Desk
from ktms.engine.explained import considered, tell_choice
from ktms.engine.fleet import Fleet
from ktms.engine.ids import Identities
from ktms.engine.loads import Loads
from ktms.engine.shot import Shot
from ktms.engine.trail import Trail
from ktms.engine.waiting import Queues, Urgency, Waiter
from ktms.ports.clock import Clock
from ktms.ports.lease_store import Lease, LeaseStore, LeaseStoreAway, SlotWish
from ktms.ports.telemetry import Dependency, Telemetry
from ktms.vendors.registry import node_shape

TAKES_MAX = 3
"""Takes in a row that found all candidates full: counts are then fresh, and what remains is to wait."""

LEAVERS_GRACE_S = 10.0
"""An engine that may work on for a client that has left keeps its slot for so long, unless it is seen idle."""

MODEL_GONE = "404"
"""The node does not know the model any more; a load that fails tells that it stays so."""

COLD_LOAD_S = 60.0
"""How long a model is expected to take into memory, while nobody has seen it: disk speed times its size."""


@dataclass(frozen=True, slots=True)
class Machines:
    """What asking our machines takes. `explains`: each choice is told to the debug log with all its terms."""

    clock: Clock
    fleet: Fleet
    identities: Identities
    leases: LeaseStore
    loads: Loads
    queues: Queues
    telemetry: Telemetry
    explains: bool = False


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot on a node, ours until it is given back. `concurrency`: calls at once in the engine, this one too."""

    lease: Lease
    seat: Seat
    concurrency: int


@dataclass(frozen=True, slots=True)
class NodeCall:
    """How one call waits for slots, over all models of its chain."""

    urgency: Urgency
    patience: Patience
    deadline: float


class NodeWalk:
    """One model's nodes, for one call; `goes_on`: others can be asked after them.

    `forecast_s`: how long a slot may still take, where none came; `unknown`: nobody knows, the store is away.
    """

    def __init__(
        self, machines: Machines, call: NodeCall, ask: Ask, trail: Trail, step: LocalStep, *, goes_on: bool
    ) -> None:
        self._machines = machines
        self._call = call
        self._ask = ask
        self._trail = trail
        self._step = step
        self._goes_on = goes_on
        self._desk: Desk | None = machines.fleet.desk(step.model, step.target)
        self._refused: set[NodeName] = set()
        self._loading: Seat | None = None  # the better machine, were its model in memory
        self.forecast_s = 0.0
        self.unknown = False

    async def slot(self) -> Slot | None:
        """Take a slot, at once or after a wait that is worth it; None: go on to what comes next in the plan."""
        desk = self._desk
        if desk is None:
            self._trail.note(LOCAL, None, "none")
            return None
        began_at = self._machines.clock.monotonic()
        try:
            slot = await self._slot(desk)
        except LeaseStoreAway as away:
            self.unknown = True
            self._machines.fleet.known = False
            self._machines.telemetry.dependency_failed(Dependency.REDIS, "take_lease", away.kind)
            self._trail.note(LOCAL, None, "unknown")
            return None
        finally:
            self._trail.queue_s += self._machines.clock.monotonic() - began_at
        if slot is not None:
            self._refused.add(slot.seat.state.node.name)
        return slot

    def give_back(self, slot: Slot, shot: Shot | None) -> None:
        """Give the slot back; where the engine may still be at work it drains first."""
        drains = _may_work_on(slot.seat, shot)
        desk = self._desk
        assert desk is not None, "a slot came from a desk"
        self._machines.leases.release(slot.lease, drain_s=LEAVERS_GRACE_S if drains else 0.0)
        self._machines.fleet.ended(desk, slot.lease, draining=drains)
        for other in self._machines.fleet.desks_of(slot.lease.node):
            self._machines.queues.pump(other)

    def learn(self, slot: Slot, shot: Shot) -> None:
        """Take what the answer says about its node: health, speed, window."""
        fleet, name = self._machines.fleet, slot.seat.state.node.name
        evidence = _evidence_of(shot)
        if evidence is Evidence.TOKEN:
            fleet.spoke(slot.seat)
            self._measure(slot, shot)
        elif evidence is not None:
            fleet.note(name, evidence)
        if shot.verdict is not None and shot.verdict.busy:
            slot.seat.state.busy = max(slot.seat.state.busy, slot.seat.state.slots)
        is_chat = self._trail.call.route is Route.CHAT  # another route may be one that this model does not have
        if shot.verdict is not None and shot.verdict.word == MODEL_GONE and is_chat:
            slot.seat.cold = True  # a fast refusal must not attract more calls (N01)
        if shot.truncated and shot.told is not None:
            fleet.shrink_window(slot.seat, 2 * shot.told.prompt_tokens)

    def _measure(self, slot: Slot, shot: Shot) -> None:
        told = shot.told
        if told is None:
            return
        sample = sample_of(
            prompt_tokens=told.prompt_tokens,
            cached_tokens=told.cached_tokens,
            completion_tokens=told.completion_tokens,
            asked_at=shot.began_at,
            first_token_at=shot.first_token_at,
            last_token_at=shot.last_token_at,
            concurrency=slot.concurrency,
            estimated=told.estimated,
            timings=shot.timings,
        )
        if sample is not None:
            self._machines.fleet.measured(slot.seat, sample)

    async def _slot(self, desk: Desk) -> Slot | None:
        call, queues = self._call, self._machines.queues
        if not queues.ahead(desk, call.urgency):
            slot = await self._take_now(desk)
            if slot is not None:
                return slot
        choice = self._choose(desk)
        if not choice.able_slots and self._loading is None:
            self._note_unable(desk)
            return None
        return await self._queue(desk, choice)

    def _choose(self, desk: Desk) -> Choice:
        """Choose among those that can answer at once; a cold machine that would be better is loaded beside."""
        choice = desk.selector.choose(self._ask, self._refused)
        self._loading = choice.seats[0] if choice.seats and choice.cold else None
        if self._loading is None:
            return choice
        self._machines.loads.want(self._loading, self._machines.clock.monotonic())
        return desk.selector.choose(self._ask, self._refused, warm=True)

    async def _take_now(self, desk: Desk) -> Slot | None:
        """Ask for a slot on the nodes that seem free; counts that come back make the next question better."""
        for _ in range(TAKES_MAX):
            choice = self._choose(desk)
            if not choice.seats:
                return None
            slot = await self._take(desk, choice)
            if slot is not None:
                return slot
        return None

    async def _take(self, desk: Desk, choice: Choice) -> Slot | None:
        machines = self._machines
        wishes = tuple(SlotWish(seat.state.node.name, seat.state.slots) for seat in choice.seats)
        weighed = considered(desk, self._ask, self._refused) if machines.explains else ()
        expected = choice.seats[0].state
        expected.busy += 1  # calls of the same moment choose others; the answer puts the count right
        try:
            grant = await machines.leases.take(wishes, machines.identities.lease())
        except BaseException:
            expected.busy = max(0, expected.busy - 1)  # a view may have come in between
            raise
        if machines.explains:
            chosen = None if grant.lease is None else grant.lease.node
            tell_choice(machines.telemetry, self._trail, self._step.model, chosen, weighed)
        machines.fleet.known = True
        machines.fleet.looked(wishes, grant.busy)
        lease = grant.lease
        if lease is None:
            return None
        seat = next(seat for seat in choice.seats if seat.state.node.name == lease.node)
        desk.selector.charge(choice, lease.node)
        machines.fleet.began(desk, lease)
        return Slot(lease, seat, concurrency=grant.busy[-1])

    async def _queue(self, desk: Desk, choice: Choice) -> Slot | None:
        """Wait in line, if the forecast is within what this call may still wait.

        For a load only those wait that cannot go on to others.
        """
        machines, call = self._machines, self._call
        now = machines.clock.monotonic()
        name, word = self._only_name(desk), "busy"
        ahead = machines.queues.ahead(desk, call.urgency)
        self.forecast_s = forecast = desk.forecast_s(now, ahead=ahead, slots=choice.able_slots)
        if self._loading is not None:
            self.forecast_s = min(forecast, machines.loads.ready_in(self._loading, now, COLD_LOAD_S))
            forecast = forecast if self._goes_on else self.forecast_s
            if not choice.able_slots:
                name, word = self._loading.state.node.name, "cold"
        limit_s = min(call.patience.limit_s(self._step.model.queue_timeout_ms), call.deadline - now)
        if forecast > limit_s or limit_s <= 0:
            self._trail.note(LOCAL, name, word)
            return None
        self._trail.forecast_s = forecast
        slot = await self._stand_in_line(desk, limit_s)
        waited_s = machines.clock.monotonic() - now
        call.patience.used(waited_s)
        if slot is None:
            self._trail.note(LOCAL, name, word)
        else:
            desk.calibration.take(forecast, waited_s)
        return slot

    async def _stand_in_line(self, desk: Desk, limit_s: float) -> Slot | None:
        machines, call = self._machines, self._call
        waiter = Waiter(call.urgency, lambda: desk.selector.would_do(self._ask, self._refused))
        ends_at = machines.clock.monotonic() + limit_s
        with machines.queues.joined(desk, waiter, machines.identities.lease()):
            while (left_s := ends_at - machines.clock.monotonic()) > 0:
                if not await machines.queues.turn(desk, waiter, left_s):
                    return None
                choice = self._choose(desk)
                slot = await self._take(desk, choice) if choice.seats else None
                if slot is not None:
                    return slot
        return None

    def _note_unable(self, desk: Desk) -> None:
        """Say why no node could take the call even if it were free."""
        if self._refused:
            return  # their own answers have been noted
        if not desk.seats:
            word = "none"
        elif all(seat.state.draining for seat in desk.seats):
            word = "draining"
        elif all(seat.state.health is Health.DOWN or seat.state.draining for seat in desk.seats):
            word = "down"
        else:
            word = "unfit"
        self._trail.note(LOCAL, self._only_name(desk), word)

    def _only_name(self, desk: Desk) -> NodeName | None:
        return desk.seats[0].state.node.name if len(desk.seats) == 1 else None


_NO_TOKEN = frozenset({FailureKind.FIRST_TOKEN_TIMEOUT.value, FailureKind.TOTAL_TIMEOUT.value})
_UNREACHED = frozenset({FailureKind.REFUSED.value, FailureKind.TLS.value, FailureKind.CONNECT_TIMEOUT.value})
_OURS = frozenset({FailureKind.POOL_TIMEOUT.value, FailureKind.ADDRESS_REFUSED.value, FailureKind.TOO_LARGE.value})


def _evidence_of(shot: Shot) -> Evidence | None:
    """Read what an attempt says about its node's health; None: nothing, as when its client left."""
    verdict = shot.verdict
    if verdict is None:
        return Evidence.TOKEN if shot.status is AttemptStatus.OK else None
    if verdict.loading:
        return Evidence.LOADING
    if verdict.word == FailureKind.TRUNCATED.value:
        return Evidence.TOKEN
    if verdict.busy or verdict.word[:1] == "4":
        return Evidence.ANSWERED
    if verdict.word in _OURS:
        return None
    if verdict.word in _UNREACHED:
        return Evidence.CONNECT_FAILED
    if verdict.word in _NO_TOKEN and shot.first_token_at is None:
        return Evidence.FIRST_TOKEN_TIMEOUT
    return Evidence.SERVER_ERROR if verdict.word[:1] == "5" else Evidence.CUT


def _may_work_on(seat: Seat, shot: Shot | None) -> bool:
    """Whether the engine may go on generating although we have closed its connection (N23)."""
    if node_shape(seat.state.node.engine).stops_for_leavers:
        return False
    if shot is None:
        return True
    if shot.status is AttemptStatus.CANCELLED:
        return True
    verdict = shot.verdict
    return verdict is not None and verdict.word in {
        FailureKind.FIRST_TOKEN_TIMEOUT.value,
        FailureKind.IDLE_TIMEOUT.value,
        FailureKind.TOTAL_TIMEOUT.value,
        FailureKind.TOO_LARGE.value,
    }
