"""What the worlds of this folder have in common: who is the victim, who helps out, which calls come.

Rules: the victim comes first in the plan of every call, so a fault of it is met by each call that begins while it
is on; a victim that is a node is the only one unless the scenario says otherwise. All else is drawn.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from sim.draft import CallDraft, Draft, Engine, Knobs, Level, NodeDraft, VendorDraft
from sim.faults.plan import Fault, Plan
from sim.journal.journal import Journal
from sim.scenarios.scenario import Scenario, nothing_special
from sim.seed import Chance, Seed

VENDOR, NODE = "cloud-a", "node-0"

TAIL_S = 3.0
"""A world goes on for so long after its last call and fault."""


@dataclass(frozen=True, slots=True)
class Cast:
    """Who is there. `victim` is the first in every plan; the others are well."""

    victim: str
    vendors: tuple[VendorDraft, ...]
    nodes: tuple[NodeDraft, ...] = ()
    replicas: int = 1


@dataclass(frozen=True, slots=True)
class Flow:
    """How calls come: one every so many seconds, give or take a third. `streamed` None: drawn for each."""

    every_s: float
    tokens: tuple[int, int] = (3, 30)
    streamed: bool | None = None
    placement: str | None = None
    gateways: tuple[int, ...] = field(default=(0,))


def cast(
    chance: Chance, *, nodes: bool = True, helpers: int = 1, first_token_s: float = 0.3, token_s: float = 0.02
) -> Cast:
    """Draw the victim and at least so many vendors that help out."""
    with_node = nodes and chance.happens(0.4)
    victim = VendorDraft(
        VENDOR, azure=chance.happens(0.3), first_token_s=first_token_s, token_s=token_s, keys=chance.between(1, 2)
    )
    others = tuple(
        VendorDraft(
            f"cloud-{letter}",
            azure=chance.happens(0.2),
            first_token_s=chance.pick((0.1, 0.3)),
            token_s=chance.pick((0.005, 0.02)),
            gives_usage=chance.happens(0.8),
        )
        for letter in "bcd"[: helpers + chance.between(0, 1)]
    )
    if with_node:
        engine = chance.pick(tuple(Engine))
        node = NodeDraft(NODE, engine, slots=64, first_token_s=first_token_s, token_s=token_s)
        return Cast(NODE, others, (node,), chance.pick((1, 1, 2)))
    return Cast(VENDOR, (victim, *others), (), chance.pick((1, 1, 2)))


def calls(chance: Chance, since: float, until: float, flow: Flow) -> tuple[CallDraft, ...]:
    """Draw the calls of a while; they take turns among the gateways."""
    made: list[CallDraft] = []
    at_s = since
    while at_s < until:
        streamed = chance.happens(0.6) if flow.streamed is None else flow.streamed
        made.append(
            CallDraft(
                at_s=round(at_s, 6),
                gateway=flow.gateways[len(made) % len(flow.gateways)],
                streamed=streamed,
                usage_asked=chance.happens(0.3),
                tokens=chance.between(*flow.tokens),
                placement=flow.placement,
                prompt_words=chance.between(1, 20),
            )
        )
        at_s += flow.every_s * chance.uniform(0.67, 1.33)
    return tuple(made)


def world(
    chance: Chance, level: Level, who: Cast, made: tuple[CallDraft, ...], plan: Plan, knobs: Knobs | None = None
) -> Draft:
    """Put a world together; scheduling noise is drawn."""
    last_s = max([call.at_s for call in made] + [fault.ends_at_s for fault in plan])
    return Draft(
        level=level,
        replicas=who.replicas,
        vendors=who.vendors,
        nodes=who.nodes,
        calls=tuple(sorted(made, key=lambda call: call.at_s)),
        faults=plan,
        knobs=replace(knobs or Knobs(), noise=chance.pick((0.0, 0.2, 0.2, 0.5))),
        runs_s=round(last_s + TAIL_S, 3),
    )


def with_resets(plan: Plan) -> Plan:
    """Let whoever refuses new connections end those that are there too, as a killed process does."""
    resets = (Fault("reset", fault.target, fault.at_s) for fault in plan if fault.kind == "refuse")
    return (*plan, *resets)


def one_after_another(faults: list[Fault], starts_s: float, pause_s: float) -> tuple[Plan, float]:
    """Let faults follow one another with pauses; the plan, and when the last one is over."""
    plan: list[Fault] = []
    at_s = starts_s
    for fault in faults:
        plan.append(replace(fault, at_s=round(at_s, 3)))
        at_s += fault.lasts_s + pause_s
    return tuple(plan), at_s - pause_s


class Drawing(Protocol):
    """How a draft is drawn that goes for both levels."""

    def __call__(self, seed: Seed, level: Level) -> Draft:
        """Draw it."""
        ...


def at_both_levels(
    name: str,
    title: str,
    draft: Drawing,
    seen: Callable[[Journal], Iterator[str]],
    active: Callable[[Journal], Iterator[str]] = nothing_special,
) -> tuple[Scenario, Scenario]:
    """Make a scenario that proves the id it is called by, on the wire and at the ports."""
    return (
        Scenario(name, title, (name,), partial(draft, level=Level.WIRE), seen, active),
        Scenario(f"{name}-ports", f"{title} (ports)", (name,), partial(draft, level=Level.PORTS), seen, active),
    )
