"""`ktms serve` and its Postgres, stopped, hung and started again: what docs/operations.md promises (FP1 to FP9).

Each story happens once, in a fixture that notes what was seen; a test states one fact of it.
"""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from tests.e2e import declared
from tests.e2e.cloud import Cloud
from tests.e2e.conftest import NewHome
from tests.e2e.http import Answer
from tests.e2e.own_postgres import Postgres, Seen, chat, seconds_until
from tests.e2e.serve_process import Replica, one_model, prepared, serving
from tests.e2e.waiting import until

pytestmark = pytest.mark.service

KEY_WINDOW_S = 10.0
"""The least that KTMS_KEY_WINDOW_S takes."""

LOOKUP_S = 3.0
"""A verification is bounded to this in all (FP3)."""

BACK_WITHIN_S = 2.0
"""Keys verify within this once Postgres answers again (FP8)."""

NOTICED_WITHIN_S = 8.0
"""Readiness learns of an outage from the next verification of keys, every 5 s with jitter, within its bound."""

SLACK_S = 1.0
"""For a loaded machine."""


@dataclass
class Outage:
    """What was seen in one life of a replica."""

    ready_at_first: Any
    known: Seen
    other: Seen
    degraded: tuple[int, Any]
    snapshot_age_s: float
    unready: tuple[int, Any]
    known_after_window: Seen
    alive: Answer
    back_s: float
    ready_s: float
    known_at_last: Seen
    refreshed: Answer
    hung_known: Seen
    hung_others: list[Seen]
    hung_back_s: float
    errors: float
    log: str


def at_once(replica: Replica, key: str, count: int) -> list[Seen]:
    with ThreadPoolExecutor(count) as clients:
        return list(clients.map(lambda _: chat(replica, key), range(count)))


@pytest.fixture(scope="module")
def postgres(new_home: NewHome) -> Iterator[Postgres]:
    with asyncio.Runner() as runner:
        server = Postgres(new_home().folder, runner)
        server.start()
        yield server
        server.stop()


@pytest.fixture(scope="module")
def outage(postgres: Postgres, new_home: NewHome, vendor_cloud: Cloud) -> Outage:
    window = {"KTMS_KEY_WINDOW_S": str(KEY_WINDOW_S), "KTMS_DRAIN_DELAY_S": "0"}
    with serving(new_home().folder, postgres.url, window) as replica:
        prepared(replica)
        replica.apply("first", **one_model(vendor_cloud))
        known, other, third = (replica.new_key(name) for name in ("known", "other", "third"))
        until(lambda: chat(replica, known).answer.status == 200, "the model is served")
        until(lambda: replica.readiness()[1]["status"] == "ok", "it is ready")
        story: dict[str, Any] = {"ready_at_first": replica.readiness()}
        _stopped(replica, postgres, known, other, story)
        _started(replica, postgres, known, other, story, vendor_cloud)
        _hung(replica, postgres, known, third, story)
        replica.program.stop()
        return Outage(**story, log=replica.program.out)


def _stopped(replica: Replica, postgres: Postgres, known: str, other: str, story: dict[str, Any]) -> None:
    postgres.stop()
    story["known"] = chat(replica, known)
    story["other"] = chat(replica, other)
    until(lambda: replica.readiness()[1]["status"] == "degraded", "readiness notices", NOTICED_WITHIN_S)
    story["degraded"] = replica.readiness()
    until(lambda: replica.readiness()[0] == 503, "the window closes", KEY_WINDOW_S + NOTICED_WITHIN_S)
    story["unready"] = replica.readiness()
    story["known_after_window"] = chat(replica, known)
    story["snapshot_age_s"] = replica.metric("ktms_snapshot_age_seconds")
    story["alive"] = replica.page("/healthz")
    story["errors"] = sum(
        replica.metric(
            f'ktms_dependency_errors_total{{dependency="postgres",kind="{kind}",operation="find_keys"}}'
        )
        or 0
        for kind in ("away", "timeout")
    )


def _started(
    replica: Replica, postgres: Postgres, known: str, other: str, story: dict[str, Any], cloud: Cloud
) -> None:
    postgres.start()
    story["back_s"] = seconds_until(lambda: chat(replica, other).answer.status == 200, "keys verify", 10)
    story["ready_s"] = seconds_until(lambda: replica.readiness()[1]["status"] == "ok", "readiness is back", 10)
    story["known_at_last"] = chat(replica, known)
    replica.apply("second", **{**one_model(cloud), "models": [declared.cloud_model("later")]})
    until(lambda: chat(replica, known, "later").answer.status == 200, "the new model is served")
    story["refreshed"] = chat(replica, known, "later").answer


