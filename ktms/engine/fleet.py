"""What this replica knows of our machines: who serves what, how busy, how fast and how sound each is.

Rules: state is keyed by a node's name and outlives catalogues and discovery (N07), and for a while its absence
from them; health never touches slot
counts (N05); every real token is a heartbeat; leases decide who gets a slot, counts here only say whom to ask
first, and what engines say of their load only raises these (N10). Synchronous, hence without races. Not here: the
rules (`domain/capacity/`), leases (`ports/lease_store.py`), looking at nodes (`probe.py`), reading what other
replicas know (`sweep.py`).
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from operator import attrgetter

from ktms.domain.capacity.engine_metrics import UNKNOWN_LOAD, EngineLoad
from ktms.domain.capacity.fleet_status import FleetStatus, NodeStatus, SeatStatus
from ktms.domain.capacity.node_health import Evidence, NodeHealth
from ktms.domain.capacity.node_report import Look, NodeReport, is_known
from ktms.domain.capacity.seat import Health, NodeState, Seat
from ktms.domain.capacity.selection import Selector
from ktms.domain.capacity.serving import name_on, with_tag
from ktms.domain.capacity.speed import SpeedMeter, SpeedSample, set_speeds
from ktms.domain.ids import ModelName, NodeName, VendorModel
from ktms.domain.snapshot import LocalTarget, Model, Node, Snapshot
from ktms.engine.desk import Desk, DeskKey, tell_who_shares
from ktms.engine.lately import Lately
from ktms.ports.clock import Clock
from ktms.ports.fleet_board import BoardView, Seen
from ktms.ports.lease_store import Lease, SlotWish
from ktms.ports.telemetry import Gauge, Telemetry

LOAD_LASTS_S = 15.0
"""What an engine said of its load is forgotten after three looks: a stale word must not send calls elsewhere."""

EVIDENCE_OF = {
    Look.ANSWERED: Evidence.PROBE_ANSWERED,
    Look.MISSED: Evidence.PROBE_MISSED,
    Look.LOADING: Evidence.LOADING,
    Look.SPOKE: Evidence.TOKEN,
    Look.BARS: Evidence.TOKEN_REFUSED,
}
assert set(EVIDENCE_OF) == set(Look), "every look is evidence"

_SeatKey = tuple[NodeName, VendorModel]
_Taken = dict[bool, tuple[float, NodeReport]]


class Fleet:
    """The machines of one replica's snapshot."""

    def __init__(self, clock: Clock, telemetry: Telemetry, spin: int) -> None:
        self._clock = clock
        self._telemetry = telemetry
        self._spin = spin
        self._snapshot: Snapshot | None = None
        self._states: dict[NodeName, NodeState] = {}
        self._health: dict[NodeName, NodeHealth] = {}
        self._seats: dict[_SeatKey, Seat] = {}
        self._meters: dict[_SeatKey, SpeedMeter] = {}
        self._desks: dict[DeskKey, Desk] = {}
        self._serving: dict[NodeName, list[Desk]] = {}
        self._seats_of: dict[NodeName, list[Seat]] = {}
        self._taken: dict[NodeName, _Taken] = {}  # the last look, and the last token
        self._told_load_at: dict[NodeName, float] = {}
        self._misses: dict[NodeName, int] = {}  # looks missed in a row, as whoever looked has told
        self._nodes_lately: Lately[NodeName, tuple[NodeState, NodeHealth, _Taken, int]] = Lately()
        self._seats_lately: Lately[_SeatKey, tuple[Seat, SpeedMeter]] = Lately()
        self.known = True  # whether the store answered when it was last asked

    def sync(self, snapshot: Snapshot) -> None:
        """Follow a newer snapshot; what is known of nodes that stay, or that were here lately, is kept."""
        if snapshot is self._snapshot:
            return
        self._snapshot = snapshot
        nodes, now = {node.name: node for node in snapshot.nodes}, self._clock.monotonic()
        self._part(nodes, now)
        self._states = {name: self._state(node, now) for name, node in nodes.items()}
        self._health = {name: self._health.get(name) or NodeHealth() for name in nodes}
        before, self._seats = self._seats, {}
        desks = dict(self._made(snapshot, before, now))
        for key, seat in before.items():
            if self._seats.get(key) is not seat:
                self._seats_lately.left(key, (seat, self._meters.pop(key)), now)
        self._meters = {key: self._meters.get(key) or SpeedMeter() for key in self._seats}
        self._seats_of = {name: [] for name in nodes}
        for (name, _), seat in self._seats.items():
            self._seats_of[name].append(seat)
        self._close([desk for key, desk in self._desks.items() if key not in desks])
        self._desks = desks
        self._serving = {name: [] for name in nodes}
        for desk in desks.values():
            for seat in desk.seats:
                self._serving[seat.state.node.name].append(desk)
        tell_who_shares(desks.values())
        self.rank()

    def desk(self, model: Model, target: LocalTarget) -> Desk | None:
        """Give the desk of a model; None where a newer snapshot no longer has it."""
        return self._desks.get((model.name, target.vendor_model, model.selection))

    def desks_of(self, node: NodeName) -> Sequence[Desk]:
        """Give the desks that a slot of this node is for."""
        return self._serving.get(node, ())

    @property
    def nodes(self) -> Collection[NodeState]:
        """All nodes."""
        return self._states.values()

    @property
    def desks(self) -> Collection[Desk]:
        """All desks."""
        return self._desks.values()

    def state(self, node: NodeName) -> NodeState | None:
        """Give one node's state; None where it left the catalogue."""
        return self._states.get(node)

    def health(self, node: NodeName) -> NodeHealth:
        """Give one node's health; that of a node that has just left the catalogue is nobody's."""
        return self._health.get(node) or NodeHealth()

    def misses(self, node: NodeName) -> int:
        """Give how many looks at a node were missed in a row, whichever replica looked."""
        return self._misses.get(node, 0)

    def meter(self, seat: Seat) -> SpeedMeter:
        """Give how fast a seat was; calls under way may ask for one that has left the catalogue."""
        return self._meters.get((seat.state.node.name, seat.vendor_model)) or SpeedMeter()

    def seats_of(self, node: NodeName) -> Iterator[Seat]:
        """Give the models of one node."""
        return iter(self._seats_of.get(node, ()))

    def looked(self, wishes: Sequence[SlotWish], busy: Sequence[int]) -> None:
        """Take the counts that came with an answer of the lease store."""
        for wish, count in zip(wishes, busy, strict=False):
            state = self._states.get(wish.node)
            if state is not None:
                state.busy = count

    def began(self, desk: Desk, lease: Lease) -> None:
        """Note that a lease is ours from now on."""
        desk.since[lease.id] = self._clock.monotonic()
        state = self._state_lately(lease.node)
        if state is not None:
            state.ours += 1

    def ended(self, desk: Desk, lease: Lease, *, draining: bool) -> None:
        """Note that a lease was given back; a slot that drains is not free yet."""
        now = self._clock.monotonic()
        desk.holding.take(now - desk.since.pop(lease.id, now))
        state = self._state_lately(lease.node)
        if state is not None:
            state.ours = max(0, state.ours - 1)
        if state is not None and not draining:
            state.busy = max(0, state.busy - 1)
            state.done(1)
            self.freed(lease.node)

    def freed(self, node: NodeName) -> None:
        """Take word that a slot of this node came free, here or on another replica.

        It says nothing about the other slots, and our own releases come back as such words too.
        """
        state = self._states.get(node)
        if state is not None:
            state.busy = max(0, min(state.busy, state.slots - 1))
            for desk in self._serving[node]:
                desk.selector.freed(node)

    def note(self, node: NodeName, evidence: Evidence) -> None:
        """Take evidence about a node's health."""
        health, state = self._health.get(node), self._states.get(node)
        if health is None or state is None:
            return
        health.note(evidence, self._clock.monotonic(), streams=state.busy)
        if evidence is Evidence.LOADING:
            for seat in self.seats_of(node):
                seat.cold = True
        if health.health is not state.health:
            state.health = health.health
            self._tell(node, state.health)
            if state.health is Health.BARRED:
                self._telemetry.event("error", "node_token_refused", node=node)

    def _tell(self, node: NodeName, health: Health | None) -> None:  # None: it is gone, and alarms nobody for ever
        level = "info" if health in {None, Health.HEALTHY} else "warning"
        named, value = ("unknown", math.nan) if health is None else (health.name.lower(), health.value)
        self._telemetry.event(level, "node_turned", node=node, health=named)
        self._telemetry.gauge(Gauge.NODE_HEALTH, value, node)

    def speaks(self, seat: Seat) -> None:
        """The first token of an answer came: the model is in memory."""
        seat.cold = False
        self.note(seat.state.node.name, Evidence.HEARTBEAT)

    def spoke(self, seat: Seat) -> None:
        """An answer was generated to its end: the node is sound and the model is in memory."""
        seat.cold = False
        self.note(seat.state.node.name, Evidence.TOKEN)

    def measured(self, seat: Seat, sample: SpeedSample) -> None:
        """Take one sample of a seat's speed."""
        self.meter(seat).take(sample, self._clock.monotonic())

    def shrink_window(self, seat: Seat, window: int) -> None:
        """Believe what a node showed over what it was declared with, and over what it says (N24)."""
        if seat.window is None or window < seat.window:
            seat.show(window)
            self._telemetry.event(
                "warning", "window_smaller_than_declared", node=seat.state.node.name, window=window
            )

    def apply(self, view: BoardView) -> None:
        """Take over what the board says; once a second at most, so this may look at every node."""
        now = self._clock.monotonic()
        for name, count in view.busy.items():
            state = self._states.get(name)
            if state is not None:
                state.busy = count
                held = len(state.others.since)
                state.others.seen(count - state.ours, now)
                state.done(max(0, held - len(state.others.since)))
        here: Counter[ModelName] = Counter()
        for desk in self._desks.values():
            here[desk.model] += desk.here
        for desk in self._desks.values():
            if desk.model in view.waiting:
                desk.elsewhere = max(0, view.waiting[desk.model] - here[desk.model])
        for seen in sorted(view.seen, key=attrgetter("age_s"), reverse=True):
            self._take_report(seen, now)

    def rank(self) -> None:
        """Work out speeds anew, and who is a candidate at all."""
        self._forget_loads()
        for desk in self._desks.values():
            set_speeds([(seat, self.meter(seat)) for seat in desk.seats])
            desk.selector.rank(desk.seats)

    def status(self) -> FleetStatus:
        """Give the fleet in figures."""
        by_node: dict[NodeName, list[SeatStatus]] = {name: [] for name in self._states}
        for (name, _), seat in self._seats.items():
            meter = self.meter(seat)
            by_node[name].append(
                SeatStatus(
                    vendor_model=seat.vendor_model,
                    window=seat.window,
                    cold=seat.cold,
                    speed=seat.speed,
                    prefill_tokens_per_s=meter.prefill_tokens_per_s,
                    decode_tokens_per_s=meter.decode_tokens_per_s,
                    samples=meter.samples,
                )
            )
        nodes = tuple(
            NodeStatus(
                name=name,
                engine=state.node.engine.value,
                health=state.health.name.lower(),
                draining=state.draining,
                busy=state.busy,
                slots=state.slots,
                engine_calls=state.load.calls,
                kv_used=state.load.kv_used,
                seats=tuple(by_node[name]),
            )
            for name, state in self._states.items()
        )
        return FleetStatus(
            self.known, nodes, tuple(desk.status(self._clock.monotonic()) for desk in self._desks.values())
        )

    def _part(self, nodes: Collection[NodeName], now: float) -> None:
        """Lay aside what is known of nodes that are gone, and take up what is known of those that are back."""
        for name in [name for name in self._states if name not in nodes]:
            state = self._states.pop(name)
            self._hear(state, UNKNOWN_LOAD)
            if state.health is not Health.HEALTHY:
                self._tell(name, None)
            self._told_load_at.pop(name, None)
            known = (state, self._health.pop(name), self._taken.pop(name, {}), self._misses.pop(name, 0))
            self._nodes_lately.left(name, known, now)
        for name in [name for name in nodes if name not in self._states]:
            lately = self._nodes_lately.back(name, now)
            if lately is not None:
                self._states[name], self._health[name], self._taken[name], self._misses[name] = lately
                self._health[name].came_back(now)
                if lately[0].health is not Health.HEALTHY:
                    self._tell(name, lately[0].health)

    def _state_lately(self, name: NodeName) -> NodeState | None:
        """Give the state of a node, be it gone or not: calls that began there have not ended."""
        lately = self._nodes_lately.find(name)
        return self._states.get(name) or (None if lately is None else lately[0])

    def _close(self, desks: Collection[Desk]) -> None:
        """Take from desks that are no more whatever has left; who waits there waits for the rest alone."""
        for desk in desks:
            desk.seats = tuple(
                seat for seat in desk.seats if self._seats.get((seat.state.node.name, seat.vendor_model)) is seat
            )
            desk.selector.rank(desk.seats)

    def _state(self, node: Node, now: float) -> NodeState:
        state = self._states.get(node.name)
        if state is None or state.node.origin.key != node.origin.key:
            self._health.pop(node.name, None)  # another machine, or another way to it: nothing of the old is true
            if state is not None and state.health is not Health.HEALTHY:
                self._tell(node.name, None)
            return NodeState(node, node.slots, busy=0 if state is None else state.busy)
        state.slots = node.slots if node.slots != state.node.slots else state.slots
        other_token = node.token != state.node.token
        if state.follow(node) or other_token:
            self._health[node.name].came_back(now)
        return state

    def _made(
        self, snapshot: Snapshot, before: dict[_SeatKey, Seat], now: float
    ) -> Iterator[tuple[DeskKey, Desk]]:
        for model in snapshot.models:
            for target in model.local:
                key = (model.name, target.vendor_model, model.selection)
                desk = self._desks.get(key)
                selector = Selector(band=snapshot.policy.band, rule=model.selection, spin=self._spin)
                if desk is None:
                    desk = Desk(model.name, target.vendor_model, selector)
                elif desk.selector.band != snapshot.policy.band:
                    desk.selector = selector
                desk.seats = tuple(self._seat(node, target.vendor_model, before, now) for node in target.nodes)
                yield key, desk

    def _seat(self, node: Node, wanted: VendorModel, before: dict[_SeatKey, Seat], now: float) -> Seat:
        """Give the one seat of a model on a node, however many public names lead to it."""
        spelled = name_on(node, wanted)
        assert spelled is not None, "a target's nodes serve its model"
        key = (node.name, spelled)
        if key in self._seats:
            return self._seats[key]
        if key not in before and (lately := self._seats_lately.back(key, now)) is not None:
            before[key], self._meters[key] = lately
        seat, state, declared = before.get(key), self._states[node.name], node.windows[spelled]
        if seat is None or seat.state is not state:
            seat = Seat(state, spelled, declared)
        elif seat.declared != declared:
            seat.declare(declared)  # else what it showed or told stays believed
        self._seats[key] = seat
        return seat

    def _take_report(self, seen: Seen, now: float) -> None:
        report, at = seen.report, now - seen.age_s
        name, spoke = report.node, report.look is Look.SPOKE
        state = self._states.get(name)
        if state is None:
            return
        taken = self._taken.setdefault(name, {})
        if spoke in taken and is_known(report, at, *taken[spoke]):
            return
        taken[spoke], self._misses[name] = (at, report), report.misses
        if report.look is not Look.MISSED:
            self._take_facts(state, report)
        if report.load is not None and seen.age_s < LOAD_LASTS_S:
            self._told_load_at[name] = at
            self._hear(state, report.load)
        self.note(name, EVIDENCE_OF[report.look])

    def _forget_loads(self) -> None:
        """Forget what engines said too long ago."""
        latest = self._clock.monotonic() - LOAD_LASTS_S
        for name in [name for name, at in self._told_load_at.items() if at <= latest]:
            del self._told_load_at[name]
            self._hear(self._states[name], UNKNOWN_LOAD)

    def _hear(self, state: NodeState, load: EngineLoad) -> None:
        before = state.load
        state.hear(load)
        calls = (Gauge.NODE_ENGINE_CALLS, before.calls, load.calls)
        for gauge, was, now in (calls, (Gauge.NODE_KV_USED, before.kv_used, load.kv_used)):
            if now is not None or was is not None:
                self._telemetry.gauge(gauge, math.nan if now is None else now, state.node.name)

    def _take_facts(self, state: NodeState, report: NodeReport) -> None:
        """Believe what a node says of itself where it is less than what was declared: it may lie."""
        if report.look is not Look.SPOKE:
            state.drains(says=report.draining)
        if report.slots is not None:
            state.slots = max(1, min(state.node.slots, report.slots))
        told = {with_tag(model): facts for model, facts in report.models.items()}
        for seat in self.seats_of(state.node.name):
            facts = told.get(with_tag(seat.vendor_model))
            if facts is None:
                continue
            if report.look is Look.SPOKE:
                seat.cold = False
            elif facts.loaded is False:
                seat.cold = True
            if facts.window is not None:
                seat.tell(facts.window)
