"""The walk along the plan of one call: target after target, until one answers.

Rules: each target is asked at most once, in the order of the plan; what rests or is broken is passed over and
noted; one overall deadline. What a failure means was decided in `domain/routing/outcome.py`; here it is carried
out.
"""

from dataclasses import dataclass, replace

from ktms.domain.capacity.selection import Ask
from ktms.domain.capacity.wait_forecast import ENDLESS, Patience
from ktms.domain.errors import Problem
from ktms.domain.ids import LOCAL
from ktms.domain.placement import Placement
from ktms.domain.routing.cooldown import rest_s
from ktms.domain.routing.outcome import Rest
from ktms.domain.routing.permitted import intersection
from ktms.domain.routing.plan import CloudStep, LocalStep, why_no_node
from ktms.domain.snapshot import VendorKey
from ktms.engine.attempt import Attempts
from ktms.engine.call import Result
from ktms.engine.condition import Condition, Pass
from ktms.engine.ending import NODES_UNKNOWN, Story, ended, nowhere
from ktms.engine.node_walk import Machines, NodeCall, NodeWalk, Slot
from ktms.engine.permit import Permit
from ktms.engine.place import Placed
from ktms.engine.shot import Shot, Target
from ktms.engine.trail import Trail
from ktms.engine.waiting import Urgency
from ktms.ports.clock import Clock
from ktms.ports.telemetry import Dependency, Telemetry

CLOUD_TIME_S = 6 * 3600.0
"""The last quarter of a batch's window: a line that may go to the cloud waits for no machine any more."""

CHOICE_GOOD_S = 0.25
"""A node that was chosen longer ago is chosen anew: what is known of it may be over. Redis answers within its
timeout, so it comes to that only where the ledger had to be asked."""

LEFT_MIN_S = 0.5
"""With less time than this no other target is dialled: it could not answer."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a walk needs to ask targets."""

    attempts: Attempts
    clock: Clock
    condition: Condition
    machines: Machines
    telemetry: Telemetry


