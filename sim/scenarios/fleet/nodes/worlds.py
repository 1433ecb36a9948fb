"""Fleets of our own machines and their callers, as the scenarios of this folder draw them.

Rules: clouds and machines that are no victims are well; several replicas share one store. Not here: calls that
come one after another, and the world around them (`sim/scenarios/targets/worlds.py`).
"""

from collections.abc import Sequence
from dataclasses import replace

from sim.draft import CallDraft, Engine, KeyDraft, NodeDraft, VendorDraft
from sim.faults.plan import Fault, Plan
from sim.scenarios.targets.worlds import Cast
from sim.seed import Chance

VICTIM = "node-0"

PLAIN = KeyDraft("app")
URGENT = KeyDraft("person", interactive=True)
CONFINED = KeyDraft("nodes", ("nodes_only",))
KEYS = (PLAIN, URGENT, CONFINED)

ENGINES = tuple(Engine)

LOOKED_S = 6.5
"""A look comes every 5 s, and every replica reads it within one more."""

HEALED_S = 70.0
"""A machine that was down is asked for a token within a minute after it is well."""


def machines(
    chance: Chance,
    count: int,
    *,
    engines: Sequence[Engine] = ENGINES,
    slots: int = 4,
    first_token_s: float = 0.2,
    token_s: float = 0.05,
) -> tuple[NodeDraft, ...]:
    """Draw so many machines that are alike but for their engine."""
    return tuple(
        NodeDraft(
            f"node-{number}", chance.pick(engines), slots=slots, first_token_s=first_token_s, token_s=token_s
        )
        for number in range(count)
    )


def cast(chance: Chance, nodes: tuple[NodeDraft, ...], *, replicas: Sequence[int] = (1, 2, 3)) -> Cast:
    """Put machines together with one cloud and some replicas."""
    return Cast(VICTIM, (VendorDraft("cloud-a", token_s=0.01),), nodes, chance.pick(replicas))


def on_all(kind: str, nodes: Sequence[NodeDraft], at_s: float, lasts_s: float, amount: float = 0.0) -> Plan:
    """Let the same befall all of them at once; who refuses connections loses those that are open."""
    struck = [Fault(kind, node.name, at_s, lasts_s, amount) for node in nodes]
    resets = [Fault("reset", node.name, at_s) for node in nodes if kind == "refuse"]
    return (*struck, *resets)


def gateways(who: Cast) -> tuple[int, ...]:
    """Give the numbers of all replicas."""
    return tuple(range(who.replicas))


def of_key(calls: Sequence[CallDraft], chance: Chance, shares: dict[str, float]) -> tuple[CallDraft, ...]:
    """Let a share of the calls come by another key."""
    made = []
    for call in calls:
        way, key = chance.unit(), PLAIN.name
        for name, share in shares.items():
            if 0 <= way < share:
                key = name
            way -= share
        made.append(replace(call, key=key))
    return tuple(made)
