"""How `ktms serve` leaves: unready at once, open for the balancer, running answers finished or told (FG1, FG2)."""

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import declared
from tests.e2e.cloud import Cloud
from tests.e2e.conftest import NewDatabase, NewHome
from tests.e2e.http import CHAT, Answer, Stream, ask, data_of, saying, streaming
from tests.e2e.ports import listens
from tests.e2e.program import Done
from tests.e2e.serve_process import Replica, home_with_a_model, serving
from tests.e2e.waiting import now, until

pytestmark = pytest.mark.service

DELAY_S = 2.0
SHUTDOWN_S = 1.5

AT_ONCE_S = 0.5
"""From the signal to the first refusing /readyz; a balancer asks every second or so."""

SLACK_S = 1.5
"""For a loaded machine."""


@pytest.fixture(scope="module")
def database(new_database: NewDatabase) -> str:
    return new_database()


@pytest.fixture(scope="module")
def folder(new_home: NewHome, database: str, vendor_cloud: Cloud) -> Path:
    return home_with_a_model(new_home().folder, database, vendor_cloud)


@contextmanager
def running(folder: Path, database: str, variables: Mapping[str, str]) -> Iterator[Replica]:
    with serving(folder, database, variables) as replica:
        until(lambda: replica.readiness()[1]["status"] == "ok", "it is ready")
        yield replica


@contextmanager
def answering(replica: Replica, said: str) -> Iterator[Stream]:
    """A stream whose first word has come."""
    with streaming(replica.url, declared.APP_KEY, saying(said, model=declared.CLOUD)) as stream:
        while "cloudy" not in (stream.event() or "the end: cloudy never came"):
            pass
        yield stream


@dataclass(frozen=True)
class Leave:
    """What was seen of a replica with one answer that never ends, from its SIGTERM on."""

    noticed_s: float
    told: Any
    answered: Answer
    open_s: float
    events: list[str]
    cut: bool
    over_s: float
    done: Done


@pytest.fixture(scope="module")
def leave(folder: Path, database: str) -> Leave:
    variables = {"KTMS_DRAIN_DELAY_S": str(DELAY_S), "KTMS_SHUTDOWN_TIMEOUT_S": str(SHUTDOWN_S)}
    with running(folder, database, variables) as replica, answering(replica, "hang") as stream:
        port = int(replica.url.rpartition(":")[2])
        replica.program.signal(signal.SIGTERM)
        began_at = now()
        until(lambda: replica.readiness()[0] == 503, "readiness is off")
        noticed_s = now() - began_at
        told = replica.readiness()[1]
        answered = ask(replica.url, CHAT, key=declared.APP_KEY, body=saying("hi", model=declared.CLOUD))
        until(lambda: not listens(port), "the listener closes")
        open_s = now() - began_at
        events = stream.rest()
        done = replica.program.ended()
        return Leave(noticed_s, told, answered, open_s, events, stream.cut, now() - began_at, done)


def test_fg1_readiness_is_off_at_once(leave: Leave) -> None:
    assert leave.noticed_s < AT_ONCE_S
    assert leave.told["status"] == "draining"


def test_fg1_calls_are_answered_until_the_balancer_has_noticed(leave: Leave) -> None:
    assert leave.answered.status == 200


def test_fg1_the_listener_closes_after_the_delay(leave: Leave) -> None:
    assert DELAY_S <= leave.open_s < DELAY_S + SLACK_S


def test_fg1_a_stream_still_open_at_the_deadline_gets_one_error_event(leave: Leave) -> None:
    assert [event["error"]["code"] for event in data_of(leave.events)] == ["draining"]
    assert "data: [DONE]" not in leave.events


def test_fg1_the_body_of_a_cut_stream_ends_properly(leave: Leave) -> None:
    assert not leave.cut


def test_fg1_the_process_is_gone_in_its_time_and_ends_well(leave: Leave) -> None:
    assert DELAY_S + SHUTDOWN_S <= leave.over_s < DELAY_S + SHUTDOWN_S + SLACK_S
    assert leave.done.code == 0
    assert leave.done.lines == []


def test_fg1_the_cut_call_is_in_the_log(leave: Leave) -> None:
    assert '"code":"draining"' in leave.done.out


def test_fg1_a_running_stream_comes_to_its_end(folder: Path, database: str, vendor_cloud: Cloud) -> None:
    with running(folder, database, {"KTMS_DRAIN_DELAY_S": "0"}) as replica, answering(replica, "slow") as stream:
        replica.program.signal(signal.SIGTERM)
        until(lambda: not listens(int(replica.url.rpartition(":")[2])), "the listener closes")
        vendor_cloud.go_on()
        assert stream.rest()[-1] == "data: [DONE]"
        assert replica.program.ended().code == 0


def test_fg2_a_second_signal_ends_it_at_once(folder: Path, database: str) -> None:
    with running(folder, database, {"KTMS_DRAIN_DELAY_S": "60"}) as replica, answering(replica, "hang") as stream:
        replica.program.signal(signal.SIGTERM)
        until(lambda: replica.readiness()[0] == 503, "readiness is off")
        began_at = now()
        replica.program.signal(signal.SIGTERM)
        replica.program.ended(10)
        assert now() - began_at < SLACK_S
        assert [event["error"]["code"] for event in data_of(stream.rest())] == ["draining"]
