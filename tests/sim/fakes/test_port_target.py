"""Targets at the port: what network faults look like there."""

import asyncio
from collections.abc import Callable

import pytest

from ktms.domain.routing.outcome import FailureKind
from ktms.domain.snapshot import Origin, Reach
from ktms.ports.upstream import UpstreamRequest
from sim.fakes.port_target import carried
from sim.fakes.steps import Cut, Head, How, Piece, Steps
from tests.sim.fakes.desk import Desk, Seen, chat, whole
from tests.sim.fakes.targets import OPENAI

Make = Callable[..., Desk]
NAME = OPENAI.name


def at_port(desk: Make) -> Desk:
    return desk(OPENAI, wire=False)


async def meanwhile(at: Desk, after_s: float, act: Callable[[], None], asked: dict[str, object]) -> Seen:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(at.asking(asked))
        await asyncio.sleep(after_s)
        act()
    return task.result()


def test_elsewhere_nobody_listens(desk: Make) -> None:
    at = at_port(desk)
    at.origin = Origin("http", "nowhere", 1, "", Reach.PRIVATE)
    assert at.post().failure is FailureKind.REFUSED


def test_a_refused_target_is_never_asked(desk: Make) -> None:
    at = at_port(desk)
    at.roads.refuse(NAME, on=True)
    assert at.post().failure is FailureKind.REFUSED
    assert at.facts("asked") == []
    at.roads.refuse(NAME, on=False)
    assert at.post().status == 200


def test_a_black_hole_runs_into_the_connect_timer(desk: Make) -> None:
    at = at_port(desk)
    at.roads.hold(NAME, on=True)
    seen = at.post()
    assert (seen.failure, seen.took_s) == (FailureKind.CONNECT_TIMEOUT, 5.0)
    assert at.facts("asked") == []


def test_a_black_hole_that_ends_while_connecting_costs_only_time(desk: Make) -> None:
    at = at_port(desk)
    at.roads.hold(NAME, on=True)
    seen = at.run(meanwhile(at, 2, lambda: at.roads.hold(NAME, on=False), whole()))
    assert seen.status == 200


def test_what_a_black_hole_holds_comes_when_it_ends(desk: Make) -> None:
    at = at_port(desk)
    at.loop.call_later(20, lambda: at.roads.hold(NAME, on=False))
    seen = at.run(meanwhile(at, 1, lambda: at.roads.hold(NAME, on=True), chat(tokens=100)))
    assert (seen.text.count(" "), seen.stream.done) == (100, True)
    assert seen.took_s > 20


def test_a_black_hole_in_a_stream_runs_into_the_idle_timer(desk: Make) -> None:
    at = at_port(desk)
    seen = at.run(meanwhile(at, 1, lambda: at.roads.hold(NAME, on=True), chat(tokens=100)))
    assert seen.failure is FailureKind.IDLE_TIMEOUT
    assert at.told.members["how"] == "left"


def test_a_reset_cuts_every_open_exchange(desk: Make) -> None:
    at = at_port(desk)
    seen = at.run(meanwhile(at, 1, lambda: at.roads.reset(NAME), chat(tokens=100)))
    assert seen.failure is FailureKind.CLOSED
    assert 0.9 < seen.took_s < 1.1
    assert (at.told.members["how"], at.told.members["visible"]) == ("left", True)


def test_a_machine_that_is_gone_never_comes_back_to_an_open_exchange(desk: Make) -> None:
    at = at_port(desk)
    at.loop.call_later(10, lambda: at.roads.vanish(NAME, on=False))
    seen = at.run(meanwhile(at, 1, lambda: at.roads.vanish(NAME, on=True), chat(tokens=100)))
    assert seen.failure is FailureKind.IDLE_TIMEOUT
    assert at.post().status == 200


def test_a_slow_way_adds_its_round_trip(desk: Make) -> None:
    fast, slow = at_port(desk), at_port(desk)
    slow.roads.shape(NAME, "slow_link", 0.5, on=True)
    slow.roads.shape(NAME, "sliced", 3.0, on=True)
    assert slow.post().took_s == pytest.approx(fast.post().took_s + 1.0)


def test_a_killed_gateway_is_lost_to_its_targets_at_once(desk: Make) -> None:
    at = at_port(desk)
    seen = at.run(meanwhile(at, 1, at.ports.killed, chat(tokens=100)))
    assert seen.failure is FailureKind.CLOSED
    assert (at.target.busy, at.ports.upstream.exchanges) == (0, [])


def test_ended_exchanges_are_forgotten(desk: Make) -> None:
    at = at_port(desk)
    for _ in range(3):
        at.post()
    assert at.ports.upstream.exchanges == []


def test_the_gateway_and_its_headers_are_known_to_the_target(desk: Make) -> None:
    at = at_port(desk)
    made = at.request(headers=())
    own = UpstreamRequest(made.origin, made.prologue, made.body, made.timers, (("Authorization", "Bearer k"),))
    assert at.run(at.exchange(own, None)).status == 200
    assert at.facts("asked")[0].members["gateway"] == "gateway"


def test_a_body_that_ends_with_its_connection_is_whole_after_a_fin() -> None:
    def steps(how: How) -> Steps:
        yield Head(length=-1)
        yield Piece(b"x")
        yield Cut(how)

    assert len(list(carried(steps(How.FIN)))) == 2
    assert len(list(carried(steps(How.RST)))) == 3
