"""The order in which targets are asked, made once per call, before the first attempt.

Each target stands in it at most once, so mutual fall-backs cannot run in circles. What depends only on the
decision (`candidates`) is kept apart from what depends on this call (window, rotation): callers may remember the
first. Not here: which node of a local target (`capacity/node_choice.py`), who rests or is broken (breaker,
cooldown).
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from ktms.domain.capacity.serving import with_tag
from ktms.domain.errors import ErrorCode, Problem, problem
from ktms.domain.placement import Placement
from ktms.domain.routing.choose import Decision
from ktms.domain.routing.permitted import cloud_targets, local_targets, wants_nodes
from ktms.domain.routing.rotation import Rotations, rotate
from ktms.domain.routing.window import local_window
from ktms.domain.snapshot import CloudTarget, LocalTarget, Model


@dataclass(frozen=True, slots=True, eq=False)
class LocalStep:
    """Ask a node of this target; `window` is the largest any of them offers, None = unknown."""

    model: Model
    target: LocalTarget
    window: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CloudStep:
    """Ask this vendor; `window` in tokens, None = unknown."""

    model: Model
    target: CloudTarget
    window: int | None = None


Step = LocalStep | CloudStep


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Steps in order. A dial is an attempt: at most `attempts_max` in all, `local_attempts_max` of them on nodes.

    `need_tokens` is what node choice has to hold a node's window against.
    """

    steps: tuple[Step, ...]
    attempts_max: int
    local_attempts_max: int
    need_tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class _InOrder:
    """Steps of one model that are asked as they stand."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Rotating:
    """Steps of one model that take turns: several cloud targets with a weight."""

    steps: tuple[CloudStep, ...]


_Group = _InOrder | _Rotating


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """All targets a decision allows, in order; depends on its models, placement and regions only.

    `steps` is the plan of a call that fits every window where nothing rotates. `smallest` is the smallest known
    window; `largest` the largest, None as soon as one is not known.
    """

    groups: tuple[_Group, ...]
    steps: tuple[Step, ...]
    smallest: int | None
    largest: int | None
    rotates: bool


def candidates(decision: Decision) -> Candidates:
    """Find the targets of a decision; may be remembered under `candidates_key`."""
    known: dict[Hashable, LocalTarget] = {}
    local = [_local_group(model, decision, known) for model in decision.models]
    cloud = [group for model in decision.models for group in _cloud_groups(model, decision)]
    ordered = [*cloud, *local] if decision.placement is Placement.CLOUD_FIRST else [*local, *cloud]
    groups: tuple[_Group, ...] = tuple(group for group in ordered if group.steps)
    windows = [step.window for group in groups for step in group.steps]
    sizes = [window for window in windows if window is not None]
    return Candidates(
        groups=groups,
        steps=_once(step for group in groups for step in group.steps),
        smallest=min(sizes, default=None),
        largest=max(sizes, default=None) if len(sizes) == len(windows) else None,
        rotates=any(isinstance(group, _Rotating) for group in groups),
    )


def candidates_key(decision: Decision) -> Hashable:
    """What `candidates` depends on; valid as long as the snapshot it came from is kept."""
    return (decision.models, decision.placement, decision.regions, decision.unsaid)


def plan(
    decision: Decision,
    *,
    attempts_max: int,
    need_tokens: int,
    min_text_tokens: int,
    rotations: Rotations | None = None,
    known: Candidates | None = None,
) -> Plan | Problem:
    """Make the plan of one call, or say that it fits nowhere for certain.

    `need_tokens` is the estimate (prompt and answer), `min_text_tokens` the least the text can be. What is
    estimated not to fit is left out; if nothing is left, the estimate may be wrong, and what can possibly fit is
    asked. `known` are remembered `candidates`; without `rotations` weighted targets come by falling weight.
    """
    assert attempts_max >= 1, attempts_max
    known = known or candidates(decision)
    if known.largest is not None:
        if min_text_tokens > known.largest:
            return _too_long(known.largest, min_text_tokens)
        if need_tokens > known.largest:
            need_tokens = min_text_tokens
    fits_all = known.smallest is None or need_tokens <= known.smallest
    steps = known.steps if fits_all and not known.rotates else _once(_chosen(known, need_tokens, rotations))
    return Plan(steps, attempts_max, _local_attempts_max(decision.placement, steps, attempts_max), need_tokens)


def why_no_node(decision: Decision, steps: tuple[Step, ...]) -> str | None:
    """Say in a word of `X-KTMS-Attempts` why a call that is for nodes too has none in its plan; None: it has some.

    `none`: no enabled node serves its models; `unfit`: window or region leave out those that do.
    """
    if any(isinstance(step, LocalStep) for step in steps):
        return None
    wanted = [model for model in decision.models if wants_nodes(model, decision.placement, unsaid=decision.unsaid)]
    if not wanted:
        return None
    return "unfit" if any(target.nodes for model in wanted for target in model.local) else "none"


def _local_group(model: Model, decision: Decision, known: dict[Hashable, LocalTarget]) -> _InOrder:
    """Make the local steps of a model; equal targets of several models become one, so that they are asked once."""
    found = local_targets(model, decision.placement, decision.regions, unsaid=decision.unsaid)
    targets = (known.setdefault((with_tag(target.vendor_model), target.nodes), target) for target in found)
    return _InOrder(tuple(LocalStep(model, target, local_window(model, target)) for target in targets))


def _cloud_groups(model: Model, decision: Decision) -> Iterator[_Group]:
    steps = tuple(
        CloudStep(model, target, model.context_window)
        for target in cloud_targets(model, decision.placement, decision.regions, unsaid=decision.unsaid)
    )
    weighted = tuple(step for step in steps if step.target.weight is not None)
    yield _Rotating(weighted) if len(weighted) > 1 else _InOrder(weighted)
    yield _InOrder(tuple(step for step in steps if step.target.weight is None))


def _chosen(known: Candidates, need_tokens: int, rotations: Rotations | None) -> Iterator[Step]:
    for group in known.groups:
        if isinstance(group, _InOrder):
            yield from (step for step in group.steps if _fits(step, need_tokens))
        elif fitting := [step for step in group.steps if _fits(step, need_tokens)]:
            yield from _rotated(fitting, rotations)


def _fits(step: Step, need_tokens: int) -> bool:
    return step.window is None or step.window >= need_tokens


def _rotated(steps: list[CloudStep], rotations: Rotations | None) -> list[CloudStep]:
    by_id = {step.target.id: step for step in steps}
    weights = {name: float(step.target.weight or 1) for name, step in by_id.items()}
    if rotations is None:
        names = sorted(by_id, key=weights.__getitem__, reverse=True)
    else:
        names = list(rotate(rotations.of((steps[0].model.name, tuple(by_id))), tuple(weights.items())))
    return [by_id[name] for name in names]


def _once(steps: Iterator[Step]) -> tuple[Step, ...]:
    seen: dict[Hashable, Step] = {}
    for step in steps:
        seen.setdefault(_key(step), step)
    return tuple(seen.values())


def _key(step: Step) -> Hashable:
    return step.target.id if isinstance(step, CloudStep) else step.target


def _local_attempts_max(placement: Placement, steps: tuple[Step, ...], attempts_max: int) -> int:
    """Under nodes_first one attempt is kept for the cloud, where there is any."""
    if placement is Placement.NODES_FIRST and steps and isinstance(steps[-1], CloudStep):
        return max(1, attempts_max - 1)
    return attempts_max


def _too_long(largest: int, least_tokens: int) -> Problem:
    return problem(
        ErrorCode.CONTEXT_LENGTH_EXCEEDED,
        f"The text is at least {least_tokens} tokens long; the largest context window here is {largest} tokens.",
        param="messages",
    )
