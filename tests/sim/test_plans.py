"""Plans and workloads that Hypothesis draws: what it finds it shrinks to the few faults and calls that matter.

Decisions that matter are drawn by Hypothesis; background chance comes from one seed, which does not shrink well.
The explorers (`sim swarm`) draw all from seeds; this is the other way into the same worlds.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.draft import CallDraft, Draft, Engine, Level, Manner, NodeDraft, VendorDraft
from sim.draft_rules import NEEDS_BYTES
from sim.faults.draw import AMOUNTS
from sim.faults.plan import KINDS, Fault, On, Plan
from sim.run import run
from sim.scenarios.scenario import Scenario, nothing_special

RUNS_S = 30.0

TARGETS = ("cloud-a", "cloud-b", "node-0")
NAMES = {
    On.TARGET: TARGETS,
    On.NODE: ("node-0",),
    On.PAIR: tuple(f"{gateway}>{target}" for gateway in ("gw1", "gw2") for target in TARGETS),
    On.GATEWAY: ("gw1", "gw2"),
    On.POSTGRES: ("",),
    On.LEDGER: ("",),
    On.REDIS: ("",),
    On.OPERATOR: ("",),
}

seconds = st.integers(0, int(RUNS_S) - 1).map(float)


@st.composite
def faults(draw: st.DrawFn) -> Fault:
    kind = draw(st.sampled_from(sorted(KINDS)))
    low, high = AMOUNTS.get(kind, (0.0, 0.0))
    amount = draw(st.integers(int(low), int(high))) or low
    target = draw(st.sampled_from(NAMES[KINDS[kind].on]))
    return Fault(kind, target, draw(seconds), 1.0 + draw(seconds), float(amount))


@st.composite
def calls(draw: st.DrawFn) -> CallDraft:
    return CallDraft(
        at_s=draw(seconds),
        gateway=draw(st.integers(0, 1)),
        streamed=draw(st.booleans()),
        tokens=draw(st.integers(1, 60)),
        manner=draw(st.sampled_from(Manner)),
        after=float(draw(st.integers(1, 5))),
        placement=draw(st.sampled_from((None, "nodes_only", "cloud_only"))),
    )


def world(level: Level, plan: Plan, asked: list[CallDraft]) -> Scenario:
    draft = Draft(
        level=level,
        replicas=2,
        vendors=(VendorDraft("cloud-a"), VendorDraft("cloud-b")),
        nodes=(NodeDraft("node-0", Engine.OLLAMA, slots=1),),
        calls=tuple(sorted(asked, key=lambda call: call.at_s)),
        faults=tuple(fault for fault in plan if level is Level.WIRE or fault.kind not in NEEDS_BYTES),
        runs_s=RUNS_S,
    )
    return Scenario("drawn", "drawn by Hypothesis", (), lambda _: draft, nothing_special)


@pytest.mark.timeout(600)  # sixty worlds: ten seconds alone, minutes where other work shares the processors
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    level=st.sampled_from(Level),
    plan=st.lists(faults(), max_size=6),
    asked=st.lists(calls(), min_size=1, max_size=12),
    seed=st.integers(0, 9),
)
def test_no_plan_and_no_workload_breaks_an_invariant(
    level: Level, plan: list[Fault], asked: list[CallDraft], seed: int
) -> None:
    outcome = run(world(level, tuple(plan), asked), seed).outcome
    assert outcome.ok, (outcome.violations, outcome.broken)
