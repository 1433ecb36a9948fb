"""Each behaviour is taken out of a journal that had it; who looks for it must not find it any more."""

from functools import cache

import pytest

from sim.journal.journal import Journal
from sim.run import run
from sim.scenarios.fleet.nodes.all_of_them import NODE_SCENARIOS
from tests.sim.scenarios.altered import Change, altered, later, saying, without

SCENARIOS = {scenario.id: scenario for scenario in NODE_SCENARIOS}
SEED = 3

HEALTHY_ALWAYS = saying("gauge", {"name": "node_health"}, value=0)

MISSING: dict[str, tuple[str, Change]] = {
    "FN1: the stream ends well": (
        "fn1-power-ports",
        saying("call_ended", {"outcome": "error_event"}, outcome="done"),
    ),
    "FN1: nobody takes it for ill": ("fn1-power-ports", HEALTHY_ALWAYS),
    "FN1: its slot is kept": ("fn1-power-ports", without("lease_released", node="node-0")),
    "FN1: it stays off": ("fn1-power-ports", without("fault", fault="power_off", on=False)),
    "FN2: nobody else answers": (
        "FN2-ports",
        saying("call_ended", {"outcome": "done"}, text="nothing of the kind"),
    ),
    "FN2: it counts as an attempt that costs": (
        "FN2-ports",
        saying("usage", {"target": "node-0"}, completion_tokens=3),
    ),
    "FN2: it never was full": ("FN2-ports", without("fault_active", id="FN2")),
    "FN3: running answers are cut": ("FN3-ports", saying("told", {"target": "node-0"}, finished=False)),
    "FN3: new calls go there": ("FN3-ports", saying("asked", {}, target="node-0")),
    "FN4: it is never loaded": ("FN4-ports", without("model_loaded")),
    "FN4: nobody loads it": ("FN4-ports", without("log", name="model_loading")),
    "FN4: the call is told no reason": ("FN4-ports", saying("record", {}, attempts="cloud-a/=ok")),
    "FN5: its text reaches the client": ("FN5-ports", saying("call_ended", {"outcome": "done"}, text="1.1 ")),
    "FN5: it stays in good standing": ("FN5-ports", HEALTHY_ALWAYS),
    "FN7: the looks are believed": ("FN7-ports", without("log", name="probe_distrusted")),
    "FN7: nobody is taken down": ("FN7-ports", HEALTHY_ALWAYS),
    "S14: it is ejected": ("s14-slow", saying("gauge", {"name": "node_health", "label": "node-0"}, value=2)),
    "S14: it gets its full share": ("s14-slow", saying("asked", {"target": "node-1"}, target="node-0")),
    "S14: it gets nothing": ("s14-slow", without("asked", target="node-0")),
    "S15: no time to come again": (
        "S15-ports",
        saying("call_ended", {"code": "no_node_available"}, retry_after=""),
    ),
    "S15: the cloud is asked for everybody": ("S15-ports", saying("asked", {}, cloud=True)),
    "S35: somebody waits for ever": ("s35-burst", saying("record", {"code": None}, queue_s=9.0)),
    "S35: nobody is sent on": ("s35-burst", saying("record", {"vendor": "cloud-a"}, forecast_s=3.0)),
    "S35: the cloud is asked late": ("s35-burst", later("asked", 1.0, target="cloud-a")),
    "S35: the line has no bound": ("s35-burst", without("waiter_left")),
    "S41: one gets nothing": ("s41-shares", saying("asked", {"target": "node-2"}, target="node-1")),
    "S41: the slow one gets nothing": ("s41-shares", saying("asked", {"target": "node-0"}, target="node-1")),
    "S41: only those in a hurry are served": ("s41-shares", saying("call_sent", {"key": "app"}, key="person")),
    "S42: the cloud is asked": ("s42-confined", saying("asked", {}, cloud=True)),
    "S42: nobody is turned away": ("s42-confined", saying("call_ended", {"status": 503}, code="upstream_error")),
    "S43: the second model is never asked": ("s43-chain", saying("asked", {"target": "node-1"}, target="node-0")),
    "S43: the cloud is asked": ("s43-chain", saying("asked", {}, cloud=True)),
    "S44: it is loaded again and again": ("s44-all-cold", saying("asked", {}, call="")),
    "S44: nobody is turned away": ("s44-all-cold", saying("call_ended", {"status": 503}, code="upstream_error")),
    "S45: nobody knew": ("s45-forecasts-1", saying("record", {}, forecast_s=None)),
    "S45: each is told the same": ("s45-forecasts-1", saying("record", {"code": None}, forecast_s=0.5)),
}


@cache
def journal_of(name: str) -> Journal:
    done = run(SCENARIOS[name], SEED)
    assert done.outcome.ok, done.outcome
    return done.journal


@pytest.mark.parametrize("case", MISSING)
def test_what_is_missing_is_missed(case: str) -> None:
    name, change = MISSING[case]
    scenario = SCENARIOS[name]
    assert set(scenario.seen(journal_of(name))) == set(scenario.proves)
    assert set(scenario.seen(altered(journal_of(name), change))) == set()


def test_every_scenario_at_the_ports_has_a_case() -> None:
    wire = {name for name in SCENARIOS if f"{name}-ports" in SCENARIOS} | {"s42-confined-wire", "s45-forecasts-3"}
    assert {name for name, _ in MISSING.values()} == set(SCENARIOS) - wire
