"""The walk along the plan of one call: target after target, until one answers.

Rules: each target is asked at most once, in the order of the plan; what rests or is broken is passed over and
noted; one overall deadline. What a failure means was decided in `domain/routing/outcome.py`; here it is carried
out.
"""

from dataclasses import dataclass, replace

from ktms.domain.capacity.node_choice import order
from ktms.domain.errors import Problem
from ktms.domain.ids import LOCAL, NodeName
from ktms.domain.routing.cooldown import rest_s
from ktms.domain.routing.outcome import Rest
from ktms.domain.routing.plan import CloudStep, LocalStep
from ktms.domain.snapshot import Node, VendorKey
from ktms.engine.attempt import Attempts
from ktms.engine.call import Result
from ktms.engine.condition import Condition, Pass
from ktms.engine.ending import Story, ended
from ktms.engine.ids import Identities
from ktms.engine.place import Placed
from ktms.engine.shot import Shot, Target
from ktms.engine.trail import Trail
from ktms.ports.clock import Clock
from ktms.ports.lease_store import Lease, LeaseStore, LeaseStoreAway, SlotWish
from ktms.ports.telemetry import Dependency, Telemetry

LEFT_MIN_S = 0.5
"""With less time than this no other target is dialled: it could not answer."""

WISHES_MAX = 8
"""Candidates named in one request for a slot: the first few of a ranking; more would only slow the store."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a walk needs to ask targets."""

    attempts: Attempts
    clock: Clock
    condition: Condition
    identities: Identities
    leases: LeaseStore
    telemetry: Telemetry


