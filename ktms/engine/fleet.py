"""What this replica knows of our machines: who serves what, how busy, how fast and how sound each is.

Rules: state is keyed by a node's name and outlives catalogues and discovery (N07); health never touches slot
counts (N05); every real token is a heartbeat; leases decide who gets a slot, counts here only say whom to ask
first. Synchronous, hence without races. Not here: the rules (`domain/capacity/`), leases (`ports/lease_store.py`),
looking at nodes (`probe.py`), reading what other replicas know (`sweep.py`).
"""

import math
from collections.abc import Collection, Iterator, Sequence

from ktms.domain.capacity.fleet_status import FleetStatus, NodeStatus, SeatStatus
from ktms.domain.capacity.node_health import Evidence, NodeHealth
from ktms.domain.capacity.node_report import Look, NodeReport
from ktms.domain.capacity.seat import NodeState, Seat
from ktms.domain.capacity.selection import Selector
from ktms.domain.capacity.serving import name_on, with_tag
from ktms.domain.capacity.speed import SpeedMeter, SpeedSample, set_speeds
from ktms.domain.ids import NodeName, VendorModel
from ktms.domain.snapshot import LocalTarget, Model, Node, Snapshot
from ktms.engine.desk import Desk, DeskKey
from ktms.ports.clock import Clock
from ktms.ports.fleet_board import BoardView, Seen
from ktms.ports.lease_store import Lease, SlotWish
from ktms.ports.telemetry import Gauge, Telemetry

SAME_LOOK_S = 0.5
"""Two readings of one report differ in age by the way to the store and back; looks are seconds apart."""

EVIDENCE_OF = {
    Look.ANSWERED: Evidence.PROBE_ANSWERED,
    Look.MISSED: Evidence.PROBE_MISSED,
    Look.LOADING: Evidence.LOADING,
    Look.SPOKE: Evidence.TOKEN,
}
assert set(EVIDENCE_OF) == set(Look), "every look is evidence"


