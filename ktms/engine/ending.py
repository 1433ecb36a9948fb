"""What a client is told when no target answered: one honest problem for the whole call. Pure.

Rule (docs/api.md, Errors): status and code are those of the last dialled target; the message names the first
cause and the attempts. Where nothing was dialled at all, the reason is one of ours.
"""

from dataclasses import dataclass, replace

from ktms.domain.errors import ErrorCode, Problem, problem
from ktms.domain.routing.choose import Decision


@dataclass(slots=True)
class Story:
    """Problems of the dialled targets, first and last, and how many there were."""

    first: Problem | None = None
    last: Problem | None = None
    dialled: int = 0

    def add(self, cause: Problem) -> None:
        """Note one more dialled target that did not answer."""
        self.dialled += 1
        self.first = self.first or cause
        self.last = cause


NODE_WAIT_S = 2.0
"""When to come back for a node at the soonest: the default of a model's queue timeout."""

NODE_WAIT_MAX_S = 300.0
"""A forecast beyond this says nothing: machines come and go within minutes."""

UNKNOWN_S = 3.0
"""A store that is back is used again within this (FR10)."""

NODES_UNKNOWN = problem(
    ErrorCode.NODE_STATE_UNKNOWN,
    "The state of the nodes is not known right now, and this call may run on nothing else.",
    retry_after_s=UNKNOWN_S,
)

NOWHERE_S = 1.0
"""A node that announces itself, or a file that is applied, is in force within a second."""


def ended(story: Story, *, told: str, local_only: bool, nodes_unknown: bool, soonest_s: float) -> Problem:
    """Give the problem of a call whose targets are used up; `told` are the attempts in words."""
    if story.first is not None and story.last is not None:
        if story.dialled == 1:
            return story.last
        return replace(story.last, message=f"{story.first.message} (attempts: {told})")
    if local_only and nodes_unknown:
        return NODES_UNKNOWN
    if local_only:
        message = f"No node can take the call ({told})." if told else "No enabled node serves this model."
        return problem(
            ErrorCode.NO_NODE_AVAILABLE, message, retry_after_s=min(max(soonest_s, NODE_WAIT_S), NODE_WAIT_MAX_S)
        )
    message = f"No target can be asked right now ({told})." if told else "No target could be asked in time."
    return problem(ErrorCode.NO_TARGET_AVAILABLE, message, retry_after_s=max(soonest_s, 1.0))


def nowhere(decision: Decision, *, for_nodes: bool) -> Problem:
    """Give the problem of a call whose plan is empty: there is nothing to wait for, but somebody may mend it.

    `for_nodes`: its models are for machines of ours alone, and none of these is switched on or has come yet.
    """
    name, placement = decision.chain or decision.models[0].name, decision.placement
    needs = {"no enabled node": placement.allows_nodes, "no vendor": placement.allows_cloud}
    missing = " and ".join(need for need, wanted in needs.items() if wanted)
    message = f"{'Chain' if decision.chain else 'Model'} {name!r} has {missing}"
    reason = "." if placement.allows_nodes and placement.allows_cloud else f", and the call is {placement.value}."
    code = ErrorCode.NO_NODE_AVAILABLE if for_nodes else ErrorCode.NO_TARGET_AVAILABLE
    return problem(code, message + reason, retry_after_s=NOWHERE_S)
