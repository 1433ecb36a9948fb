"""Explorers: whoever holds slots dies, stands still or leaves again and again; only the checkers judge.

What is looked for: never more leases than slots, and none left when its time is over, whatever dies and when.
"""

from dataclasses import replace
from functools import partial

from sim.draft import Draft, Level, NodeDraft
from sim.draft_rules import NEEDS_BYTES
from sim.faults.plan import KINDS, Fault, On
from sim.scenarios.fleet.leases.worlds import STOPS_FOR_LEAVERS, drawn, world_of
from sim.scenarios.scenario import Scenario, nothing_special
from sim.seed import Chance, Seed
from sim.workloads.calls import Mix, draw_calls

RUNS_S = 80.0

REPLICAS_MIN, REPLICAS_MAX = 2, 3

OF_HOLDERS = ("crash", "crash", "crash", "sigterm", "sigterm_twice", "lag")
"""Deaths above all: nothing of a dead process runs again, not even a `finally`."""

OF_REDIS = tuple(name for name, kind in KINDS.items() if kind.on is On.REDIS and kind.drawn)


def draft_of(seed: Seed, level: Level) -> Draft:
    """Draw a world whose machines are always full, and whose gateways never live for long."""
    chance = seed.chance("holders")
    replicas = chance.between(REPLICAS_MIN, REPLICAS_MAX)
    faults = [_of_holder(chance, replicas) for _ in range(chance.between(4, 14))]
    if chance.happens(0.5):
        kinds = [kind for kind in OF_REDIS if level is Level.WIRE or kind not in NEEDS_BYTES]
        faults += [_of_redis(chance, chance.pick(kinds)) for _ in range(chance.between(1, 3))]
    mix = Mix(
        calls=chance.pick((60, 120)),
        runs_s=RUNS_S,
        gateways=replicas,
        strangers=0.0,
        mannered=0.1,
        placed=0.3,
        tokens_max=chance.pick((20, 100, 300)),
    )
    draft = world_of(
        chance,
        replicas,
        tuple(_node(chance, f"node-{number}") for number in range(chance.between(1, 3))),
        draw_calls(seed.child("calls"), mix),
        faults,
        runs_s=RUNS_S,
        level=level,
    )
    noise = chance.pick((0.0, 0.2, 0.5))
    return replace(
        draft, queue_timeout_ms=chance.pick((300, 2000, 20_000)), knobs=replace(draft.knobs, noise=noise)
    )


def _node(chance: Chance, name: str) -> NodeDraft:
    slots = chance.between(1, 3)
    return NodeDraft(
        name,
        engine=chance.pick(STOPS_FOR_LEAVERS),
        slots=slots,
        real_slots=chance.pick((None, None, 2 * slots)),
        window=None,
        token_s=chance.pick((0.02, 0.1)),
    )


def _of_holder(chance: Chance, replicas: int) -> Fault:
    kind = chance.pick(OF_HOLDERS)
    amount = {"lag": drawn(chance, 0.5, 20.0), "sigterm_twice": drawn(chance, 0.1, 6.0)}.get(kind, 0.0)
    at_s = drawn(chance, 0.0, RUNS_S * 0.9)
    return Fault(kind, f"gw{chance.between(1, replicas)}", at_s, drawn(chance, 0.2, 8.0), amount)


def _of_redis(chance: Chance, kind: str) -> Fault:
    amount = drawn(chance, 0.05, 1.0) if kind == "redis_slow" else 0.0
    return Fault(kind, "", drawn(chance, 0.0, RUNS_S * 0.8), drawn(chance, 0.2, 12.0), amount)


HOLDER_SCENARIOS = (
    Scenario(
        "holders-die", "holders of slots that die often", (), partial(draft_of, level=Level.PORTS), nothing_special
    ),
    Scenario(
        "holders-die-wire",
        "the same over HTTP and RESP",
        (),
        partial(draft_of, level=Level.WIRE),
        nothing_special,
    ),
)
