"""A benchmark whose gateway skipped some of its work is no benchmark."""

import re
from collections.abc import Iterator, Mapping

import pytest

from ktms.adapters.redis.lua import FOLDER
from tests.perf.child import Child, child
from tests.perf.contenders import ALL_ON, Contender, LineUp, contender
from tests.perf.plan import Pace
from tests.perf.proof import Told, Unproven, flaws, prove
from tests.perf.redis_counts import SCRIPTS
from tests.perf.wanted import LIMITS, NODE, Wanted
from tests.perf.windows import closed, idle_stream_bytes, streams

PER_REQUEST = Wanted(own_node=True, limited=True).per_request
SOUND = {
    "rows": 100,
    **dict.fromkeys(PER_REQUEST, 100),
    "scripts": 420,
    "leases": 0,
    "reservations": 0,
    "running": 0,
    "reserved_micros": 0,
}


def told(counts: Mapping[str, int]) -> Told:
    return Told(ALL_ON, 100, {**SOUND, **counts}, PER_REQUEST, lasted_s=1.0)


def test_a_sound_run_has_no_flaw() -> None:
    assert list(flaws(told({}))) == []


@pytest.mark.parametrize(
    ("counts", "flaw"),
    [
        ({"rows": 99}, "99 usage rows of 100 requests"),
        ({"reserve": 99}, "Redis ran reserve 99 times for 100 requests"),
        ({"settle": 101}, "Redis ran settle 101 times for 100 requests"),
        ({"scripts": 399}, "399 script calls for 100 requests, not 400 and a few"),
        ({"scripts": 600}, "600 script calls for 100 requests, not 400 and a few"),
        ({"leases": 1}, "1 leases left"),
        ({"reservations": 2}, "2 reservations left"),
        ({"running": 1}, "1 running left"),
        ({"reserved_micros": 5}, "5 reserved_micros left"),
    ],
)
def test_a_flaw_is_said_in_one_line(counts: Mapping[str, int], flaw: str) -> None:
    assert list(flaws(told(counts))) == [f"gateway, all on: {flaw}"]


def test_the_documented_calls_are_two_for_limits_and_two_for_a_lease() -> None:
    assert Wanted(own_node=False, limited=True).per_request == {"reserve": 1, "settle": 1}
    assert Wanted(own_node=True, limited=False).per_request == {"take": 1, "release": 1}
    assert PER_REQUEST == {"reserve": 1, "settle": 1, "take": 1, "release": 1}


@pytest.mark.parametrize(("script", "command"), SCRIPTS.items())
def test_a_script_is_told_by_a_command_that_runs_once_in_it(script: str, command: str) -> None:
    assert len(re.findall(rf"'{command.upper()}'", (FOLDER / f"{script}.lua").read_text())) == 1


@pytest.fixture(scope="module")
def mock() -> Iterator[Child]:
    with child("tests.perf.mock_upstream") as mock:
        yield mock


@pytest.fixture
def run(mock: Child) -> Iterator[LineUp]:
    """All kinds of load on a gateway with everything on."""
    with (
        child("tests.perf.load") as load,
        child("tests.perf.gateway_process", str(mock.port), NODE, LIMITS) as process,
    ):
        gateway = contender(ALL_ON, process)
        closed(load, gateway, connections=4, seconds=0.2)
        streams(load, gateway, Pace(streams=10, every_ms=5, ramp_ms=1), chunks=5)
        idle_stream_bytes(load, gateway, count=50)
        yield LineUp(load, [gateway], {})


def test_all_kinds_of_load_are_proved(run: LineUp) -> None:
    prove(run)


def test_a_request_that_nobody_was_told_of_is_found(mock: Child, run: LineUp) -> None:
    gateway = run.named(ALL_ON)
    assert gateway is not None
    with child("tests.perf.load") as other:
        closed(other, gateway, connections=1, seconds=0.05)
    with pytest.raises(Unproven, match=r"gateway, all on: \d+ usage rows of \d+ requests; "):
        prove(run)


def test_who_books_nothing_is_not_asked(run: LineUp) -> None:
    prove(LineUp(run.load, [Contender("nginx", 1, 1, "any", {})], {}))
