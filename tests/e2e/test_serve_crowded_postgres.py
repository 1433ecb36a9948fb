"""`ktms serve` and a Postgres whose connections are all in use, or that dies in a change (FP10, FP12).

Each story happens once, in a fixture that notes what was seen; a test states one fact of it.
"""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import asyncpg
import psutil
import pytest

from ktms.adapters.memory.entropy import SeededEntropy
from ktms.domain.access.key_form import KeyKind, make_key
from tests.e2e import declared
from tests.e2e.cloud import Cloud
from tests.e2e.conftest import NewHome
from tests.e2e.own_postgres import Postgres, Seen, chat, seconds_until
from tests.e2e.program import Done
from tests.e2e.serve_process import Replica, one_model, prepared, serving
from tests.e2e.waiting import until

pytestmark = pytest.mark.service

CONNECTIONS_MAX = 25
"""Of one replica, that on which it hears news among them (FP10)."""

KEYS = 40
"""More than there are connections: each look-up needs one of its own."""

LOOKUP_S = 3.0
"""A verification is bounded to this in all, waiting for a connection included (FP3)."""

BACK_WITHIN_S = 2.0
"""Keys verify within this once the table is free (FP8)."""

SLACK_S = 1.5
"""For a loaded machine, on which forty clients start at once."""

GONE_WITHIN_S = 1.0
"""The server looks four times a second whether somebody is still there."""

OURS = "select count(*) as found from pg_stat_activity where application_name = 'ktms'"
EVERY_ONE = "select count(*) as found from pg_stat_activity where application_name like 'ktms%'"
WAITING = f"{OURS} and wait_event_type = 'Lock'"


def token(number: int) -> str:
    return make_key(KeyKind.CLIENT, SeededEntropy(f"key-{number}").token_bytes)


def named(number: int) -> dict[str, object]:
    return declared.client_key(f"key-{number}", token(number))


def connections(replica: Replica, postgres: Postgres) -> int:
    """Count the connections that the process holds to the database."""
    held = psutil.Process(replica.program.process.pid).net_connections(kind="tcp")
    return sum(1 for each in held if each.raddr[1:] == (postgres.port,))


@dataclass
class Full:
    """What was seen while somebody held the table of keys."""

    most: int
    left_s: float
    crowd: list[Seen]
    known: Seen
    alive: int
    back: list[Seen]
    on_server: int


@dataclass
class Failover:
    """What was seen of a change in which Postgres died, and of the same change afterwards."""

    failed: Done
    before: list[tuple[str, ...]]
    after: list[tuple[str, ...]]
    again: Done
    at_last: list[tuple[str, ...]]


@pytest.fixture(scope="module")
def postgres(new_home: NewHome) -> Iterator[Postgres]:
    with asyncio.Runner() as runner:
        server = Postgres(new_home().folder, runner)
        server.start()
        yield server
        server.stop()


@pytest.fixture(scope="module")
def replica(postgres: Postgres, new_home: NewHome, vendor_cloud: Cloud) -> Iterator[Replica]:
    with serving(new_home().folder, postgres.url, {"KTMS_DRAIN_DELAY_S": "0"}) as replica:
        prepared(replica)
        keys = [named(number) for number in range(KEYS + 1)]
        replica.apply("first", **{**one_model(vendor_cloud), "client_keys": keys})
        until(lambda: chat(replica, token(KEYS)).answer.status == 200, "the model is served")
        yield replica


@pytest.fixture(scope="module")
def full(postgres: Postgres, replica: Replica) -> Full:
    with postgres.holding("client_key", "access exclusive"), ThreadPoolExecutor(KEYS) as clients:
        asked = [clients.submit(chat, replica, token(number)) for number in range(KEYS)]
        most, known, alive, on_server = 0, None, 0, 0
        while not all(each.done() for each in asked):
            most = max(most, connections(replica, postgres))
            if most >= CONNECTIONS_MAX and known is None:
                known, page = chat(replica, token(KEYS)), replica.page("/healthz")
                alive = 0 if page is None else page.status
                on_server = int(postgres.sql(EVERY_ONE)[0]["found"])
        crowd = [each.result() for each in asked]
        left_s = seconds_until(lambda: postgres.sql(WAITING)[0]["found"] == 0, "nothing waits in vain", 10)
    assert known is not None, "there never were as many connections as there may be"
    with ThreadPoolExecutor(KEYS) as clients:
        back = list(clients.map(lambda number: chat(replica, token(number)), range(KEYS)))
    return Full(most, left_s, crowd, known, alive, back, on_server)


