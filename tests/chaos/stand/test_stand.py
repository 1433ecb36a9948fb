"""A stand whose parts are ended, frozen and started again under traffic, and what its journal says of that.

It happens once; each test states one fact of it. The judges must know what is to be excused, and excuse it.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from chaos.proxy.proxy import Proxies
from chaos.services.chosen import chosen_services
from chaos.services.local import Local
from chaos.services.service import Unavailable
from chaos.stand.process import ProcessFailed
from chaos.stand.run_journal import RunJournal
from chaos.stand.settings import REDIS, StandSettings
from chaos.stand.stand import Stand, stand
from chaos.traffic.caller import callers
from chaos.traffic.ending import bring_to_an_end
from chaos.traffic.load import Load, Mix
from chaos.traffic.measured import Measured, measured
from chaos.traffic.usage_rows import Booked
from sim.checkers.judges import judge
from sim.journal.journal import Journal

pytestmark = [pytest.mark.service, pytest.mark.timeout(180)]

FELT_CALLS = 5
"""Calls that were sent to a gateway while it was ill."""

RATE_PER_S = 40.0

TRAFFIC_MAX_S = 120.0


@dataclass(frozen=True)
class Ran:
    """A run that is over. `unexpected` is what the stand said of a process that had ended by itself."""

    journal: Journal
    booked: Booked
    measured: Measured
    unexpected: str


def sent_to(running: Stand, gateway: str) -> int:
    return sum(fact.members["gateway"] == gateway for fact in running.journal.of("call_sent"))


async def until(running: Stand, fact: Callable[[], bool]) -> None:
    """Wait for a fact, as long as the first gateway runs."""

    async def look() -> bool:
        return fact()

    await running.gateways[0].process.wait_ready(look)


async def until_felt(running: Stand, gateway: str) -> None:
    before = sent_to(running, gateway)
    await until(running, lambda: sent_to(running, gateway) >= before + FELT_CALLS)


async def wreck(running: Stand) -> None:
    """Kill one, freeze one, cut one off Redis; let the ledger be dead meanwhile."""
    first, second, third = running.gateways
    running.fault("ledger_away", on=True)
    await running.ledger.process.kill()
    await second.kill()
    await until_felt(running, second.name)
    third.freeze()
    await until_felt(running, third.name)
    third.thaw()
    running.fault("redis_cut", first.name, on=True)
    await running.ways.of(REDIS, first.name).down()
    await until_felt(running, first.name)
    await running.ways.heal()
    running.fault("redis_cut", first.name, on=False)
    await running.heal()  # starts those that were ended
    running.fault("ledger_away", on=False)
    assert await third.term() == 0


async def end_behind_our_back(running: Stand) -> str:
    """End a gateway as if it had done so itself; gives what the stand says."""
    process = running.gateways[0].process
    await process.kill()
    process.expected = False
    try:
        running.check()
    except ProcessFailed as failed:
        return str(failed)
    return ""


async def run() -> Ran:
    settings = StandSettings(apart=frozenset({REDIS}), redis_timeout_ms=3000)
    async with chosen_services([Local()]) as services, Proxies(services.toxiproxy) as proxies:
        journal = RunJournal()
        async with stand(services, proxies, journal, settings) as running:
            urls = {gateway.name: gateway.url for gateway in running.gateways}
            async with callers(urls, running.keys, journal) as caller:
                running.phase("faults")
                over = asyncio.Event()
                async with asyncio.TaskGroup() as group:
                    load = Load(caller, Mix(rate_per_s=RATE_PER_S), seed=2)
                    group.create_task(load.run_until(over, TRAFFIC_MAX_S))
                    await wreck(running)
                    over.set()
                settled, booked = await bring_to_an_end(running, caller)
                await running.gateways[0].start()
                unexpected = await end_behind_our_back(running)
        return Ran(settled, booked, measured(settled), unexpected)


@pytest.fixture(scope="module")
def ran() -> Iterator[Ran]:
    with asyncio.Runner() as runner:
        try:
            yield runner.run(run())
        except Unavailable as error:
            pytest.skip(error.why)


def test_the_judges_excuse_what_was_done_and_find_nothing_else(ran: Ran) -> None:
    assert [str(violation) for violation in judge(ran.journal)] == []


def test_calls_to_a_dead_gateway_are_refused(ran: Ran) -> None:
    assert ran.measured.endings["refused"] >= FELT_CALLS


def test_each_end_and_each_start_is_a_fact(ran: Ran) -> None:
    assert [fact.host for fact in ran.journal.of("host_crashed")] == ["gw2"]
    assert sorted(fact.host for fact in ran.journal.of("host_up")) == ["gw1", "gw2", "gw2", "gw3", "gw3"]


def test_how_long_a_gateway_stood_still_is_told_from_when_it_began(ran: Ran) -> None:
    (lag,) = [fact for fact in ran.journal.of("fault") if fact.members["fault"] == "lag"]
    lasted_s = lag.number("amount")
    well_within = [  # signals take a moment on a busy machine
        fact
        for fact in ran.journal.of("record")
        if fact.host == "gw3" and lag.at + lasted_s / 3 < fact.at < lag.at + lasted_s * 2 / 3
    ]
    assert lag.members["target"] == "gw3"
    assert lasted_s > 0.1
    assert well_within == []


def test_rows_that_waited_for_their_ledger_came(ran: Ran) -> None:
    booked = {fact.members["request_id"] for fact in ran.journal.of("usage")}
    good = [fact for fact in ran.journal.of("call_ended") if fact.members["outcome"] in ("done", "whole")]
    assert {fact.members["request_id"] for fact in good} <= booked


def test_a_gateway_that_is_cut_off_redis_goes_on_without_nodes(ran: Ran) -> None:
    words = [fact.text("attempts") for fact in ran.journal.of("record") if fact.host == "gw1"]
    assert any("=unknown" in attempts for attempts in words)


def test_a_process_that_ends_by_itself_is_told_of(ran: Ran) -> None:
    assert ran.unexpected.startswith("gw1 ended by itself with -9")
