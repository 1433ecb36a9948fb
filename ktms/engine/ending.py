"""What a client is told when no target answered: one honest problem for the whole call. Pure.

Rule (docs/api.md, Errors): status and code are those of the last dialled target; the message names the first
cause and the attempts. Where nothing was dialled at all, the reason is one of ours.
"""

from dataclasses import dataclass, replace

from ktms.domain.errors import ErrorCode, Problem, problem


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


def ended(story: Story, *, told: str, local_only: bool, nodes_unknown: bool, soonest_s: float) -> Problem:
    """Give the problem of a call whose targets are used up; `told` are the attempts in words."""
    if story.first is not None and story.last is not None:
        if story.dialled == 1:
            return story.last
        return replace(story.last, message=f"{story.first.message} (attempts: {told})")
    if local_only and nodes_unknown:
        message = "The state of the nodes is not known right now, and this call may run on nothing else."
        return problem(ErrorCode.NODE_STATE_UNKNOWN, message, retry_after_s=UNKNOWN_S)
    if local_only:
        message = f"No node can take the call ({told})." if told else "No enabled node serves this model."
        return problem(
            ErrorCode.NO_NODE_AVAILABLE, message, retry_after_s=min(max(soonest_s, NODE_WAIT_S), NODE_WAIT_MAX_S)
        )
    message = f"No target can be asked right now ({told})." if told else "No target is configured for this call."
    return problem(ErrorCode.NO_TARGET_AVAILABLE, message, retry_after_s=max(soonest_s, 1.0))
