"""Our own machines as one step of a call's plan: choose a node, take a slot, ask; wait where that is worth it.

Rules: each node is asked at most once per call; a node's `busy` answer is no attempt; a slot is given back in the
same block; without the lease store the state of the nodes is unknown: none is asked (FR5, FR6), and nobody waits
by counts that may be wrong; who waits goes on as soon as no node is left to wait for; a cold model is loaded
beside, while the call goes elsewhere. Not here: whom to choose and how long to wait (`domain/capacity/`), the
queue itself (`waiting.py`), what an answer means (`walk.py`).
"""

from dataclasses import dataclass

from ktms.domain.call import Route
from ktms.domain.capacity.node_health import Evidence
from ktms.domain.capacity.seat import Health, Seat
from ktms.domain.capacity.selection import Ask, Choice
from ktms.domain.capacity.speed import sample_of
from ktms.domain.capacity.wait_forecast import Patience
from ktms.domain.ids import LOCAL, NodeName
from ktms.domain.routing.plan import LocalStep
from ktms.engine.desk import Desk
from ktms.engine.evidence import evidence_of, may_work_on
from ktms.engine.explained import considered, tell_choice
from ktms.engine.fleet import Fleet
from ktms.engine.ids import Identities
from ktms.engine.loads import Loads
from ktms.engine.permit import Permit
from ktms.engine.shot import Shot
from ktms.engine.trail import Trail
from ktms.engine.waiting import Queues, Urgency, Waiter
from ktms.ports.clock import Clock
from ktms.ports.lease_store import Lease, LeaseStore, LeaseStoreAway, SlotWish
from ktms.ports.telemetry import Dependency, Telemetry

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
        self,
        machines: Machines,
        call: NodeCall,
        ask: Ask,
        trail: Trail,
        step: LocalStep,
        permit: Permit,
        *,
        goes_on: bool,
    ) -> None:
        self._machines = machines
        self._call = call
        self._ask = ask
        self._trail = trail
        self._step = step
        self._permit = permit
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
        if self._trail.redis_hung:
            self.unknown = True
            self._trail.note(LOCAL, None, "unknown")
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

    def put_back(self, slot: Slot) -> None:
        """Give back a slot for which nobody was asked; its node may be asked yet."""
        self._refused.discard(slot.seat.state.node.name)
        self._release(slot, drains=False)

    def give_back(self, slot: Slot, shot: Shot | None) -> None:
        """Give the slot back; where the engine may still be at work it drains first."""
        self._release(slot, drains=may_work_on(slot.seat, shot))

    def _release(self, slot: Slot, *, drains: bool) -> None:
        desk = self._desk
        assert desk is not None, "a slot came from a desk"
        self._machines.leases.release(slot.lease, drain_s=LEAVERS_GRACE_S if drains else 0.0)
        self._machines.fleet.ended(desk, slot.lease, draining=drains)
        self._machines.queues.pump_each(self._machines.fleet.desks_of(slot.lease.node))

    def learn(self, slot: Slot, shot: Shot) -> None:
        """Take what the answer says about its node: health, speed, window."""
        fleet, name = self._machines.fleet, slot.seat.state.node.name
        evidence = evidence_of(shot)
        if evidence is Evidence.TOKEN:
            fleet.spoke(slot.seat)
            self._measure(slot, shot)
        elif evidence is not None:
            fleet.note(name, evidence)
        if shot.verdict is not None and shot.verdict.busy:
            slot.seat.state.busy = max(slot.seat.state.busy, slot.seat.state.slots)
        if shot.verdict is not None and shot.verdict.draining:
            slot.seat.state.drains(says=True)  # until it is looked at again
        is_chat = self._trail.call.route is Route.CHAT  # another route may be one that this model does not have
        if shot.verdict is not None and shot.verdict.word == MODEL_GONE and is_chat:
            slot.seat.cold = True  # a fast refusal must not attract more calls (N01)
        if shot.truncated and shot.told is not None:
            fleet.shrink_window(slot.seat, 2 * shot.told.prompt_tokens)
        self._machines.queues.pump_each(fleet.desks_of(name))  # some may have nobody left to wait for

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
        call, queues, fleet = self._call, self._machines.queues, self._machines.fleet
        in_line = fleet.known and queues.ahead(desk, call.urgency)
        if not in_line and not self._yields(desk):
            slot = await self._take_now(desk)
            if slot is not None:
                return slot
        choice = self._choose(desk)
        if not choice.able_slots and self._loading is None:
            self._note_unable(desk)
            return None
        await self._permit.before_waiting()
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
            if not choice.seats and not self._machines.fleet.known:
                await self._ask_counts(desk)
                choice = self._choose(desk)
            if not choice.seats:
                return None
            slot = await self._take(desk, choice)
            if slot is not None:
                return slot
        return None

    async def _ask_counts(self, desk: Desk) -> None:
        """Ask how many slots are in use, after the store could not be asked: what was last seen may be long over.

        Raises:
            LeaseStoreAway: it still does not answer, or there is nobody to ask about.
        """
        wishes = tuple(SlotWish(seat.state.node.name, 0) for seat in desk.selector.able(self._ask, self._refused))
        if wishes:
            grant = await self._machines.leases.take(wishes, self._machines.identities.lease())
            self._machines.fleet.known = True
            self._machines.fleet.looked(wishes, grant.busy)
        elif desk.selector.able_slots(self._ask, self._refused, warm=False):
            raise LeaseStoreAway("unknown")  # so it was at the refresh: a large fleet that fell ill since

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
        ahead = machines.queues.ahead_for_slots(desk, call.urgency)
        self.forecast_s = forecast = desk.forecast_s(now, ahead=ahead, slots=choice.able_slots)
        if self._loading is not None:
            self.forecast_s = min(forecast, machines.loads.ready_in(self._loading, now, COLD_LOAD_S))
            forecast = forecast if self._goes_on else self.forecast_s
        limit_s = min(call.patience.limit_s(self._step.model.queue_timeout_ms), call.deadline - now)
        if forecast > limit_s or limit_s <= 0:
            self._note_full(desk)
            return None
        self._trail.forecast_s = forecast
        try:
            slot = await self._stand_in_line(desk, limit_s)
        finally:
            waited_s = machines.clock.monotonic() - now
            call.patience.used(waited_s)
        if slot is None:
            self._note_full(desk)
        else:
            desk.calibration.take(forecast, waited_s)
        return slot

    async def _stand_in_line(self, desk: Desk, limit_s: float) -> Slot | None:
        machines, call = self._machines, self._call
        waiter = Waiter(call.urgency, lambda: self._is_due(desk))
        ends_at = machines.clock.monotonic() + limit_s
        with machines.queues.joined(desk, waiter, machines.identities.lease()):
            while (left_s := ends_at - machines.clock.monotonic()) > 0:
                if not await machines.queues.turn(desk, waiter, left_s):
                    return None
                choice = self._choose(desk)
                if not choice.seats and not machines.fleet.known:
                    await self._ask_counts(desk)
                    choice = self._choose(desk)
                slot = await self._take(desk, choice) if choice.seats else None
                if slot is not None or self._waits_in_vain(desk):
                    return slot
        return None

    def _is_due(self, desk: Desk) -> bool:
        """Whether there is something to do for a call that waits, be it to go on."""
        if self._yields(desk):
            return False
        selector = desk.selector
        if not self._machines.fleet.known or selector.would_do(self._ask, self._refused):
            return True
        if selector.able_slots(self._ask, self._refused, warm=True):
            return False
        if self._waits_in_vain(desk):
            return True
        return not self._still_loads() and selector.would_do(self._ask, self._refused, warm=False)

    def _yields(self, desk: Desk) -> bool:
        """Whether this is a line of a batch, and somebody else waits for what it would take."""
        return self._call.urgency is Urgency.BATCH and self._machines.queues.others_near(desk)

    def _still_loads(self) -> bool:
        """Whether the machine that was to load has not left, and can."""
        if self._loading is None:
            return False
        state = self._loading.state
        here = self._machines.fleet.state(state.node.name) is state
        return here and state.health is not Health.DOWN and not state.draining

    def _waits_in_vain(self, desk: Desk) -> bool:
        """Whether nobody is left who could take the call; for a load only those wait that cannot go on."""
        return not desk.selector.able_slots(self._ask, self._refused, warm=self._goes_on)

    def _note_full(self, desk: Desk) -> None:
        """Say why no slot came: none was free, none but on machines that have to load, or none is left."""
        able, able_warm = (desk.selector.able_slots(self._ask, self._refused, warm=warm) for warm in (False, True))
        if not able:
            self._note_unable(desk)
        elif self._loading is not None and not able_warm:
            self._trail.note(LOCAL, self._loading.state.node.name, "cold")
        else:
            self._trail.note(LOCAL, self._only_name(desk), "busy")

    def _note_unable(self, desk: Desk) -> None:
        """Say why no node could take the call even if it were free."""
        if self._refused:
            return  # their own answers have been noted
        fit = [seat.state for seat in desk.seats if self._fits(seat)]
        if not desk.seats:
            word = "none"
        elif fit and all(state.draining for state in fit):
            word = "draining"
        elif fit and all(state.health is Health.DOWN or state.draining for state in fit):
            word = "down"
        else:
            word = "unfit"
        self._trail.note(LOCAL, self._only_name(desk), word)

    def _fits(self, seat: Seat) -> bool:
        """Whether window and region are right."""
        ask, regions = self._ask, self._ask.regions
        if regions is not None and seat.state.node.region not in regions:
            return False
        return seat.window is None or seat.window >= ask.need_tokens

    def _only_name(self, desk: Desk) -> NodeName | None:
        return desk.seats[0].state.node.name if len(desk.seats) == 1 else None
