"""Each behaviour is taken out of a journal that had it; who looks for it must not find it any more."""

import pytest

from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.run import run
from sim.scenarios.limits.all_of_them import LIMIT_SCENARIOS
from tests.sim.scenarios.altered import Change, altered, saying, without

SCENARIOS = {scenario.id: scenario for scenario in LIMIT_SCENARIOS}


def counting(**members: int) -> Change:
    """Let the store always say this."""
    return saying("quota_seen", {}, **members)


def less_settled(fact: Fact) -> Fact:
    if fact.kind != "quota_seen":
        return fact
    return Fact(fact.at, fact.kind, fact.host, {**fact.members, "settled": fact.number("settled") - 1})


def dearer(fact: Fact) -> Fact:
    """Let every attempt cost ten times as much."""
    if fact.kind != "usage":
        return fact
    return Fact(fact.at, fact.kind, fact.host, {**fact.members, "cost_picos": 10 * fact.number("cost_picos")})


def told(status: int, code: str, /, **members: str) -> Change:
    """Let calls that ended with this code say something else."""
    return saying("call_ended", {"status": status, "code": code}, **members)


MISSING: dict[str, tuple[str, Change]] = {
    "the rate was never in force": ("fr1-rates", saying("call_ended", {"status": 429}, code="overloaded")),
    "nobody was told when to come back": ("fr1-rates", told(429, "rate_limit_exceeded", retry_after="")),
    "nobody was counted out": ("fr1-rates", without("quota_unknown")),
    "calls of the outage are not flagged": ("fr2-open", saying("usage", {}, uncounted=False)),
    "calls of the outage failed": ("fr2-open", saying("call_ended", {"status": 200}, outcome="error", status=503)),
    "what was not counted is never made up for": ("fr2-open", less_settled),
    "the budget was not used up": ("fr2-open", told(429, "budget_exceeded", code="rate_limit_exceeded")),
    "closed calls are refused as broken": ("fr3-closed", told(503, "budget_unavailable", code="overloaded")),
    "closed calls are not told to come back": ("fr3-closed", told(503, "budget_unavailable", retry_after="")),
    "a closed call was paid": (
        "fr3-closed",
        lambda fact: (
            Fact(fact.at, "asked", "cloud-a", {**fact.members, "exchange": 1, "target": "x", "cloud": True})
            if fact.kind == "call_sent"
            else fact
        ),
    ),
    "something stays reserved": ("fr10-limits", counting(reserved=5)),
    "a call is counted off twice": ("fr10-limits", counting(running=-1)),
    "what ended in the outage is forgotten": ("fr10-limits", less_settled),
    "it was not used again": ("fr10-limits", without("quota_settled")),
    "nobody read the ledger": ("fr11-limits", without("quota_raised")),
    "it was not known that the store knows nothing": ("fr11-limits", without("quota_unread")),
    "the ledger said too little": ("fr11-limits", saying("quota_raised", {}, day_micros=0)),
    "the budget was exceeded": ("fr11-limits", dearer),
    "rates were forgotten with the dollars": (
        "fr11-untold",
        told(429, "rate_limit_exceeded", code="overloaded"),
    ),
    "who passed is not flagged": ("fr11-untold", saying("usage", {}, uncounted=False)),
    "nothing was reserved for who passed": ("fr11-untold", without("quota_reserved")),
    "the crowd spent too much": ("s36-crowd", dearer),
    "nobody of the crowd was refused": ("s36-crowd", told(429, "budget_exceeded", code="overloaded")),
    "nobody of the crowd was answered": ("s36-crowd", saying("call_ended", {"status": 200}, outcome="cut")),
    "nothing was given back": ("s36-crowd", counting(reserved=1000)),
    "those cut off are not flagged": ("s37-half", saying("usage", {}, uncounted=False)),
    "nobody else counted": ("s37-half", without("quota_settled")),
    "what was settled became less": ("s37-half", counting(settled=0)),
    "afterwards all is open again": ("s37-half", told(429, "budget_exceeded", code="overloaded")),
    "nobody was killed": ("fg3-reservations", without("host_crashed")),
    "what the dead held was granted at once": (
        "fg3-reservations",
        told(429, "rate_limit_exceeded", code="overloaded"),
    ),
    "the dead hold it for ever": ("fg3-reservations", counting(running=5)),
    "the dead are counted off at once": ("fg3-reservations", counting(running=0)),
    "every answer was booked": ("s25-unsettled", without("told")),
    "the reservation stays": ("s25-unsettled", counting(running=20)),
    "an event came twice": ("s25-unsettled", saying("usage", {}, event_id="the same")),
}


@pytest.fixture(scope="module")
def journals() -> dict[str, Journal]:
    return {scenario.id: run(scenario, 1).journal for scenario in LIMIT_SCENARIOS}


@pytest.mark.parametrize("what", MISSING)
def test_a_behaviour_that_is_not_there_is_not_seen(what: str, journals: dict[str, Journal]) -> None:
    name, change = MISSING[what]
    assert [*SCENARIOS[name].seen(journals[name])]
    assert not [*SCENARIOS[name].seen(altered(journals[name], change))]
