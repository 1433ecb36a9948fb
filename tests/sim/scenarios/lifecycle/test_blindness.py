"""Each behaviour is taken out of a journal that had it; who looks for it must not find it any more."""

from dataclasses import replace

import pytest

from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.run import run
from sim.scenarios.lifecycle.all_of_them import LIFECYCLE_SCENARIOS
from tests.sim.scenarios.altered import Change, altered, later, saying, without

SCENARIOS = {scenario.id: scenario for scenario in LIFECYCLE_SCENARIOS}
LAST_WORD = {"code": "draining"}

MISSING: dict[str, tuple[str, Change]] = {
    "readiness stays on": ("fg1-sigterm", saying("readyz", {"state": "draining"}, status=200, ready=True)),
    "nobody asked for readiness": ("fg1-sigterm", without("readyz")),
    "calls over the grace are cut without a word": (
        "fg1-sigterm",
        saying("call_ended", LAST_WORD, outcome="cut", code=""),
    ),
    "running calls fail": ("fg1-sigterm", saying("call_ended", {"outcome": "done"}, outcome="cut")),
    "usage is lost": ("fg1-sigterm", without("usage", status="cancelled")),
    "the process does not end cleanly": ("fg1-sigterm", saying("host_stopped", {}, clean=False)),
    "it ends far too late": ("fg1-sigterm", later("host_stopped", 5.0)),
    "calls are turned away at once": ("fg1-sigterm", without("asked")),
    "a second signal is waited out": ("fg2-sigterm-twice", later("host_stopped", 3.0)),
    "it claims to have ended in order": ("fg2-sigterm-twice", saying("host_stopped", {}, clean=True)),
    "nobody gets a last word": ("fg2-sigterm-twice", saying("call_ended", LAST_WORD, outcome="cut", code="")),
    "no process follows": ("fg2-sigterm-twice", without("host_up")),
    "the clock jumps forward only": ("fg5-wall-clock", lambda fact: _only(fact, forward=True)),
    "the clock jumps back only": ("fg5-wall-clock", lambda fact: _only(fact, forward=False)),
    "a timer fires with the jump": ("fg5-wall-clock", later("told", -2.0, status=0)),
    "a breaker is let go early": (
        "fg5-wall-clock",
        later("gauge", -5.0, name="breaker_state", value=1),
    ),
    "a call took hours by its record": ("fg5-wall-clock", saying("record", {"status": 200}, total_s=7200.0)),
    "a duration is negative": ("fg5-wall-clock", saying("usage", {"status": "ok"}, duration_s=-3600.0)),
    "the window never closes": ("fg5-wall-clock", saying("readyz", {"state": "unready"}, status=200)),
    "the window closes at once": ("fg5-wall-clock", saying("readyz", {"state": "degraded"}, status=503)),
    "a rest is forgotten": ("fg5-wall-clock", later("told", 8.0, status=429)),
    "of many streams one more is cut without a word": (
        "s26-streams",
        saying("call_ended", LAST_WORD, outcome="cut", code=""),
    ),
    "of many streams the usage is lost": ("s26-streams", without("usage", status="cancelled")),
    "the clocks agree after all": ("s19-wall-jump", without("fault", fault="wall_jump")),
    "a call took hours": ("s19-wall-jump", saying("record", {"status": 200}, total_s=3600.0)),
    "an attempt ended before it began": ("s19-wall-jump", saying("usage", {"status": "ok"}, duration_s=-3600.0)),
    "usage hides what time it was": ("s19-wall-jump", saying("usage", {}, started_at=0.0)),
    "one replica refuses nobody": ("s19-wall-jump", lambda fact: _but_of(fact, "quota_refused", "gw2")),
    "a replica tells waits of its own clock": ("s20-apart", lambda fact: _waits_more(fact, "gw2", 5000.0)),
    "nobody is refused": ("s20-apart", without("quota_refused")),
    "the crowd is let through": ("s31-herd", saying("call_ended", {"code": "no_target_available"}, code="")),
    "nobody waits": ("s31-herd", without("call_sent")),
    "no trial fails": ("s31-herd", saying("gauge", {"name": "breaker_state", "value": 2}, value=0)),
    "the upstream goes on without its client": ("s33-leavers", later("told", 1.5, how="left")),
    "a slot is kept": ("s33-leavers", later("lease_released", 5.0)),
    "a reader that stalls is not cut": ("s33-leavers", saying("call_ended", {"outcome": "cut"}, outcome="done")),
    "it is cut long after": ("s33-leavers", later("usage", 20.0, status="cancelled")),
    "it is cut at once": ("s33-leavers", later("usage", -10.0, status="cancelled")),
    "the buffer has no bound": ("s33-leavers", saying("sample", {}, buffered_bytes=4 << 20)),
    "the buffer was never full": ("s33-leavers", saying("sample", {}, buffered_bytes=1000)),
}


def _only(fact: Fact, *, forward: bool) -> Fact | None:
    jumped = fact.kind == "fault" and fact.members["fault"] == "wall_jump"
    return None if jumped and (fact.number("amount") > 0) is not forward else fact


def _but_of(fact: Fact, kind: str, host: str) -> Fact | None:
    return None if (fact.kind, fact.host) == (kind, host) else fact


def _waits_more(fact: Fact, host: str, more_ms: float) -> Fact:
    if (fact.kind, fact.host) != ("quota_refused", host):
        return fact
    return replace(fact, members={**fact.members, "wait_ms": fact.number("wait_ms") + more_ms})


@pytest.fixture(scope="module")
def journals() -> dict[str, Journal]:
    return {scenario.id: run(scenario, 1).journal for scenario in LIFECYCLE_SCENARIOS}


@pytest.mark.parametrize("what", MISSING)
def test_a_behaviour_that_is_not_there_is_not_seen(what: str, journals: dict[str, Journal]) -> None:
    name, change = MISSING[what]
    assert [*SCENARIOS[name].seen(journals[name])]
    assert not [*SCENARIOS[name].seen(altered(journals[name], change))]


def test_a_second_trial_beside_the_first_is_seen(journals: dict[str, Journal]) -> None:
    journal = journals["s31-herd"]
    trial_at = next(
        fact.at
        for fact in journal.of("gauge")
        if fact.members["name"] == "breaker_state" and fact.members["value"] == 1
    )
    asked = next(fact for fact in journal.of("asked") if fact.at >= trial_at)
    herd = altered(journal, lambda fact: fact)
    herd.facts.append(
        Fact(asked.at + 0.01, "asked", asked.host, {**asked.members, "exchange": 10**6, "call": "7"})
    )
    assert not [*SCENARIOS["s31-herd"].seen(herd)]


def test_a_call_let_through_while_the_breaker_is_open_is_seen(journals: dict[str, Journal]) -> None:
    journal = journals["s31-herd"]
    open_at = next(
        fact.at
        for fact in journal.of("gauge")
        if fact.members["name"] == "breaker_state" and fact.members["value"] == 2
    )
    asked = next(iter(journal.of("asked")))
    leaky = altered(journal, lambda fact: fact)
    leaky.facts.append(Fact(open_at + 5.0, "asked", asked.host, {**asked.members, "exchange": 10**6}))
    assert not [*SCENARIOS["s31-herd"].seen(leaky)]