class Fleet:
    """The machines of one replica's snapshot."""

    def __init__(self, clock: Clock, telemetry: Telemetry, spin: int) -> None:
        self._clock = clock
        self._telemetry = telemetry
        self._spin = spin
        self._snapshot: Snapshot | None = None
        self._states: dict[NodeName, NodeState] = {}
        self._health: dict[NodeName, NodeHealth] = {}
        self._seats: dict[tuple[NodeName, VendorModel], Seat] = {}
        self._declared: dict[tuple[NodeName, VendorModel], int | None] = {}  # windows, as the catalogue says
        self._meters: dict[tuple[NodeName, VendorModel], SpeedMeter] = {}
        self._desks: dict[DeskKey, Desk] = {}
        self._serving: dict[NodeName, list[Desk]] = {}
        self._seats_of: dict[NodeName, list[Seat]] = {}
        self._looked_at: dict[NodeName, float] = {}
        self._reports: dict[NodeName, NodeReport] = {}  # the last one taken
        self._misses: dict[NodeName, int] = {}  # looks missed in a row, as whoever looked has told
        self.known = True  # whether the store answered when it was last asked

    def sync(self, snapshot: Snapshot) -> None:
        """Follow a newer snapshot; what is known of nodes that stay is kept."""
        if snapshot is self._snapshot:
            return
        self._snapshot = snapshot
        nodes = {node.name: node for node in snapshot.nodes}
        self._states = {name: self._state(node) for name, node in nodes.items()}
        self._health = {name: self._health.get(name) or NodeHealth() for name in nodes}
        self._looked_at = {name: at for name, at in self._looked_at.items() if name in nodes}
        self._misses = {name: count for name, count in self._misses.items() if name in nodes}
        self._reports = {name: report for name, report in self._reports.items() if name in nodes}
        before, self._seats = self._seats, {}
        desks = dict(self._made(snapshot, before))
        self._meters = {
            key: self._meters[key] if before.get(key) is seat else SpeedMeter()
            for key, seat in self._seats.items()
        }
        self._declared = {(name, model): nodes[name].windows[model] for name, model in self._seats}
        self._seats_of = {name: [] for name in nodes}
        for (name, _), seat in self._seats.items():
            self._seats_of[name].append(seat)
        self._desks = desks
        self._serving = {name: [] for name in nodes}
        for desk in desks.values():
            for seat in desk.seats:
                self._serving[seat.state.node.name].append(desk)
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
        state = self._states.get(lease.node)
        if state is not None:
            state.ours += 1

    def ended(self, desk: Desk, lease: Lease, *, draining: bool) -> None:
        """Note that a lease was given back; a slot that drains is not free yet."""
        now = self._clock.monotonic()
        desk.holding.take(now - desk.since.pop(lease.id, now))
        state = self._states.get(lease.node)
        if state is not None:
            state.ours = max(0, state.ours - 1)
        if state is not None and not draining:
            state.busy = max(0, state.busy - 1)
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
            self._telemetry.event("warning", "node_turned", node=node, health=state.health.name.lower())
            self._telemetry.gauge(Gauge.NODE_HEALTH, state.health.value, node)

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
        """Believe what a node showed over what it was declared with (N24)."""
        if seat.window is None or window < seat.window:
            seat.window = window
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
                state.others.seen(count - state.ours, now)
        for desk in self._desks.values():
            if desk.model in view.waiting:
                desk.elsewhere = max(0, view.waiting[desk.model] - desk.here)
        for seen in view.seen:
            self._take_report(seen, now)

    def rank(self) -> None:
        """Work out speeds anew, and who is a candidate at all."""
        for desk in self._desks.values():
            set_speeds([(seat, self.meter(seat)) for seat in desk.seats])
            desk.selector.rank(desk.seats)

    def status(self) -> FleetStatus:
        """Give the fleet in figures."""
        now = self._clock.monotonic()
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
                seats=tuple(by_node[name]),
            )
            for name, state in self._states.items()
        )
        return FleetStatus(self.known, nodes, tuple(desk.status(now) for desk in self._desks.values()))

    def _state(self, node: Node) -> NodeState:
        state = self._states.get(node.name)
        if state is None or state.node.origin.key != node.origin.key:
            self._health.pop(node.name, None)  # another machine, or another way to it: nothing of the old is true
            busy = 0 if state is None else state.busy
            return NodeState(node, node.slots, busy=busy)
        state.slots = node.slots if node.slots != state.node.slots else state.slots
        state.node = node
        return state

    def _made(
        self, snapshot: Snapshot, before: dict[tuple[NodeName, VendorModel], Seat]
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
                desk.seats = tuple(self._seat(node, target.vendor_model, before) for node in target.nodes)
                yield key, desk

    def _seat(self, node: Node, wanted: VendorModel, before: dict[tuple[NodeName, VendorModel], Seat]) -> Seat:
        """Give the one seat of a model on a node, however many public names lead to it."""
        spelled = name_on(node, wanted)
        assert spelled is not None, "a target's nodes serve its model"
        key = (node.name, spelled)
        if key in self._seats:
            return self._seats[key]
        seat, state, declared = before.get(key), self._states[node.name], node.windows[spelled]
        if seat is None or seat.state is not state:
            seat = Seat(state, spelled, declared)
        elif self._declared[key] != declared:
            seat.window = declared  # else what it showed or told stays believed
        self._seats[key] = seat
        return seat

    def _take_report(self, seen: Seen, now: float) -> None:
        report, at = seen.report, now - seen.age_s
        name = report.node
        state = self._states.get(name)
        if state is None or self._is_known(report, at):
            return
        self._looked_at[name], self._reports[name], self._misses[name] = at, report, report.misses
        if report.look is not Look.MISSED:
            self._take_facts(state, report)
        self.note(name, EVIDENCE_OF[report.look])

    def _is_known(self, report: NodeReport, at: float) -> bool:
        """Whether this is a reading of what was taken last, or of something older.

        Another report is news however soon it comes: a token that loads a model may end just after a look.
        """
        later_s = at - self._looked_at.get(report.node, -math.inf)
        return later_s <= SAME_LOOK_S and (later_s < -SAME_LOOK_S or self._reports.get(report.node) == report)

    def _take_facts(self, state: NodeState, report: NodeReport) -> None:
        """Believe what a node says of itself where it is less than what was declared: it may lie."""
        if report.look is not Look.SPOKE:
            state.draining = report.draining
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
                seat.window = facts.window if seat.window is None else min(seat.window, facts.window)
