"""Each behaviour is taken out of a journal that had it; who looks for it must not find it any more."""

import pytest

from sim.journal.journal import Journal
from sim.run import run
from sim.scenarios.books.all_of_them import BOOK_SCENARIOS
from tests.sim.scenarios.altered import Change, altered, later, saying, without

SCENARIOS = {scenario.id: scenario for scenario in BOOK_SCENARIOS}
AWAY = {"code": "auth_unavailable"}

MISSING: dict[str, tuple[str, Change]] = {
    "a known key was cut off": ("fp1-known-keys", saying("call_ended", {"outcome": "done"}, outcome="cut")),
    "a known key got a 503": (
        "fp1-known-keys",
        saying("call_ended", {"outcome": "done"}, outcome="error", status=503, code="auth_unavailable"),
    ),
    "no call came with a known key": ("fp1-known-keys", saying("call_sent", {}, key="stranger")),
    "nobody was ever told that the database is away": ("fp1-known-keys", saying("keys_asked", {}, answer="found")),
    "an unverified key got a 401": (
        "fp2-other-keys",
        saying("call_ended", AWAY, status=401, code="invalid_api_key"),
    ),
    "a 503 came without Retry-After": ("fp2-other-keys", saying("call_ended", AWAY, retry_after="")),
    "only strangers came": ("fp2-other-keys", saying("call_sent", {}, key="stranger")),
    "a verification took a second longer": ("fp3-hung", later("call_ended", 1.0, **AWAY)),
    "every call was told at once": ("fp3-hung", later("call_ended", -3.0, **AWAY)),
    "known keys waited too": ("fp3-hung", later("asked", 2.0)),
    "nobody waited for a look-up": ("fp3-hung", saying("keys_asked", {"answer": "hung"}, ids="a b")),
    "the age of the snapshot stands still": (
        "fp4-snapshot",
        saying("gauge", {"name": "snapshot_age_s"}, value=1.0),
    ),
    "the snapshot has no age": ("fp4-snapshot", without("gauge", name="snapshot_age_s")),
    "calls fail while it is old": (
        "fp4-snapshot",
        saying("call_ended", {"status": 200}, status=503, outcome="error", code="config_unavailable"),
    ),
    "there was nothing newer": ("fp4-snapshot", without("catalogue_applied")),
    "the call was let through": ("fp5-idempotency", saying("call_ended", {"status": 503}, status=200)),
    "another code": (
        "fp5-idempotency",
        saying("call_ended", {"code": "idempotency_unavailable"}, code="auth_unavailable"),
    ),
    "no call of that kind came": ("fp5-idempotency", saying("call_sent", {"once": True}, once=False)),
    "unready in the window": ("fp6-degraded", saying("readyz", {"state": "degraded"}, status=503)),
    "ready without a word": ("fp6-degraded", saying("readyz", {"state": "degraded"}, state="ok")),
    "no probe in the window": ("fp6-degraded", without("readyz", state="degraded")),
    "still ready after the window": ("fp7-unready", saying("readyz", {"state": "unready"}, status=200)),
    "no probe after the window": ("fp7-unready", without("readyz", state="unready")),
    "keys work after the window": (
        "fp7-unready",
        saying("call_ended", AWAY, status=200, outcome="done", code=""),
    ),
    "keys verify late": ("fp8-back", later("keys_asked", 2.5, answer="found")),
    "the old snapshot stays": ("fp8-back", without("gauge", name="snapshot_version")),
    "it does not get ready": ("fp8-back", saying("readyz", {"state": "ok"}, state="degraded")),
    "calls fail when it is back": ("fp8-back", saying("call_ended", {"status": 200}, status=503)),
    "nothing was said of the saved snapshot": ("fp9-saved", without("log", name="started_from_saved_snapshot")),
    "a saved snapshot without a word in readiness": (
        "fp9-saved",
        saying("readyz", {"state": "degraded"}, reasons=""),
    ),
    "ready past the window of what was saved": ("fp9-saved", saying("readyz", {"state": "unready"}, status=200)),
    "a saved key got a 503": (
        "fp9-saved",
        saying("call_ended", {"status": 200}, outcome="error", status=503, code="auth_unavailable"),
    ),
    "a key got a 401 at a start": ("fp9-saved", saying("call_ended", AWAY, status=401, code="invalid_api_key")),
    "saved keys work past their window": (
        "fp9-saved",
        saying("call_ended", AWAY, status=200, outcome="done", code=""),
    ),
    "nobody was started again": ("fp9-saved", without("host_up")),
    "ready without a snapshot": ("fp9-waits", saying("readyz", {"state": "unready"}, status=200)),
    "a key got a 401 without a snapshot": (
        "fp9-waits",
        saying("call_ended", AWAY, status=401, code="invalid_api_key"),
    ),
    "it never got well": ("fp9-waits", saying("readyz", {"state": "ok"}, state="degraded")),
    "an old file without a word": ("fp9-old", without("log", name="saved_snapshot_unusable")),
    "an old file was served": ("fp9-old", saying("readyz", {"state": "unready"}, status=200, state="degraded")),
    "a key got a 401 at the start": (
        "s07-down-at-start",
        saying("call_ended", AWAY, status=401, code="invalid_api_key"),
    ),
    "the door opened in half an hour": (
        "s08-half-hour",
        saying("call_ended", AWAY, status=200, outcome="done", code=""),
    ),
    "known keys were cut off in half an hour": (
        "s08-half-hour",
        saying("call_ended", {"status": 200}, status=503, outcome="error", code="auth_unavailable"),
    ),
    "no usage event waited": ("s08-half-hour", without("gauge", name="usage_waiting")),
    "the old snapshot stays after half an hour": ("s08-half-hour", without("gauge", name="snapshot_version")),
    "a revoked key works": ("fp11-unheard", saying("call_ended", {"status": 401}, status=200, outcome="done")),
    "a revoked key is not said to be invalid": (
        "fp11-unheard",
        saying("call_ended", {"status": 401}, status=503, code="auth_unavailable"),
    ),
    "others are refused with it": ("fp11-unheard", saying("call_ended", {"status": 200}, status=401)),
    "everybody was told": ("fp11-unheard", saying("key_revoked", {}, heard=True)),
    "a revoked key works past its window": (
        "fp11-away",
        saying("call_ended", AWAY, status=200, outcome="done", code=""),
    ),
    "it never is invalid": (
        "fp11-away",
        saying("call_ended", {"status": 401}, status=503, code="auth_unavailable"),
    ),
    "a connection was always free": ("fp10-full", without("places_full")),
    "there were more connections": ("fp10-full", saying("places_full", {}, in_use=26)),
    "waiting took a second longer": ("fp10-full", later("call_ended", 1.0, **AWAY)),
    "known keys waited for a connection": ("fp10-full", later("asked", 2.0)),
    "keys do not verify when it is free": ("fp10-full", saying("call_ended", {"status": 200}, status=503)),
    "nothing was said of the bad catalogue": ("s30-bad-catalogue", without("log", name="snapshot_refused")),
    "the good one never came into force": ("s30-bad-catalogue", without("gauge", name="snapshot_version")),
    "calls fail under it": ("s30-bad-catalogue", saying("call_ended", {"status": 200}, status=404)),
}


