"""Each behaviour is taken out of a journal that had it; who looks for it must not find it any more."""

from dataclasses import replace

import pytest

from sim.journal.fact import Fact, Value
from sim.journal.journal import Journal
from sim.run import run
from sim.scenarios.fleet.leases.all_of_them import LEASE_SCENARIOS
from tests.sim.scenarios.altered import Change, altered, later, saying, without

SCENARIOS = {scenario.id: scenario for scenario in LEASE_SCENARIOS if scenario.proves}
UNKNOWN: dict[str, Value] = {"code": "node_state_unknown"}
CUT = saying("call_ended", {"outcome": "done"}, outcome="cut")


def counting(more: int) -> Change:
    """Let the store always count so many slots more."""

    def change(fact: Fact) -> Fact:
        if fact.kind != "slots_seen":
            return fact
        return replace(fact, members={**fact.members, "busy": fact.number("busy") + more})

    return change


def both(first: Change, second: Change) -> Change:
    """Change twice."""

    def change(fact: Fact) -> Fact | None:
        changed = first(fact)
        return None if changed is None else second(changed)

    return change


def passing_over_nobody(fact: Fact) -> Fact:
    """Let records say nothing of nodes that were passed over."""
    if fact.kind != "record" or not fact.text("attempts").startswith("local/=unknown|"):
        return fact
    attempts = fact.text("attempts").removeprefix("local/=unknown|")
    return replace(fact, members={**fact.members, "attempts": attempts})


def nobody_else(fact: Fact) -> Fact | None:
    """Leave out all calls but the first."""
    return None if fact.kind == "call_sent" and fact.members["call"] != "0" else fact


def by_the_cloud(fact: Fact) -> Fact:
    """Let all calls have been asked of a cloud."""
    if fact.kind != "asked" or fact.host != "mac":
        return fact
    return replace(fact, host="cloud-a", members={**fact.members, "target": "cloud-a"})


MISSING: dict[str, tuple[str, str, Change]] = {
    "the node is not asked at its new address": ("fn6-moved", "FN6", by_the_cloud),
    "a call in between fails": ("fn6-moved", "FN6", CUT),
    "nodes were not passed over": ("redis-away", "FR5", passing_over_nobody),
    "calls that the cloud may answer are cut": ("redis-away", "FR5", CUT),
    "it is told as something else": (
        "redis-away",
        "FR6",
        saying("call_ended", UNKNOWN, code="no_node_available"),
    ),
    "it does not say when to come again": ("redis-away", "FR6", saying("call_ended", UNKNOWN, retry_after="")),
    "Redis is never tried again": ("redis-away", "FR7", without("redis_met")),
    "nobody stops asking": ("redis-away", "FR7", saying("leases_unknown", {}, failure="timeout")),
    "the store counts too much in the end": ("redis-away", "FR10", counting(9)),
    "nodes are not used again": ("redis-away", "FR10", without("usage", vendor="local")),
    "unready without Redis": ("redis-away", "FR14", saying("readyz", {"state": "degraded"}, status=503)),
    "ready without a word": ("redis-away", "FR14", saying("readyz", {"state": "degraded"}, state="ok")),
    "degraded for ever": ("redis-away", "FR14", saying("readyz", {"state": "ok"}, state="degraded")),
    "each call waits for Redis": ("redis-hung", "FR8", later("asked", 0.1, cloud=True)),
    "nobody ever waited": (
        "redis-hung",
        "FR8",
        both(later("asked", -0.1, cloud=True), later("call_ended", -0.1, **UNKNOWN)),
    ),
    "the metric stays up": ("redis-hung", "S01", saying("gauge", {"name": "dependency_up"}, value=1)),
    "the metric stays down": ("redis-hung", "S01", saying("gauge", {"name": "dependency_up"}, value=0)),
    "answers under way are cut": ("redis-hung", "S01", CUT),
    "each call waits for a slow Redis": ("redis-slow", "FR9", later("asked", 0.1, cloud=True)),
    "a slow Redis is not told": ("redis-slow", "FR9", without("readyz", state="degraded")),
    "nodes are not used while it is slow": ("redis-nearly-slow", "S04", later("asked", -0.09, cloud=False)),
    "calls wait for it again and again": ("redis-nearly-slow", "S04", later("asked", 0.1)),
    "slots stay taken after it": ("redis-nearly-slow", "S04", counting(9)),
    "grants are asked for in a storm": (
        "redis-nearly-slow",
        "S04",
        saying("leases_unknown", {}, operation="take"),
    ),
    "nothing was counted unheard": ("redis-lost-replies", "S05", saying("slots_seen", {}, busy=0)),
    "a slot leaks": ("redis-lost-replies", "S05", counting(1)),
    "not every slot serves": ("redis-lost-replies", "S05", saying("setting", {"name": "slots:node-0"}, value=9)),
    "those who did not hear are not answered": ("redis-lost-replies", "S05", CUT),
    "running answers lose their slots": ("redis-empty", "S02", saying("lease_renewed", {}, how="kept")),
    "they are taken up again too late": ("redis-empty", "S02", later("lease_renewed", 6.0)),
    "they are cut": ("redis-empty", "S02", CUT),
    "lost grants are not found": ("redis-failover", "S03", saying("lease_renewed", {}, how="kept")),
    "an answer is cut for it": ("redis-failover", "S03", CUT),
    "the slots of the dead are free at once": ("fg3-killed", "FG3", saying("slots_seen", {}, busy=0)),
    "they stay taken for longer": ("fg3-killed", "FG3", counting(1)),
    "an event comes twice": ("fg3-killed", "FG3", saying("usage", {}, event_id="the same")),
    "the answer is cut": ("s17-renewal-lost", "S17", CUT),
    "nobody came meanwhile": ("s17-renewal-lost", "S17", nobody_else),
    "a lease that had ended is kept": ("s18-renewal-race", "S18", saying("lease_renewed", {}, how="kept")),
    "a raced answer is cut": ("s18-renewal-race", "S18", CUT),
    "an older agent is heard": (
        "s39-join-storm",
        "S39",
        saying("announced", {"status": 409}, status=200, code=""),
    ),
    "a machine of an older agent is asked": ("s39-join-storm", "S39", saying("asked", {}, target="old-node-1")),
    "nobody was fenced off": ("s39-join-storm", "S39", without("announced", status=409)),
    "replicas know other nodes": (
        "s39-join-storm",
        "S39",
        without("gauge", name="node_slots_busy", label="node-7"),
    ),
}


