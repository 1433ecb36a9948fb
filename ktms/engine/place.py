"""Where a call may go: the name resolved, the client's choices weighed, the plan made. One look per call.

What depends only on names and choices is remembered per snapshot; what depends on the call (its size, the
rotation of weighted targets) is worked out each time. The rules themselves are pure (`domain/routing/`).
"""

from collections.abc import Hashable
from dataclasses import dataclass

from ktms.domain.access.client_key import ClientKey
from ktms.domain.call import CallFacts, Choices
from ktms.domain.errors import CallFailed, Problem
from ktms.domain.routing.choose import Decision, choose, visible
from ktms.domain.routing.names import resolve
from ktms.domain.routing.plan import Candidates, CloudStep, LocalStep, Plan, candidates, plan
from ktms.domain.routing.rotation import Rotations
from ktms.domain.routing.timers import DEFAULT_MAX_TOKENS
from ktms.domain.routing.unknown_name import NAMES_COMPARED_MAX, unknown_model
from ktms.domain.snapshot import CloudTarget, Snapshot
from ktms.engine.call import Call
from ktms.engine.settle import BYTES_PER_TOKEN, TOKENS_PER_IMAGE
from ktms.engine.targets import Targets

DECISIONS_MAX = 10_000
"""Keys x names x choices remembered; all are dropped when they are more, since a client can invent names."""

BYTES_PER_TOKEN_MAX = 8
"""No text has fewer tokens than its bytes divided by this: what is refused by it would be refused anywhere."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A call with its decision and its plan; both token counts are estimates."""

    decision: Decision
    plan: Plan
    targets: Targets
    prompt_tokens: int
    answer_tokens: int

    @property
    def local_only(self) -> bool:
        """Whether only our own machines may serve it."""
        steps = self.plan.steps
        return bool(steps) and all(isinstance(step, LocalStep) for step in steps)

    @property
    def cloud_targets(self) -> tuple[CloudTarget, ...]:
        """Cloud targets of the plan."""
        return tuple(step.target for step in self.plan.steps if isinstance(step, CloudStep))


@dataclass(frozen=True, slots=True)
class _Remembered:
    key: ClientKey
    decision: Decision
    candidates: Candidates


class Placer:
    """Places calls; `spin` sets the weighted rotation of this replica apart from the others'."""

    def __init__(self, spin: int) -> None:
        self._rotations = Rotations(spin)
        self._snapshot: Snapshot | None = None
        self._remembered: dict[Hashable, _Remembered] = {}
        self._targets = Targets()

    def place(self, snapshot: Snapshot, call: Call, key: ClientKey) -> Placed:
        """Place a call.

        Raises:
            CallFailed: unknown model, not allowed, locked, too long.
        """
        if snapshot is not self._snapshot:
            self._snapshot, self._remembered, self._targets = snapshot, {}, Targets()
        facts = call.body.facts
        known = self._decide(snapshot, facts, call.header, key)
        prompt_tokens = facts.text_bytes // BYTES_PER_TOKEN + facts.images * TOKENS_PER_IMAGE
        answer_tokens = DEFAULT_MAX_TOKENS if facts.max_tokens is None else facts.max_tokens
        found = plan(
            known.decision,
            attempts_max=snapshot.policy.attempts_max,
            need_tokens=prompt_tokens + answer_tokens,
            min_text_tokens=call.body.longest_text_bytes // BYTES_PER_TOKEN_MAX,
            rotations=self._rotations,
            known=known.candidates,
        )
        if isinstance(found, Problem):
            raise CallFailed(found)
        return Placed(known.decision, found, self._targets, prompt_tokens, answer_tokens)

    def _decide(self, snapshot: Snapshot, facts: CallFacts, header: Choices, key: ClientKey) -> _Remembered:
        about = (facts.model, key.id, header, facts.choices)
        known = self._remembered.get(about)
        if known is not None and known.key is key:
            return known
        resolved = resolve(snapshot, facts.model)
        if resolved is None:
            few = len(snapshot.names) <= NAMES_COMPARED_MAX  # else none is looked for, and the list costs time
            names = [one.id for one in visible(snapshot, key)] if few else ()
            raise CallFailed(unknown_model(facts.model, names))
        decision = choose(snapshot, resolved, header=header, field=facts.choices, key=key)
        if isinstance(decision, Problem):
            raise CallFailed(decision)
        if len(self._remembered) >= DECISIONS_MAX:
            self._remembered.clear()
        known = self._remembered[about] = _Remembered(key, decision, candidates(decision))
        return known
