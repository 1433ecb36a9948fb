"""FG8 with a real `ktms serve`: too few files are shared out, and when there are none it waits and goes on.

Each story happens once, in a fixture that notes what was seen; a test states one fact of it.
"""

import resource
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from tests.e2e import declared
from tests.e2e.cloud import Cloud
from tests.e2e.conftest import NewDatabase, NewHome
from tests.e2e.http import CHAT, Answer, ask, saying
from tests.e2e.serve_process import Replica, home_with_a_model, serving
from tests.e2e.waiting import now, until

pytestmark = pytest.mark.service

FEW = 200
"""Clients may hold 36 of them; no other part needs as many."""

CROWD = 120
"""Idle clients, three times as many as there is room for."""

NONE_LEFT = 3
"""New descriptors need a number below it, and those are taken for good: none comes free while we look."""

CLOSING_S = 2.0
CLOSING_CPU_S = 0.5
"""Of two seconds in which clients wait in vain: a busy loop would use up both."""

KNOCKS = 30

PROBE = b"GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n"


@pytest.fixture(scope="module")
def database(new_database: NewDatabase) -> str:
    return new_database()


@pytest.fixture(scope="module")
def folder(new_home: NewHome, database: str, vendor_cloud: Cloud) -> Path:
    return home_with_a_model(new_home().folder, database, vendor_cloud)


@contextmanager
def running(folder: Path, database: str, files_max: int | None = None) -> Iterator[Replica]:
    with serving(folder, database, {"KTMS_DRAIN_DELAY_S": "0"}, files_max=files_max) as replica:
        until(lambda: replica.readiness()[1]["status"] == "ok", "it is ready")
        yield replica


def connection_to(replica: Replica) -> socket.socket:
    place = urlsplit(replica.url)
    assert place.hostname
    assert place.port
    return socket.create_connection((place.hostname, place.port), timeout=10)


def chat(replica: Replica) -> Answer:
    return ask(replica.url, CHAT, key=declared.APP_KEY, body=saying("hi", model=declared.CLOUD))


def is_alive(replica: Replica) -> bool:
    page = replica.page("/healthz")
    return page is not None and page.status == 200


@dataclass(frozen=True)
class Shared:
    """What was seen of a replica that may open few files, with a crowd of clients that only hold a connection."""

    alive: list[bool]
    answered: Answer
    open_files: int


@pytest.fixture(scope="module")
def shared(folder: Path, database: str) -> Shared:
    with running(folder, database, FEW) as replica, ExitStack() as opened:
        alive = []
        for number in range(CROWD):
            opened.enter_context(connection_to(replica))
            if number % 10 == 0:
                alive.append(is_alive(replica))
        files = psutil.Process(replica.program.process.pid).num_fds()
        return Shared(alive, chat(replica), files)


def test_fg8_in_a_crowd_of_idle_clients_it_stays_alive(shared: Shared) -> None:
    assert all(shared.alive)


def test_fg8_in_a_crowd_of_idle_clients_calls_are_answered(shared: Shared) -> None:
    assert shared.answered.status == 200


def test_fg8_a_crowd_does_not_use_up_all_files(shared: Shared) -> None:
    assert shared.open_files < FEW - 64


@dataclass(frozen=True)
class Exhausted:
    """What was seen of a replica whose last descriptors were taken from it, and given back."""

    heard: int
    cpu_s: float
    kept: bytes
    answered_late: int
    answered: Answer


@pytest.fixture(scope="module")
def exhausted(folder: Path, database: str) -> Exhausted:
    with running(folder, database) as replica, ExitStack() as opened:
        assert chat(replica).status == 200
        process = psutil.Process(replica.program.process.pid)
        limits = process.rlimit(resource.RLIMIT_NOFILE)
        kept = opened.enter_context(connection_to(replica))
        assert is_alive(replica)
        process.rlimit(resource.RLIMIT_NOFILE, (NONE_LEFT, limits[1]))
        late = [opened.enter_context(connection_to(replica)) for _ in range(KNOCKS)]
        for client in late:
            client.sendall(PROBE)
        before = process.cpu_times()
        closing_at = now() + CLOSING_S
        until(lambda: now() >= closing_at, "two seconds are over")
        after = process.cpu_times()
        heard = len(select.select(late, [], [], 0)[0])
        kept.sendall(PROBE)
        told = kept.recv(4096)
        process.rlimit(resource.RLIMIT_NOFILE, limits)
        late_answers = [client.recv(4096) for client in late]
        cpu_s = after.user + after.system - before.user - before.system
        return Exhausted(heard, cpu_s, told, sum(map(is_well, late_answers)), chat(replica))


def is_well(answer: bytes) -> bool:
    return answer.startswith(b"HTTP/1.1 200 ")


def test_fg8_without_descriptors_who_comes_waits(exhausted: Exhausted) -> None:
    assert exhausted.heard == 0


def test_fg8_without_descriptors_it_does_not_turn_in_circles(exhausted: Exhausted) -> None:
    assert exhausted.cpu_s < CLOSING_CPU_S


def test_fg8_who_is_connected_already_is_answered(exhausted: Exhausted) -> None:
    assert is_well(exhausted.kept)


def test_fg8_whoever_waited_is_answered_as_soon_as_there_are_some(exhausted: Exhausted) -> None:
    assert exhausted.answered_late == KNOCKS
    assert exhausted.answered.status == 200