@pytest.fixture(scope="module")
def journals() -> dict[str, Journal]:
    return {name: run(scenario, 1).journal for name, scenario in SCENARIOS.items()}


@pytest.mark.parametrize("what", MISSING)
def test_a_behaviour_that_is_not_there_is_not_seen(what: str, journals: dict[str, Journal]) -> None:
    name, proven, change = MISSING[what]
    assert proven in SCENARIOS[name].seen(journals[name])
    assert proven not in [*SCENARIOS[name].seen(altered(journals[name], change))]


def also(journal: Journal, *facts: Fact) -> Journal:
    """Copy a journal with these facts in it, each at its time."""
    copy = altered(journal, lambda fact: fact)
    copy.facts.extend(facts)
    copy.facts.sort(key=lambda fact: fact.at)
    return copy


def test_a_redis_that_is_asked_again_and_again_is_not_left_alone(journals: dict[str, Journal]) -> None:
    journal = journals["redis-away"]
    again = [replace(fact, at=fact.at + 1.0) for fact in journal.of("redis_met") if fact.members["how"] != "kept"]
    assert "FR7" not in [*SCENARIOS["redis-away"].seen(also(journal, *again))]


def test_a_vendor_that_is_asked_for_nodes_alone_is_seen(journals: dict[str, Journal]) -> None:
    journal = journals["redis-away"]
    refused = next(fact for fact in journal.of("call_ended") if fact.members["code"] == UNKNOWN["code"])
    asked = next(fact for fact in journal.of("asked") if fact.has("cloud"))
    members = {**asked.members, "call": refused.members["call"], "exchange": 999}
    asked_too = replace(asked, at=refused.at, members=members)
    assert "FR6" not in [*SCENARIOS["redis-away"].seen(also(journal, asked_too))]


def granted_at(journal: Journal, at: float) -> Fact:
    """Make a grant that nobody should have been given."""
    grant = next(journal.of("lease_taken"))
    return replace(grant, at=at, members={**grant.members, "lease": "one-too-many"})


def test_a_slot_granted_by_a_redis_that_knows_nothing_is_seen(journals: dict[str, Journal]) -> None:
    journal = journals["redis-empty"]
    back_at = max(fact.at for fact in journal.of("fault") if fact.text("fault").startswith("redis"))
    seen = [*SCENARIOS["redis-empty"].seen(also(journal, granted_at(journal, back_at + 2.0)))]
    assert "FR11" not in seen


@pytest.mark.parametrize("name", ["s17-renewal-lost", "s18-renewal-race"])
def test_a_slot_granted_before_the_count_fits_is_seen(name: str, journals: dict[str, Journal]) -> None:
    journal = journals[name]
    found = next(fact for fact in journal.of("lease_renewed") if fact.members["how"] in ("over", "regained"))
    assert not [*SCENARIOS[name].seen(also(journal, granted_at(journal, found.at + 1.0)))]


def test_a_slot_of_the_dead_granted_to_others_is_seen(journals: dict[str, Journal]) -> None:
    journal = journals["fg3-killed"]
    died_at = next(journal.of("host_crashed")).at
    grant = replace(granted_at(journal, died_at + 3.0), host="gw2")
    release = replace(grant, at=grant.at + 0.2, kind="lease_released", members={**grant.members, "drain_s": 0.0})
    assert not [*SCENARIOS["fg3-killed"].seen(also(journal, grant, release))]
