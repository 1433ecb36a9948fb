"""Each behaviour is taken out of a journal that had it; who looks for it must not find it any more."""

import pytest

from sim.edit import Edit
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.run import run
from sim.scenarios.again.all_of_them import AGAIN_SCENARIOS
from tests.sim.scenarios.altered import Change, altered, later, saying, without

SCENARIOS = {scenario.id: scenario for scenario in AGAIN_SCENARIOS}


def paid_twice(fact: Fact) -> Fact:
    if fact.kind != "usage" or fact.members["status"] == "ok":
        return fact
    return Fact(fact.at, fact.kind, fact.host, {**fact.members, "status": "ok"})


MISSING: dict[str, tuple[str, Change]] = {
    "a kept answer was given without Redis": ("fr4-cache-away", saying("record", {"cache": "miss"}, cache="hit")),
    "nothing was ever given again": ("fr4-cache-away", saying("record", {"cache": "hit"}, cache="miss")),
    "calls fail without Redis": (
        "fr4-cache-away",
        saying("call_ended", {"status": 200}, outcome="error", status=503),
    ),
    "nobody asked during the outage": ("fr4-cache-away", without("fault")),
    "each call fetched for itself": ("s32-hot-question", saying("record", {"cache": "hit"}, cache="miss")),
    "a replica fetched twice at a time": ("s32-hot-question", later("told", 5.0, how="whole")),
    "those who waited waited too long": ("s32-hot-question", later("call_ended", 30.0, status=200)),
    "those who waited got an error": (
        "s32-hot-question",
        saying("call_ended", {"status": 200}, outcome="error", status=504),
    ),
    "a call was paid twice": ("s34-same-word", paid_twice),
    "clients of one word got two answers": (
        "s34-same-word",
        lambda fact: (
            Fact(fact.at, fact.kind, fact.host, {**fact.members, "text": f"answer of {fact.members['call']}"})
            if fact.kind == "call_ended" and fact.members["status"] == 200
            else fact
        ),
    ),
    "another body was answered": ("s34-same-word", saying("call_ended", {"status": 422}, status=200)),
    "nobody was told to come back": ("s34-same-word", saying("call_ended", {"status": 409}, status=503)),
    "a killed call was made again": (
        "s34-same-word",
        saying("call_ended", {"status": 409}, status=200, outcome="done"),
    ),
    "a call ran though nobody could tell": (
        "s34-same-word",
        saying("call_ended", {"code": "idempotency_unavailable"}, status=200, outcome="done"),
    ),
    "another error was told": (
        "s34-same-word",
        saying("call_ended", {"code": "idempotency_conflict"}, code="upstream_error"),
    ),
}


@pytest.fixture(scope="module")
def journals() -> dict[str, Journal]:
    return {scenario.id: run(scenario, 1).journal for scenario in AGAIN_SCENARIOS}


@pytest.mark.parametrize("what", MISSING)
def test_a_behaviour_that_is_not_there_is_not_seen(what: str, journals: dict[str, Journal]) -> None:
    name, change = MISSING[what]
    assert [*SCENARIOS[name].seen(journals[name])]
    assert not [*SCENARIOS[name].seen(altered(journals[name], change))]


@pytest.mark.parametrize("name", ["fr4-cache-away", "s32-hot-question"])
def test_without_the_fault_nothing_is_shown(name: str) -> None:
    assert not [*SCENARIOS[name].seen(run(SCENARIOS[name], 2, Edit(faults=())).journal)]
