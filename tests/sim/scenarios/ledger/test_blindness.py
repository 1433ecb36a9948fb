"""Each behaviour is taken out of a journal that had it; who looks for it must not find it any more."""

import pytest

from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.run import run
from sim.scenarios.ledger.all_of_them import LEDGER_SCENARIOS
from tests.sim.scenarios.altered import Change, altered, later, saying, without

SCENARIOS = {scenario.id: scenario for scenario in LEDGER_SCENARIOS}


def one_row_more(fact: Fact) -> Fact:
    if fact.kind != "usage_kept":
        return fact
    return Fact(fact.at, fact.kind, fact.host, {**fact.members, "rows": fact.number("rows") + 1})


def never_kept(fact: Fact) -> Fact | None:
    return None if fact.kind == "usage_kept" else fact


MISSING: dict[str, tuple[str, Change]] = {
    "nobody was ever told that the ledger is away": ("fl1-away", without("dependency_failed")),
    "nothing was used while it was away": ("fl1-away", without("usage")),
    "what waited never came": ("fl1-away", never_kept),
    "it came while the ledger was away": ("fl1-away", later("usage_kept", -15.0)),
    "calls waited for the ledger": ("fl1-away", later("asked", 2.0)),
    "calls failed with the ledger": ("fl1-away", saying("call_ended", {}, outcome="error", status=503)),
    "nothing was dropped": ("fl2-full", without("usage_dropped")),
    "what was not dropped never came": ("fl2-full", never_kept),
    "something was dropped in spite of the disk": (
        "fl2-spool",
        lambda fact: (
            Fact(fact.at, "usage_dropped", "gw1", {"ids": fact.text("event_id")}) if fact.kind == "usage" else fact
        ),
    ),
    "what was on disk never came": ("fl2-spool", never_kept),
    "no send was given up": ("fl3-hung", without("dependency_failed")),
    "a send was given up late": ("fl3-hung", later("dependency_failed", 1.0)),
    "a send was given up early": ("fl3-hung", later("dependency_failed", -1.0)),
    "calls waited for the slow ledger": ("fl3-hung", later("asked", 2.0)),
    "it took too long to drain": ("fl4-back", later("usage_kept", 10.0)),
    "a row was doubled": ("fl4-back", one_row_more),
    "nobody noticed that the answer was lost": ("fl5-forgetful", without("dependency_failed")),
    "a repeat made a row": ("fl5-forgetful", one_row_more),
    "nothing came twice": ("s22-twice", without("usage_kept", again=True)),
    "a row for what came twice": ("s22-twice", one_row_more),
    "everything came in order": ("s23-disorder", without("usage_kept", again=True)),
    "what waited was lost by the kill": ("fl6-killed", never_kept),
    "nobody was killed": ("fl6-killed", without("host_crashed")),
    "the books were still open": ("fl7-leaves", later("usage_kept", 30.0)),
    "it was gone late": ("fl7-leaves", later("host_stopped", 10.0)),
    "some were dropped at the end": (
        "fl7-leaves",
        lambda fact: (
            Fact(fact.at, "usage_dropped", "gw1", {"ids": fact.text("event_id")}) if fact.kind == "usage" else fact
        ),
    ),
    "what did not fit was lost in silence": ("s24-hours", never_kept),
    "draining starved the calls": ("s24-hours", later("asked", 2.0)),
}


@pytest.fixture(scope="module")
def journals() -> dict[str, Journal]:
    return {scenario.id: run(scenario, 1).journal for scenario in LEDGER_SCENARIOS}


@pytest.mark.parametrize("what", MISSING)
def test_a_behaviour_that_is_not_there_is_not_seen(what: str, journals: dict[str, Journal]) -> None:
    name, change = MISSING[what]
    assert [*SCENARIOS[name].seen(journals[name])]
    assert not [*SCENARIOS[name].seen(altered(journals[name], change))]