@pytest.fixture(scope="module")
def failover(postgres: Postgres, replica: Replica, vendor_cloud: Cloud, full: Full) -> Failover:
    del full
    before = stored(postgres)
    wanted = declared.write_gateway(
        replica.home / "second.yaml",
        vendors=[declared.vendor(vendor_cloud.url), {**declared.vendor(vendor_cloud.url), "name": "another"}],
        models=[declared.cloud_model(), declared.cloud_model("another-model")],
        client_keys=[declared.client_key("another", token(100))],
    )
    with postgres.holding("policy", "exclusive"), ThreadPoolExecutor(1) as operator:
        applying = operator.submit(replica.ktms, "apply", "-f", wanted)
        until(lambda: postgres.sql(WAITING)[0]["found"] == 1, "the change waits in its middle")
        postgres.die()
        failed = applying.result()
    until(lambda: answers(postgres), "Postgres has recovered")
    after = stored(postgres)
    until(lambda: replica.readiness()[1]["status"] == "ok", "the replica is sound")
    again = replica.ktms("apply", "-f", wanted)
    return Failover(failed, before, after, again, stored(postgres))


def answers(postgres: Postgres) -> bool:
    try:
        return bool(postgres.sql("select 1"))
    except (OSError, asyncpg.PostgresError):
        return False


def stored(postgres: Postgres) -> list[tuple[str, ...]]:
    """Give all that a change of the catalogue writes: names by table, the version, the entries of the audit."""
    tables = ("vendor", "model", "client_key")
    found = [tuple(row["name"] for row in postgres.sql(f"select name from {one} order by name")) for one in tables]  # noqa: S608 - constants
    (version,) = postgres.sql("select version from catalogue_version")
    (keys,) = postgres.sql("select count(*) as found from vendor_key")
    (audit,) = postgres.sql("select count(*) as found from audit")
    return [*found, (str(version["version"]), str(keys["found"]), str(audit["found"]))]


def test_fp10_there_are_never_more_connections_than_allowed(full: Full) -> None:
    assert full.most == CONNECTIONS_MAX


def test_fp10_the_server_counts_no_more_either(full: Full) -> None:
    assert 2 <= full.on_server <= CONNECTIONS_MAX


def test_fp10_what_was_given_up_does_not_stay_on_the_server(full: Full) -> None:
    assert full.left_s < GONE_WITHIN_S + SLACK_S


def test_fp10_a_key_that_cannot_be_looked_up_gets_503_within_the_bound(full: Full) -> None:
    assert {(seen.answer.status, seen.answer.code) for seen in full.crowd} == {(503, "auth_unavailable")}
    assert max(seen.seconds for seen in full.crowd) < LOOKUP_S + SLACK_S


def test_fp10_a_known_key_works_meanwhile(full: Full) -> None:
    assert full.known.answer.status == 200


def test_fp10_it_is_alive_meanwhile(full: Full) -> None:
    assert full.alive == 200


def test_fp10_every_key_verifies_at_once_when_the_table_is_free(full: Full) -> None:
    assert {seen.answer.status for seen in full.back} == {200}
    assert max(seen.seconds for seen in full.back) < BACK_WITHIN_S + SLACK_S


def test_fp12_the_operator_is_told_that_the_change_failed(failover: Failover) -> None:
    assert failover.failed.code == 1
    assert failover.failed.err


def test_fp12_nothing_of_the_change_is_stored(failover: Failover) -> None:
    assert failover.after == failover.before


def test_fp12_the_same_change_is_stored_whole_afterwards(failover: Failover) -> None:
    assert failover.again.code == 0, failover.again.err
    vendors, models, keys, _ = failover.at_last
    assert ("another" in vendors, "another-model" in models, "another" in keys) == (True, True, True)