def _hung(replica: Replica, postgres: Postgres, known: str, third: str, story: dict[str, Any]) -> None:
    with postgres.hung():
        story["hung_known"] = chat(replica, known)
        story["hung_others"] = at_once(replica, third, 8)
    story["hung_back_s"] = seconds_until(lambda: chat(replica, third).answer.status == 200, "keys verify", 10)


def test_before_the_outage_it_is_ready(outage: Outage) -> None:
    assert outage.ready_at_first[0] == 200
    assert outage.ready_at_first[1]["status"] == "ok"


def test_fp1_a_key_verified_lately_works(outage: Outage) -> None:
    assert outage.known.answer.status == 200


def test_fp2_another_key_cannot_be_told_which_is_not_unauthorised(outage: Outage) -> None:
    assert (outage.other.answer.status, outage.other.answer.code) == (503, "auth_unavailable")


def test_fp2_it_says_when_to_come_again(outage: Outage) -> None:
    assert int(outage.other.answer.headers["retry-after"]) > 0


def test_fp3_a_key_verified_lately_works_while_postgres_hangs(outage: Outage) -> None:
    assert outage.hung_known.answer.status == 200


def test_fp3_a_verification_is_bounded_while_postgres_hangs(outage: Outage) -> None:
    assert {(seen.answer.status, seen.answer.code) for seen in outage.hung_others} == {(503, "auth_unavailable")}
    assert max(seen.seconds for seen in outage.hung_others) < LOOKUP_S + SLACK_S


def test_fp3_keys_verify_again_when_it_goes_on(outage: Outage) -> None:
    assert outage.hung_back_s < BACK_WITHIN_S + SLACK_S


def test_fp4_the_snapshot_stays_and_its_age_is_told(outage: Outage) -> None:
    assert outage.degraded[1]["snapshot"] == outage.unready[1]["snapshot"] > 0
    assert outage.snapshot_age_s > KEY_WINDOW_S / 2, "as old as at the last look, which comes every 5 s"


def test_fp6_it_stays_ready_while_the_window_is_open(outage: Outage) -> None:
    assert outage.degraded[0] == 200
    assert outage.degraded[1]["reasons"] == ["postgres_away"]


def test_fp7_it_is_unready_after_the_window(outage: Outage) -> None:
    assert outage.unready[0] == 503
    assert "key_window_closed" in outage.unready[1]["reasons"]


def test_fp7_after_the_window_a_key_cannot_be_told_either(outage: Outage) -> None:
    assert outage.known_after_window.answer.code == "auth_unavailable"


def test_it_stays_alive_all_the_time(outage: Outage) -> None:
    assert outage.alive.status == 200


def test_the_outage_is_counted_for_the_alert(outage: Outage) -> None:
    assert outage.errors > 0


def test_fp8_keys_verify_within_two_seconds_when_it_is_back(outage: Outage) -> None:
    assert outage.back_s < BACK_WITHIN_S
    assert outage.known_at_last.answer.status == 200


def test_fp8_readiness_is_back_with_the_keys(outage: Outage) -> None:
    assert outage.ready_s < BACK_WITHIN_S


def test_fp8_the_snapshot_refreshes_again(outage: Outage) -> None:
    assert outage.refreshed.json["model"] == "later"


def test_no_traceback_and_no_secret_is_in_the_log(outage: Outage) -> None:
    assert "Traceback" not in outage.log
    assert declared.VENDOR_KEY not in outage.log
    assert "ktms_sk_" not in outage.log


def test_fp9_without_postgres_at_start_it_waits_alive_and_unready(
    postgres: Postgres, new_home: NewHome, outage: Outage
) -> None:
    postgres.stop()
    try:
        with serving(new_home().folder, postgres.url, {"KTMS_DRAIN_DELAY_S": "0"}) as replica:
            status, told = replica.readiness()
            assert (status, told["status"]) == (503, "unready")
            assert "no_snapshot" in told["reasons"]
            postgres.start()
            until(lambda: replica.readiness()[0] == 200, "it is ready by itself", 10)
            assert replica.program.stop().code == 0
    finally:
        if not postgres.running:
            postgres.start()