class Walk:
    """One walk along the plan of one call."""

    def __init__(self, means: Means, placed: Placed, trail: Trail, deadline: float) -> None:
        self._means = means
        self._placed = placed
        self._trail = trail
        self._story = Story()
        self._deadline = deadline
        self._nodes_open_s = 0.0  # until the first node may be asked again, where breakers refuse all of them

    async def run(self) -> Result | Problem:
        """Ask target after target until one answers; a problem when none did."""
        for step in self._placed.plan.steps:
            end = await (self._local(step) if isinstance(step, LocalStep) else self._cloud(step))
            if end is not None:
                return end
        local_only, cloud_targets = self._placed.local_only, self._placed.cloud_targets
        return ended(
            self._story,
            told=self._trail.story(),
            local_only=local_only,
            soonest_s=self._nodes_open_s if local_only else self._means.condition.soonest_s(cloud_targets),
        )

    async def _cloud(self, step: CloudStep) -> Result | Problem | None:
        means, target = self._means, step.target
        if self._spent(self._placed.plan.attempts_max):
            return None
        vendor = target.vendor
        key = means.condition.usable_key(vendor)
        if means.condition.target_rests(target) or (key is None and vendor.keys):
            self._trail.note(vendor.name, None, "resting")
            return None
        gate = means.condition.pass_for(vendor.name, vendor.origin)
        if gate is None:
            self._trail.note(vendor.name, None, "open")
            return None
        self._trail.model = step.model
        call = self._trail.call
        asked = self._placed.targets.cloud(target, step.model, key, call.route, call.body.facts)
        shot = await self._ask(asked, gate)
        self._rest(step, key, shot)
        return self._take(shot)

    async def _local(self, step: LocalStep) -> Result | Problem | None:
        """Ask the nodes of one model, each at most once, as long as one has a free slot."""
        asked: set[NodeName] = set()
        while not self._spent(self._placed.plan.local_attempts_max):
            fitting = self._fitting(step, asked)
            nodes = tuple(node for node in fitting if self._ready_in(node) <= 0)
            lease = await self._take_slot(nodes)
            if lease is None:
                self._note_unavailable(step, fitting, nodes, asked)
                return None
            try:
                node = next(node for node in nodes if node.name == lease.node)
                asked.add(node.name)
                end = await self._ask_node(step, node)
            finally:
                self._means.leases.release(lease)
            if end is not None:
                return end
        return None

    def _fitting(self, step: LocalStep, asked: set[NodeName]) -> tuple[Node, ...]:
        return order(
            step.target.nodes,
            self._means.leases.busy,
            vendor_model=step.target.vendor_model,
            need_tokens=self._placed.plan.need_tokens,
            regions=self._placed.decision.regions,
            refused=asked,
        )

    def _ready_in(self, node: Node) -> float:
        return self._means.condition.ready_in(_name(node), node.origin)

    async def _take_slot(self, nodes: tuple[Node, ...]) -> Lease | None:
        if not nodes:
            return None
        wishes = tuple(SlotWish(node.name, node.slots) for node in nodes[:WISHES_MAX])
        began_at = self._means.clock.monotonic()
        try:
            return await self._means.leases.take(wishes, self._means.identities.lease())
        except LeaseStoreAway:
            self._means.telemetry.dependency_failed(Dependency.REDIS, "take_lease", "away")
            return None
        finally:
            self._trail.queue_s += self._means.clock.monotonic() - began_at

    def _note_unavailable(
        self, step: LocalStep, fitting: tuple[Node, ...], nodes: tuple[Node, ...], asked: set[NodeName]
    ) -> None:
        """Note why no node is asked: `nodes` are those of `fitting` whose breaker does not refuse."""
        if nodes:
            self._trail.note(LOCAL, _only_name(nodes), "busy")
        elif fitting:
            self._nodes_open_s = min(self._ready_in(node) for node in fitting)
            self._trail.note(LOCAL, _only_name(fitting), "open")
        elif not asked:
            self._trail.note(LOCAL, None, "none" if not step.target.nodes else "unfit")

    async def _ask_node(self, step: LocalStep, node: Node) -> Result | Problem | None:
        means = self._means
        gate = means.condition.pass_for(_name(node), node.origin)
        if gate is None:
            self._trail.note(LOCAL, node.name, "open")
            return None
        self._trail.model = step.model
        call = self._trail.call
        target = self._placed.targets.node(node, step.target.vendor_model, step.model, call.route, call.body.facts)
        return self._take(await self._ask(target, gate))

    async def _ask(self, target: Target, gate: Pass) -> Shot:
        """Ask, and let the breaker know; a client that left says nothing about the target."""
        means = self._means
        left_s = self._deadline - means.clock.monotonic()
        shortened = left_s < target.timers.total_s
        if shortened:
            target = replace(target, timers=replace(target.timers, total_s=left_s))
        try:
            shot = await means.attempts.ask(target, self._trail, gate.speaks)
        except BaseException:  # a mistake of ours too: a trial that nobody ends would refuse calls for minutes
            gate.says_nothing()
            raise
        verdict = shot.verdict
        if shortened and verdict is not None and verdict.out_of_time:
            gate.says_nothing()  # it was our own deadline
        elif verdict is not None and verdict.breaker_counts:
            gate.failed()
        elif shot.http_status is not None:
            gate.succeeded()
        else:
            gate.says_nothing()
        return shot

    def _take(self, shot: Shot) -> Result | Problem | None:
        """Turn an attempt into the end of the call, or None: the next target, please."""
        if shot.result is not None:
            return shot.result
        assert shot.verdict is not None, shot
        cause = replace(
            shot.verdict.problem, retry_after_s=shot.retry_after_s or shot.verdict.problem.retry_after_s
        )
        self._story.add(cause)
        return cause if shot.verdict.ends_call else None

    def _rest(self, step: CloudStep, key: VendorKey | None, shot: Shot) -> None:
        """Set aside what the vendor refused: the key or this one target (FV7); nothing else learns of it."""
        condition, vendor = self._means.condition, step.target.vendor
        match Rest.NOTHING if shot.verdict is None else shot.verdict.rest:
            case Rest.KEY if key is not None:
                condition.rest(key.id, rest_s(shot.retry_after_s))
            case Rest.KEY | Rest.TARGET:
                condition.rest(step.target.id, rest_s(shot.retry_after_s))
            case Rest.KEY_AUTH if key is not None:
                replaced = condition.rest_refused_key(vendor, key)
                self._means.telemetry.dependency_failed(Dependency.VENDOR, vendor.name, "credential_refused")
                self._means.telemetry.event(
                    "error", "vendor_key_refused", vendor=vendor.name, key_id=key.id, replaced=str(replaced)
                )
            case _:
                pass

    def _spent(self, dialled_max: int) -> bool:
        """Whether attempts or time are used up."""
        left_s = self._deadline - self._means.clock.monotonic()
        least_s = LEFT_MIN_S if self._story.dialled else 0.0
        return self._story.dialled >= dialled_max or left_s <= least_s


def _only_name(nodes: tuple[Node, ...]) -> NodeName | None:
    return nodes[0].name if len(nodes) == 1 else None


def _name(node: Node) -> str:
    return f"{LOCAL}/{node.name}"
