"""How `ktms up` ends: a running answer is finished, a hurried end is told, and nothing is left behind."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from tests.e2e import declared
from tests.e2e.cloud import Cloud
from tests.e2e.conftest import NewHome
from tests.e2e.http import Stream, answers, data_of, saying, streaming
from tests.e2e.ports import any_port, listens
from tests.e2e.up_process import Home, Up, up
from tests.e2e.waiting import now, until

pytestmark = pytest.mark.service

AT_ONCE_S = 3.0
"""Databases stop in milliseconds; the rest is a loaded machine."""

FREE_WITHIN_S = 5.0


@pytest.fixture(scope="module")
def home(new_home: NewHome, vendor_cloud: Cloud) -> Home:
    home = new_home()
    declared.write_gateway(
        home.folder / "gateway.yaml",
        vendors=[declared.vendor(vendor_cloud.url)],
        models=[declared.cloud_model()],
        client_keys=[declared.client_key("app", declared.APP_KEY)],
    )
    return home


@contextmanager
def running(home: Home) -> Iterator[Up]:
    with up(home, "--config", home.folder / "gateway.yaml", "--port", str(any_port())) as started:
        yield started


@contextmanager
def answering(started: Up, said: str) -> Iterator[Stream]:
    """A stream whose first word has come."""
    with streaming(started.url, declared.APP_KEY, saying(said, model=declared.CLOUD)) as stream:
        while "cloudy" not in (stream.event() or "the end: cloudy never came"):
            pass
        yield stream


def is_draining(started: Up) -> bool:
    """Whether it takes no new connection, or says that it is leaving."""
    page = answers(started.url, "/readyz")
    return page is None or page.status == 503


def test_a_signal_lets_a_running_stream_come_to_its_end(home: Home, vendor_cloud: Cloud) -> None:
    with running(home) as started, answering(started, "slow") as stream:
        started.program.signal(signal.SIGTERM)
        until(lambda: is_draining(started), "the drain begins")
        vendor_cloud.go_on()
        rest = stream.rest()
        assert rest[-1] == "data: [DONE]"
        assert data_of(rest)[0]["choices"][0]["delta"]["content"] == " and dry"
        assert started.program.ended().code == 0


def test_a_second_signal_ends_at_once_and_the_client_is_told(home: Home) -> None:
    with running(home) as started, answering(started, "hang") as stream:
        started.program.signal(signal.SIGTERM)
        until(lambda: is_draining(started), "the drain begins")
        assert started.program.running
        began_at = now()
        started.program.signal(signal.SIGTERM)
        done = started.program.ended(AT_ONCE_S)
        assert now() - began_at < AT_ONCE_S
        rest = stream.rest()
        assert [event["error"]["code"] for event in data_of(rest)] == ["draining"]
        assert "data: [DONE]" not in rest
        assert done.lines == []


def test_ctrl_c_in_a_terminal_ends_it_without_a_traceback(home: Home) -> None:
    with running(home) as started:
        family = started.program.remember_family()
        assert len(family) >= 2
        gateway = started.program.process.pid
        for pid in (*(process.pid for process in family), gateway):  # a terminal signals the foreground group
            if os.getpgid(pid) == os.getpgid(gateway):
                os.kill(pid, signal.SIGINT)
        done = started.program.ended()
        assert (done.code, done.lines) == (0, [])
        assert done.out.endswith("\nstopped\n")


def test_a_stop_leaves_no_process(home: Home) -> None:
    with running(home) as started:
        family = started.program.remember_family()
        started.program.stop()
        assert psutil.wait_procs(family, timeout=0)[1] == []


def test_a_killed_gateway_leaves_no_server(home: Home) -> None:
    with running(home) as started:
        family = started.program.remember_family()
        sockets = [one for process in family for one in process.net_connections("tcp")]
        ports = {one.laddr.port for one in sockets if one.status == psutil.CONN_LISTEN}
        assert len(ports) == 2, "Postgres and Valkey"
        ports.add(int(started.url.rpartition(":")[2]))
        started.program.signal(signal.SIGKILL)
        until(lambda: not any(listens(port) for port in ports), "the ports are free", FREE_WITHIN_S)


def test_after_a_kill_it_starts_again_and_keeps_its_data(home: Home) -> None:
    with running(home) as started:
        made = started.ktms("admin", "keys", "create", "survivor").out.strip()
        started.program.signal(signal.SIGKILL)
        started.program.ended()
    with running(home) as again:
        page = answers(again.url, "/v1/models")
        assert page
        assert page.status == 401
        listed = again.ktms("admin", "keys", "list").out
        assert re.search(r"\bsurvivor\b", listed)
        assert made not in listed
