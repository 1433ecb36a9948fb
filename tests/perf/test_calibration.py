"""The tools of the benchmark measured against proxies whose behaviour is known."""

import os
from collections.abc import Iterator

import pytest

from tests.perf.child import Child, child
from tests.perf.contenders import Contender, contender
from tests.perf.plan import Pace
from tests.perf.proc import Time, family, rss_bytes, time_of
from tests.perf.windows import closed, idle_stream_bytes, streams

PROXIES = (
    "pass_through",
    "bare_aiohttp",
    "gateway_process",
    "gateway_process node",
    "gateway_process limits",
    "gateway_process node limits",
)


@pytest.fixture(scope="module")
def mock() -> Iterator[Child]:
    with child("tests.perf.mock_upstream") as mock:
        yield mock


@pytest.fixture(scope="module")
def load() -> Iterator[Child]:
    with child("tests.perf.load") as load:
        yield load


@pytest.fixture(scope="module", params=PROXIES)
def proxy(request: pytest.FixtureRequest, mock: Child) -> Iterator[Contender]:
    module, *words = request.param.split()
    with child(f"tests.perf.{module}", str(mock.port), *words) as process:
        yield contender(request.param, process)


def test_a_closed_loop_counts_requests_and_processor_time(load: Child, proxy: Contender) -> None:
    figures = closed(load, proxy, connections=4, seconds=0.2)
    assert figures["count"] > 10
    assert figures["cpu_us"] > 1
    assert 0 < figures["p50_ms"] <= figures["p99_ms"]


def test_every_chunk_of_every_stream_arrives(load: Child, proxy: Contender) -> None:
    figures = streams(load, proxy, Pace(streams=20, every_ms=10, ramp_ms=1), chunks=10)
    assert figures["broken"] == 0
    assert figures["stalled"] == 0
    assert figures["cpu_us"] > 1


def test_a_stall_is_seen(load: Child, mock: Child) -> None:
    direct = Contender("direct", mock.port, None, "any", {})
    figures = streams(load, direct, Pace(streams=2, every_ms=400, ramp_ms=1), chunks=2)
    assert figures["late_ms_max"] < 250, "a slow pace is no stall"
    told = load.ask(do="streams", port=mock.port, key="any", streams=2, chunks=2, every_ms=400)
    gaps = told["gaps_ms"]
    assert isinstance(gaps, list)
    assert min(gaps) > 250, "the same gap is one where chunks are due every 50 ms"


def test_open_streams_take_memory(load: Child, proxy: Contender) -> None:
    assert idle_stream_bytes(load, proxy, count=200) > 500


def test_a_refusal_ends_the_run_instead_of_being_counted(mock: Child) -> None:
    with child("tests.perf.refuser") as refuser, child("tests.perf.load") as load:
        contender = Contender("refuser", refuser.port, None, "any", {})
        with pytest.raises(RuntimeError, match="ended early"):
            closed(load, contender, connections=1, seconds=0.1)
    assert mock.process.poll() is None


def test_a_process_is_read_with_its_family() -> None:
    pids = family(os.getpid())
    assert pids[0] == os.getpid()
    assert time_of(pids).ran_ns > 0
    assert rss_bytes(pids) > 1_000_000


def test_waiting_for_a_processor_is_told_apart_from_running() -> None:
    assert Time(300, 100).since(Time(0, 0)).waited_share == 0.25
    assert Time(0, 0).waited_share == 0