@pytest.fixture(scope="module")
def journals() -> dict[str, Journal]:
    return {scenario.id: run(scenario, 1).journal for scenario in BOOK_SCENARIOS}


@pytest.mark.parametrize("what", MISSING)
def test_a_behaviour_that_is_not_there_is_not_seen(what: str, journals: dict[str, Journal]) -> None:
    name, change = MISSING[what]
    assert [*SCENARIOS[name].seen(journals[name])]
    assert not [*SCENARIOS[name].seen(altered(journals[name], change))]


def test_a_bad_snapshot_that_came_into_force_is_not_refused_whole(journals: dict[str, Journal]) -> None:
    journal = journals["s30-bad-catalogue"]
    bad = next(fact for fact in journal.of("catalogue_applied") if not fact.has("valid"))
    taken = altered(journal, saying("gauge", {"name": "snapshot_version"}, value=bad.members["version"]))
    assert not [*SCENARIOS["s30-bad-catalogue"].seen(taken)]


def test_a_snapshot_that_is_swapped_while_the_database_is_away_does_not_stay(journals: dict[str, Journal]) -> None:
    journal = journals["fp4-snapshot"]
    until = max(fact.at for fact in journal.of("fault") if fact.members["fault"] != "new_catalogue")
    swap = next(fact for fact in journal.of("gauge") if fact.at > until and fact.has("value"))
    early = altered(journal, later("gauge", until - swap.at - 1.0, name="snapshot_version"))
    assert not [*SCENARIOS["fp4-snapshot"].seen(early)]


def test_a_stampede_is_seen(journals: dict[str, Journal]) -> None:
    journal = journals["fp8-back"]
    doubled = altered(journal, lambda fact: fact)
    back_at = max(fact.at for fact in journal.of("fault") if not fact.has("on") and fact.members["target"] == "")
    doubled.facts.extend(
        fact
        for fact in journal.of("keys_asked")
        if back_at <= fact.at < back_at + 2 and len(fact.text("ids").split()) == 1
    )
    assert not [*SCENARIOS["fp8-back"].seen(doubled)]


def test_replicas_in_step_are_seen(journals: dict[str, Journal]) -> None:
    journal = journals["fp8-back"]
    hosts = sorted({fact.host for fact in journal.of("keys_asked")})
    leader = altered(journal, lambda fact: None if fact.kind == "keys_asked" and fact.host != hosts[0] else fact)
    for fact in [*leader.of("keys_asked")]:
        for host in hosts[1:]:
            leader.facts.append(type(fact)(fact.at, fact.kind, host, fact.members))
    assert not [*SCENARIOS["fp8-back"].seen(leader)]


def test_two_look_ups_of_one_key_at_once_are_seen(journals: dict[str, Journal]) -> None:
    journal = journals["fp3-hung"]
    doubled = altered(journal, lambda fact: fact)
    doubled.facts.extend(fact for fact in journal.of("keys_asked") if fact.members["answer"] == "hung")
    assert not [*SCENARIOS["fp3-hung"].seen(doubled)]
