"""The explorers: worlds in which everything is drawn, judged by the checkers alone (S40).

Knobs are drawn too: small windows, one slot, no noise, other pauses; and each world draws the subset of faults and
of manners that it will meet.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from sim.draft import (
    CallDraft,
    Draft,
    Engine,
    KeyDraft,
    Knobs,
    Level,
    LimitsDraft,
    Manner,
    NodeDraft,
    PriceDraft,
    VendorDraft,
)
from sim.draft_rules import LOCAL, NEEDS_BYTES
from sim.faults.draw import Aims, draw_kinds, draw_plan
from sim.faults.plan import KINDS, Fault, On
from sim.scenarios.scenario import Scenario, nothing_special
from sim.seed import Chance, Seed
from sim.workloads.calls import MANNERS, Mix, draw_calls

STORM_S = 60.0
"""Long enough for breakers to open, pass a trial and open again."""

FLEET_S = 90.0
"""Long enough for leases to be renewed and to end, for nodes to be loaded, and to be found down and well again."""

_OF_NODES = (name for name, kind in KINDS.items() if kind.on is On.NODE and kind.drawn)
NODE_KINDS = (*_OF_NODES, "other_model", "refuse", "silent")
FLEET_KINDS = (
    *(name for name, kind in KINDS.items() if kind.on is On.REDIS),
    *("status", "stall", "cut", "meaning_in_200", "crash", "sigterm", "lag", "new_catalogue"),
)
"""What befalls machines, the store of their slots, and those who hold them."""

LONGER = 4.0
"""What becomes of a machine is seen within seconds, and a lease ends after 15: both last longer than elsewhere."""

SLOWEST = 4.0
"""So many medians a target is given for its first token: a storm without one answer tells nothing."""


def draft_of(seed: Seed, level: Level) -> Draft:
    """Draw a whole world."""
    chance = seed.chance("draft")
    replicas = chance.pick((1, 1, 2, 3))
    vendors = tuple(_vendor(chance, f"cloud-{letter}") for letter in "abc"[: chance.between(1, 3)])
    nodes = tuple(_node(chance, f"node-{number}") for number in range(chance.pick((0, 0, 1, 2, 4))))
    runs_s = chance.pick((20.0, 60.0, 60.0, 400.0))
    aims = Aims(
        targets=[*(vendor.name for vendor in vendors), *(node.name for node in nodes)],
        gateways=[f"gw{number + 1}" for number in range(replicas)],
        nodes=[node.name for node in nodes],
    )
    count = chance.between(0, 8)
    kinds = _meant(draw_kinds(chance), level)
    plan = draw_plan(seed.child("faults"), aims, count=count, runs_s=runs_s, kinds=kinds)
    keys = (KeyDraft("app"), KeyDraft("batch"), KeyDraft("nodes", ("nodes_only",)), KeyDraft("doomed"))
    return Draft(
        level=level,
        replicas=replicas,
        vendors=vendors,
        nodes=nodes,
        keys=keys,
        placement=chance.pick((None, None, "cloud_first")),
        attempts_max=chance.pick((6, 6, 2, 1)),
        saved=seed.chance("saved").happens(0.5),
        knobs=_knobs(chance),
        calls=_calls(seed, chance, runs_s, replicas),
        faults=plan,
        runs_s=runs_s,
    )


def _explored(seed: Seed, level: Level) -> Draft:
    return limited(draft_of(seed, level), seed)


def storm_of(seed: Seed) -> Draft:
    """Draw a world in which the targets are never well for long, and every timer is short."""
    chance = seed.chance("storm")
    calm = draft_of(seed, Level.PORTS)
    names = [*(vendor.name for vendor in calm.vendors), *(node.name for node in calm.nodes)]
    of_targets = [name for name, kind in sorted(KINDS.items()) if kind.on is On.TARGET]
    kinds = chance.some(_meant(of_targets, Level.PORTS), 6)
    plan = draw_plan(
        seed.child("storm"), Aims(names, ()), count=chance.between(8, 24), runs_s=STORM_S, kinds=kinds
    )
    mix = Mix(calls=chance.between(60, 150), runs_s=STORM_S, mannered=0.1, tokens_max=chance.pick((20, 60)))
    slowest_s = max(*(one.first_token_s for one in calm.vendors), *(one.first_token_s for one in calm.nodes), 0.0)
    return replace(
        calm,
        replicas=1,
        attempts_max=6,
        knobs=replace(
            calm.knobs,
            call_total_s=chance.pick((15.0, 30.0)),
            first_token_s=max(2.0, SLOWEST * slowest_s),
            idle_s=3.0,
        ),
        calls=draw_calls(seed.child("storm"), mix),
        faults=plan,
        runs_s=STORM_S,
    )


def _meant(kinds: Sequence[str], level: Level) -> list[str]:
    """Leave out the faults that mean nothing at a level."""
    return [kind for kind in kinds if level is Level.WIRE or kind not in NEEDS_BYTES]


def _calls(seed: Seed, chance: Chance, runs_s: float, replicas: int) -> tuple[CallDraft, ...]:
    mix = Mix(
        calls=chance.pick((8, 25, 60, 120)),
        tokens_max=chance.pick((10, 40, 40, 150)),
        runs_s=runs_s,
        gateways=replicas,
        keys=("app", "app", "batch", "nodes", "doomed"),
        manners=chance.some(MANNERS, chance.between(1, 4)),
    )
    return draw_calls(seed.child("calls"), mix)


def _vendor(chance: Chance, name: str) -> VendorDraft:
    return VendorDraft(
        name,
        azure=chance.happens(0.2),
        first_token_s=chance.pick((0.05, 0.3, 1.0)),
        token_s=chance.pick((0.002, 0.02, 0.1)),
        error_share=chance.pick((0.0, 0.0, 0.1)),
        busy_share=chance.pick((0.0, 0.0, 0.1)),
        keys=chance.pick((1, 1, 2)),
        gives_usage=chance.happens(0.8),
    )


def _node(chance: Chance, name: str) -> NodeDraft:
    return NodeDraft(
        name,
        engine=chance.pick(tuple(Engine)),
        slots=chance.pick((1, 1, 2, 4)),
        window=chance.pick((None, 256, 8192)),
        first_token_s=chance.pick((0.05, 0.3)),
        token_s=chance.pick((0.005, 0.03)),
    )


def limited(draft: Draft, seed: Seed) -> Draft:
    """Give some worlds limits, prices and clients that heed refusals; all else of them stays as it was drawn."""
    chance = seed.chance("limits")
    if chance.happens(0.5):
        return draft
    whole, tokens_max = chance.pick((3, 10, 40)), 1024
    prices = [PriceDraft(vendor.name, chance.between(0, 5), chance.between(1, 20)) for vendor in draft.vendors]
    if draft.nodes and chance.happens(0.5):
        prices.append(PriceDraft(LOCAL, 0, 1))
    dearest = tokens_max * max(price.input + price.output for price in prices)
    keys = tuple(
        replace(key, limits=_limits(chance, whole, dearest), closed=chance.happens(0.3)) for key in draft.keys
    )
    calls = tuple(
        replace(call, manner=Manner.RETURNS, after=2.0)
        if call.manner is Manner.READS and chance.happens(0.3)
        else call
        for call in draft.calls
    )
    team = _limits(chance, 2 * whole, 3 * dearest)
    return replace(draft, keys=keys, team=team, prices=tuple(prices), calls=calls)


def _limits(chance: Chance, whole: int, dearest: int) -> LimitsDraft:
    """Draw which limits there are, each one that a handful of calls reaches."""
    return LimitsDraft(
        rpm=chance.pick((None, None, whole, 3 * whole)),
        tpm=chance.pick((None, None, 1100 * whole)),
        concurrent=chance.pick((None, None, max(1, whole // 2))),
        day=chance.pick((None, None, whole * dearest // 2)),
        month=chance.pick((None, None, whole * dearest)),
    )


def _knobs(chance: Chance) -> Knobs:
    knobs = Knobs(
        noise=chance.pick((0.0, 0.2, 0.2, 0.5)),
        wall_offset_s=chance.pick((0.0, 5.0, -5.0)),
        drift=chance.pick((0.0, 0.0002)),
        window_bytes=chance.pick((256 * 1024, 256 * 1024, 1024)),
        client_slice_bytes=chance.pick((0, 0, 60)),
    )
    if chance.happens(0.5):
        return knobs
    return replace(
        knobs,
        key_window_s=chance.pick((20.0, 300.0)),
        hold_status_s=chance.pick((0.5, 10.0)),
        keepalive_comment_s=chance.pick((1.0, 15.0)),
        client_stall_s=chance.pick((5.0, 60.0)),
        drain_delay_s=chance.pick((0.0, 5.0)),
        shutdown_s=chance.pick((1.0, 30.0)),
        idle_s=chance.pick((3.0, 45.0)),
        first_token_s=chance.pick((2.0, 60.0)),
        call_total_s=chance.pick((30.0, 660.0)),
    )


def fleet_of(seed: Seed, level: Level) -> Draft:
    """Draw a world of machines of our own with too few slots, whose machines and store are not always well."""
    chance = seed.chance("fleet")
    replicas = chance.pick((1, 2, 2, 3))
    nodes = tuple(_machine(chance, f"node-{number}") for number in range(chance.between(1, 5)))
    names = [node.name for node in nodes]
    gateways = [f"gw{number + 1}" for number in range(replicas)]
    others = _meant(FLEET_KINDS, level)
    kinds = [*chance.some(NODE_KINDS, 2), *chance.some(others, chance.between(1, 3))]
    aims = Aims(names, gateways, names)
    drawn = draw_plan(seed.child("faults"), aims, count=chance.between(0, 8), runs_s=FLEET_S, kinds=kinds)
    plan = tuple(_longer(fault) for fault in drawn)
    mix = Mix(
        calls=chance.pick((30, 60, 120)),
        runs_s=FLEET_S,
        gateways=replicas,
        keys=("app", "app", "person", "nodes"),
        strangers=0.0,
        mannered=0.2,
        placed=0.1,
        tokens_max=chance.pick((20, 60, 200)),
    )
    return Draft(
        level=level,
        replicas=replicas,
        vendors=tuple(_vendor(chance, f"cloud-{letter}") for letter in "ab"[: chance.between(1, 2)]),
        nodes=nodes,
        keys=(KeyDraft("app"), KeyDraft("person", interactive=True), KeyDraft("nodes", ("nodes_only",))),
        queue_timeout_ms=chance.pick((300, 2000, 2000, 8000)),
        round_robin=chance.happens(0.2),
        epoch_open=chance.happens(0.9),
        knobs=Knobs(noise=chance.pick((0.0, 0.2, 0.5)), idle_s=chance.pick((3.0, 20.0)), first_token_s=20.0),
        calls=draw_calls(seed.child("calls"), mix),
        faults=plan,
        runs_s=FLEET_S,
    )


def _machines(seed: Seed, level: Level) -> Draft:
    return limited(fleet_of(seed, level), seed)


def _longer(fault: Fault) -> Fault:
    if fault.kind == "lag":
        return replace(fault, amount=LONGER * fault.amount)
    if fault.kind not in NODE_KINDS:
        return fault
    return replace(fault, lasts_s=round(min(LONGER * fault.lasts_s, FLEET_S - fault.at_s), 3))


def _machine(chance: Chance, name: str) -> NodeDraft:
    slots = chance.between(1, 3)
    return NodeDraft(
        name,
        engine=chance.pick((*Engine, Engine.AGENT)),
        slots=slots,
        real_slots=chance.pick((None, None, None, 1)),
        slots_told=chance.pick((None, None, 4)),
        window=chance.pick((None, 8192)),
        first_token_s=chance.pick((0.1, 0.5)),
        token_s=chance.pick((0.02, 0.05, 0.15)),
    )


EXPLORERS = (
    Scenario("explore", "all drawn, over HTTP", (), partial(_explored, level=Level.WIRE), nothing_special),
    Scenario("explore-ports", "all drawn, ports only", (), partial(_explored, level=Level.PORTS), nothing_special),
    Scenario("storm", "targets that are never well for long", (), storm_of, nothing_special),
    Scenario("fleet", "machines with too few slots", (), partial(_machines, level=Level.PORTS), nothing_special),
    Scenario(
        "fleet-wire", "the same over HTTP and RESP", (), partial(_machines, level=Level.WIRE), nothing_special
    ),
)
