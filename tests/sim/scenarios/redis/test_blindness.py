"""Each behaviour is taken out of a journal that had it; who looks for it must not find it any more."""

import pytest

from sim.journal.journal import Journal
from sim.run import run
from sim.scenarios.redis.all_of_them import REDIS_SCENARIOS
from tests.sim.scenarios.altered import Change, altered, saying, without

SCENARIOS = {scenario.id: scenario for scenario in REDIS_SCENARIOS}
CUT = saying("call_ended", {"outcome": "done"}, outcome="cut")

MISSING: dict[str, tuple[str, Change]] = {
    "calls fail while it refuses": ("fr12-refusing", CUT),
    "nobody passed a node over": ("fr12-refusing", without("record")),
    "the counts are wrong for good": ("fr12-refusing", saying("slots_seen", {}, busy=90)),
    "one of the errors never came": ("s06-own-errors", without("fault", fault="redis_full")),
    "calls of the nodes alone hang": (
        "s06-own-errors",
        saying("call_ended", {"code": "node_state_unknown"}, code="upstream_timeout", status=504),
    ),
    "the nodes are not used again": ("s06-own-errors", saying("record", {}, attempts="cloud-a/=ok")),
    "lost scripts are not loaded": (
        "s06-own-errors",
        saying("fault", {"fault": "redis_readonly"}, fault="redis_forgets_scripts"),
    ),
    "nobody says that it is unfit": ("fr13-unfit", without("log", name="redis_unfit")),
    "it is said by the way": ("fr13-unfit", saying("log", {"name": "redis_unfit"}, level="info")),
    "it is not said what to do": ("fr13-unfit", saying("log", {"name": "redis_unfit"}, text="no")),
    "no replica starts meanwhile": ("fr13-unfit", without("host_up")),
    "known keys are refused": ("s10-worst", CUT),
    "nobody is told that nodes are unknown": (
        "s10-worst",
        saying("call_ended", {"code": "node_state_unknown"}, code="auth_unavailable"),
    ),
    "Postgres was there all the time": ("s10-worst", without("fault", fault="postgres_away")),
    "nothing converges": ("s10-worst", saying("record", {}, attempts="cloud-a/=ok")),
}


@pytest.fixture(scope="module")
def journals() -> dict[str, Journal]:
    return {scenario.id: run(scenario, 1).journal for scenario in REDIS_SCENARIOS}


@pytest.mark.parametrize("what", MISSING)
def test_a_behaviour_that_is_not_there_is_not_seen(what: str, journals: dict[str, Journal]) -> None:
    name, change = MISSING[what]
    assert [*SCENARIOS[name].seen(journals[name])]
    assert not [*SCENARIOS[name].seen(altered(journals[name], change))]
