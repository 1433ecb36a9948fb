"""Each behaviour is taken out of a journal that had it; who looks for it must not find it any more."""

import pytest

from sim.journal.journal import Journal
from sim.run import run
from sim.scenarios.overload.all_of_them import OVERLOAD_SCENARIOS
from tests.sim.scenarios.altered import Change, altered, later, saying, without

SCENARIOS = {scenario.id: scenario for scenario in OVERLOAD_SCENARIOS}
REFUSED = {"code": "overloaded"}

MISSING: dict[str, tuple[str, Change]] = {
    "refusals are late": ("fg6-overload", later("call_ended", 1.0, **REFUSED)),
    "refusals say no time": ("fg6-overload", saying("call_ended", REFUSED, retry_after=None)),
    "probes are not answered": ("fg6-overload", saying("readyz", {}, ready=False, status=0)),
    "nobody probed": ("fg6-overload", without("readyz")),
    "nobody is refused": ("fg6-overload", saying("call_ended", REFUSED, code="draining")),
    "who was taken is not answered": ("fg6-overload", saying("call_ended", {"status": 200}, outcome="cut")),
    "refusals are not counted": ("fg6-overload", without("counted", name="calls_shed")),
    "the stall is not measured": ("fg7-still", without("gauge", name="loop_lag_s")),
    "it is measured too long": ("fg7-still", saying("gauge", {"name": "loop_lag_s"}, value=30.0)),
    "it is not counted": ("fg7-still", without("counted", name="loop_blocked")),
    "the log says nothing": ("fg7-still", without("log", name="loop_blocked")),
    "calls are cut by the stall": ("s21-still", saying("call_ended", {"outcome": "done"}, outcome="cut")),
    "ended leases are believed in": ("s21-still", saying("lease_renewed", {}, how="kept")),
    "newcomers are taken late": ("fg8-files", later("call_begun", 5.0)),
    "newcomers are cut": ("fg8-files", saying("call_ended", {"status": 200}, outcome="cut")),
    "who is connected is told nothing": ("fg8-files", saying("call_ended", REFUSED, retry_after=None)),
    "who is connected waits": ("fg8-files", later("call_ended", 0.5, **REFUSED)),
    "no descriptor was lacked": ("fg8-files", without("descriptor_lacked", what="accept")),
    "a target is blamed": ("fg8-files", saying("call_ended", REFUSED, code="upstream_error")),
    "no lease was held": ("s21-still", later("lease_taken", 60.0)),
}


def test_fg8_a_port_that_looks_all_the_time_is_seen_to(journals: dict[str, Journal]) -> None:
    journal = journals["fg8-files"]
    often = altered(journal, lambda fact: fact)
    often.facts.extend(fact for fact in journal.of("descriptor_lacked") for _ in range(3))
    assert not [*SCENARIOS["fg8-files"].seen(often)]


@pytest.fixture(scope="module")
def journals() -> dict[str, Journal]:
    return {scenario.id: run(scenario, 1).journal for scenario in OVERLOAD_SCENARIOS}


@pytest.mark.parametrize("what", MISSING)
def test_a_behaviour_that_is_not_there_is_not_seen(what: str, journals: dict[str, Journal]) -> None:
    name, change = MISSING[what]
    assert [*SCENARIOS[name].seen(journals[name])]
    assert not [*SCENARIOS[name].seen(altered(journals[name], change))]