class Walk:
    """One walk along the plan of one call; nobody is asked before its permit is there."""

    def __init__(self, means: Means, placed: Placed, trail: Trail, deadline: float, permit: Permit) -> None:
        self._means = means
        self._placed = placed
        self._trail = trail
        self._story = Story()
        self._deadline = deadline
        self._permit = permit
        self._node_call: NodeCall | None = None  # made when the first local step comes
        self._nodes_free_s = 0.0  # forecast of the last model whose nodes were all busy
        self._nodes_unknown = False

    async def run(self) -> Result | Problem:
        """Ask target after target until one answers; a problem when none did."""
        steps, decision = self._placed.plan.steps, self._placed.decision
        last = steps[-1:]
        word = why_no_node(decision, steps)
        if word is not None and decision.placement is not Placement.CLOUD_FIRST:
            self._trail.note(LOCAL, None, word)
        for step in steps:
            if isinstance(step, LocalStep):
                end = await self._local(step, goes_on=step not in last)
            else:
                end = await self._cloud(step)
            if end is not None:
                return end
        if not steps:
            return nowhere(decision, for_nodes=word is not None)
        if word is not None and decision.placement is Placement.CLOUD_FIRST:
            self._trail.note(LOCAL, None, word)
        local_only, cloud_targets = self._placed.local_only, self._placed.cloud_targets
        return ended(
            self._story,
            told=self._trail.story(),
            local_only=local_only,
            nodes_unknown=self._nodes_unknown,
            soonest_s=self._nodes_free_s if local_only else self._means.condition.soonest_s(cloud_targets),
        )

    async def _cloud(self, step: CloudStep) -> Result | Problem | None:
        means, target = self._means, step.target
        if self._spent(self._placed.plan.attempts_max):
            return None
        await self._permit.granted()  # before anybody is looked at: what is known of a target changes meanwhile
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

    async def _local(self, step: LocalStep, *, goes_on: bool) -> Result | Problem | None:
        """Ask the nodes of one model, each at most once, as long as one has a free slot in time."""
        call = self._local_call()
        waits = call.urgency is Urgency.BATCH and self._means.clock.monotonic() < call.deadline
        ask = self._ask_of(step)
        nodes = NodeWalk(
            self._means.machines, call, ask, self._trail, step, self._permit, goes_on=goes_on and not waits
        )
        while not self._spent(self._placed.plan.local_attempts_max):
            slot = await nodes.slot()
            if slot is None:
                break
            if not await self._granted_in_time(nodes, slot):
                continue
            end = await self._ask_node(nodes, step, slot)
            if end is not None:
                return end
        if nodes.unknown and waits:
            return NODES_UNKNOWN  # a line comes back when it is known again, rather than cost something
        self._nodes_free_s = max(self._nodes_free_s, nodes.forecast_s)
        self._nodes_unknown = self._nodes_unknown or nodes.unknown
        return None

    def _local_call(self) -> NodeCall:
        if self._node_call is None:
            self._node_call = self._call_of_line() or self._call_of_client()
        return self._node_call

    def _call_of_client(self) -> NodeCall:
        placed, decision = self._placed, self._placed.decision
        local = [step for step in placed.plan.steps if isinstance(step, LocalStep)]
        return NodeCall(
            urgency=Urgency.INTERACTIVE if decision.interactive else Urgency.NORMAL,
            patience=Patience(
                interactive=decision.interactive,
                queue_timeouts_ms=[step.model.queue_timeout_ms for step in local],
            ),
            deadline=self._deadline,
        )

    def _call_of_line(self) -> NodeCall | None:
        """Let a line of a batch wait behind everybody, as long as its window allows."""
        run = self._trail.call.run
        if run is None:
            return None
        ends_at = run.ends_at - (0.0 if self._placed.local_only else CLOUD_TIME_S)
        return NodeCall(urgency=Urgency.BATCH, patience=ENDLESS, deadline=ends_at)

    def _ask_of(self, step: LocalStep) -> Ask:
        """Say what a node must offer for this model, whose own regions narrow those of policy and key."""
        placed = self._placed
        regions = intersection(placed.decision.regions, step.model.allowed_regions)
        return Ask(placed.plan.need_tokens, placed.prompt_tokens, placed.answer_tokens, regions)

    async def _granted_in_time(self, nodes: NodeWalk, slot: Slot) -> bool:
        """Wait for the permit, a slot in hand; False: that took so long that the slot was put back."""
        clock = self._means.clock
        taken_at = clock.monotonic()
        try:
            await self._permit.granted()
        except BaseException:
            nodes.put_back(slot)
            raise
        if clock.monotonic() - taken_at <= CHOICE_GOOD_S:
            return True
        nodes.put_back(slot)
        return False

    async def _ask_node(self, nodes: NodeWalk, step: LocalStep, slot: Slot) -> Result | Problem | None:
        shot: Shot | None = None
        try:
            self._trail.model = step.model
            call, placed = self._trail.call, self._placed
            target = placed.targets.node(
                slot.seat,
                step.model,
                call.route,
                call.body.facts,
                speed=self._means.machines.fleet.meter(slot.seat).speed(),
                prompt_tokens=placed.prompt_tokens,
            )
            asked = self._in_time(target)
            shot = await self._means.attempts.ask(
                asked, self._trail, lambda: self._means.machines.fleet.speaks(slot.seat)
            )
        finally:
            nodes.give_back(slot, shot)
        if shot.verdict is None or not shot.verdict.out_of_time or asked is target:
            nodes.learn(slot, shot)  # else it was our own deadline
        if shot.verdict is not None and shot.verdict.passes:
            return None  # no attempt: the next candidate, please (FN2, FN4)
        return self._take(shot)

    async def _ask(self, target: Target, gate: Pass) -> Shot:
        """Ask, and let the breaker know; a client that left says nothing about the target."""
        asked = self._in_time(target)
        shortened = asked is not target
        try:
            shot = await self._means.attempts.ask(asked, self._trail, gate.speaks)
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

    def _in_time(self, target: Target) -> Target:
        """Keep an exchange within the deadline of its call."""
        left_s = self._deadline - self._means.clock.monotonic()
        if left_s >= target.timers.total_s:
            return target
        return replace(target, timers=replace(target.timers, total_s=left_s))

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
