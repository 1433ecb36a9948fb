"""`ktms serve` and its accounting, in its own database and in a service of its own: FL1, FL4, FL6, FL7."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import declared
from tests.e2e.cloud import Cloud
from tests.e2e.conftest import NewDatabase, NewHome
from tests.e2e.http import CHAT, ask, saying
from tests.e2e.ledger_process import LedgerProcess, ledger_service
from tests.e2e.program import KTMS, environment, run
from tests.e2e.serve_process import Replica, one_model, prepared, serving
from tests.e2e.waiting import now, until

pytestmark = pytest.mark.service

AT_ONCE_S = 1.0
"""A call of the mock vendor takes milliseconds."""


def used(replica: Replica) -> int:
    """How many attempts `ktms admin usage` knows of."""
    done = replica.ktms("admin", "usage", "--by", "model", "--json")
    assert done.code == 0, done.err
    rows: list[dict[str, Any]] = json.loads(done.out)
    return sum(row["attempts"] for row in rows)


def chat(replica: Replica, key: str, count: int) -> None:
    for _ in range(count):
        began_at = now()
        assert ask(replica.url, CHAT, key=key, body=saying("hi", model=declared.CLOUD)).status == 200
        assert now() - began_at < AT_ONCE_S


def ready(replica: Replica, cloud: Cloud) -> str:
    """Declare one model, and give a key for it."""
    prepared(replica)
    replica.apply("gateway", **one_model(cloud))
    key = replica.new_key("app")
    until(lambda: replica.readiness()[0] == 200, "it is ready")
    return key


@pytest.fixture
def home(new_home: NewHome) -> Path:
    return new_home().folder


@pytest.fixture
def ledger(home: Path, new_database: NewDatabase) -> Iterator[LedgerProcess]:
    with ledger_service(home, new_database()) as service:
        yield service


def test_without_a_service_usage_lies_in_the_gateways_own_database(
    home: Path, new_database: NewDatabase, vendor_cloud: Cloud
) -> None:
    with serving(home, new_database()) as replica:
        chat(replica, ready(replica, vendor_cloud), 3)
        until(lambda: used(replica) == 3, "all is booked")


def test_a_gateway_that_is_stopped_sends_what_it_has(
    home: Path, new_database: NewDatabase, vendor_cloud: Cloud, ledger: LedgerProcess
) -> None:
    database_url, variables = new_database(), {"KTMS_LEDGER_ADDR": ledger.address, "KTMS_DRAIN_DELAY_S": "0"}
    with serving(home, database_url, variables) as replica:
        chat(replica, ready(replica, vendor_cloud), 5)
        assert replica.program.stop().code == 0
    with serving(home, database_url, variables) as replica:
        prepared(replica)
        assert used(replica) == 5


def test_calls_do_not_notice_a_ledger_that_is_gone_and_a_killed_gateway_loses_nothing(
    home: Path, new_database: NewDatabase, vendor_cloud: Cloud, ledger: LedgerProcess
) -> None:
    database_url = new_database()
    variables = {"KTMS_LEDGER_ADDR": ledger.address, "KTMS_SPOOL_DIR": str(home / "spool")}
    ledger.program.stop()
    with serving(home, database_url, variables) as replica:
        chat(replica, ready(replica, vendor_cloud), 5)
        until(lambda: replica.metric("ktms_usage_events_waiting") == 5, "it is told that events wait")
        assert replica.metric('ktms_dependency_up{dependency="ledger"}') == 0
        assert replica.readiness()[0] == 200
        refused = replica.ktms("admin", "usage")
        assert (refused.code, refused.err) == (1, "ktms: the ledger does not answer\n")
        replica.program.signal(signal.SIGKILL)
        replica.program.ended()
    ledger.start()
    ledger.until_healthy()
    with serving(home, database_url, variables) as replica:
        prepared(replica)
        until(lambda: used(replica) == 5, "the next process sends what waited on disk")
        assert replica.metric("ktms_usage_events_dropped_total") in (None, 0)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "KTMS_DATABASE_URL: not set: where is the ledger's Postgres?"),
        (
            {"KTMS_LEDGER_ADDR": "0.0.0.0:0", "KTMS_DATABASE_URL": "postgres://x"},
            "plain text on 0.0.0.0:0",
        ),
        (
            {"KTMS_LEDGER_TLS_CERT": "/none", "KTMS_LEDGER_TLS_KEY": "/none", "KTMS_DATABASE_URL": "postgres://x"},
            "cannot read /none",
        ),
        ({"KTMS_LEDGER_TLS_CERT": "/none", "KTMS_DATABASE_URL": "postgres://x"}, "KTMS_LEDGER_TLS_KEY: not set"),
    ],
    ids=["database", "plain", "certificate", "half"],
)
def test_a_service_that_cannot_run_says_why(home: Path, variables: dict[str, str], said: str) -> None:
    done = run([KTMS, "ledger"], environment(home, **variables))
    assert (done.code, said in done.err) == (1, True), done.err


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (
            {"KTMS_LEDGER_ADDR": "ledger.example.com:9191"},
            "to ledger.example.com:9191 in plain text",
        ),
        ({"KTMS_LEDGER_ADDR": "127.0.0.1:1", "KTMS_LEDGER_TLS_CA": "/none"}, "cannot read /none"),
        ({"KTMS_SPOOL_DIR": "/proc/none"}, "KTMS_SPOOL_DIR: cannot use /proc/none"),
    ],
    ids=["plain", "authority", "spool"],
)
def test_a_gateway_that_cannot_reach_its_ledger_safely_says_why(
    home: Path, variables: dict[str, str], said: str
) -> None:
    base = {"KTMS_DATABASE_URL": "postgres://x", "KTMS_ENCRYPTION_KEYS": "a:" + "A" * 42 + "E"}
    done = run([KTMS, "serve"], environment(home, **base, **variables))
    assert (done.code, said in done.err) == (1, True), done.err
