"""A whole run on real services: three gateways, real traffic, one fault; then the judges.

It happens once; each test states one fact of it, or spoils its journal and sees that a judge finds that.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from chaos.proxy.proxy import Proxies
from chaos.services.chosen import chosen_services
from chaos.services.local import Local
from chaos.services.service import Unavailable
from chaos.stand import modes
from chaos.stand.run_journal import RunJournal
from chaos.stand.settings import StandSettings
from chaos.stand.stand import stand
from chaos.traffic.caller import callers
from chaos.traffic.ending import bring_to_an_end
from chaos.traffic.load import Load, Mix
from chaos.traffic.measured import Measured, measured
from chaos.traffic.usage_rows import Booked
from sim.checkers.judges import judge
from sim.journal.fact import Fact, Value
from sim.journal.journal import Journal

pytestmark = [pytest.mark.service, pytest.mark.timeout(180)]

TRAFFIC_S = 5.0
CALLS_MIN = 200
"""Of 50 a second."""

CUT_EVERY = 3
"""Of the answers of one vendor."""

START_MAX_S = 60.0
"""Takes five seconds on two idle processors, and these are not."""

SETTINGS = StandSettings(slots=32, queue_timeout_ms=10_000, redis_timeout_ms=3000)
"""On a machine that is busy with other tests answers and a store may take longer than gateways are patient."""

Spoil = Callable[[list[Fact]], list[Fact]]


@dataclass(frozen=True)
class Ran:
    """A run that is over."""

    journal: Journal
    booked: Booked
    measured: Measured
    start_s: float


async def run() -> Ran:
    async with chosen_services([Local()]) as services, Proxies(services.toxiproxy) as proxies:
        journal = RunJournal()
        async with stand(services, proxies, journal, SETTINGS) as running:
            start_s = journal.now_s
            urls = {gateway.name: gateway.url for gateway in running.gateways}
            async with callers(urls, running.keys, journal) as caller:
                running.phase("faults")
                await running.targets["cloud-a"].mode(modes.RESET_MIDWAY, on=True, every=CUT_EVERY)
                await Load(caller, Mix(), seed=1).run_for(TRAFFIC_S)
                settled, booked = await bring_to_an_end(running, caller)
        return Ran(settled, booked, measured(settled), start_s)


@pytest.fixture(scope="module")
def ran() -> Iterator[Ran]:
    with asyncio.Runner() as runner:
        try:
            yield runner.run(run())
        except Unavailable as error:
            pytest.skip(error.why)


def test_a_stand_is_up_in_seconds(ran: Ran) -> None:
    assert ran.start_s < START_MAX_S


def test_no_judge_finds_anything(ran: Ran) -> None:
    assert [str(violation) for violation in judge(ran.journal)] == []


def test_all_calls_came(ran: Ran) -> None:
    assert ran.measured.calls > CALLS_MIN


def test_nothing_failed_but_the_answers_that_were_cut_on_purpose(ran: Ran) -> None:
    cut = [fact for fact in ran.journal.of("told") if fact.members["how"] == "cut"]
    seen = ran.measured.endings["error_event 200 stream_interrupted"]
    assert 0 < seen <= len(cut)
    assert ran.measured.failed == seen, ran.measured.endings


def test_nodes_and_vendors_of_ours_answered_all(ran: Ran) -> None:
    asked = {fact.members["target"] for fact in ran.journal.of("asked")}
    assert {"node-0", "node-1", "cloud-a"} <= asked


def test_every_gateway_was_seen_at_rest_and_left_in_order(ran: Ran) -> None:
    names = ["gw1", "gw2", "gw3"]
    assert sorted(fact.host for fact in ran.journal.of("quiet")) == names
    assert sorted(fact.host for fact in ran.journal.of("host_stopped") if fact.members["clean"]) == names


def test_each_attempt_has_a_row_and_sums_agree_with_rows(ran: Ran) -> None:
    assert ran.booked.rows == ran.booked.summed == len(list(ran.journal.of("asked")))


def _without(kind: str) -> Spoil:
    """Leave out the last fact of a kind."""

    def spoil(facts: list[Fact]) -> list[Fact]:
        last = [fact for fact in facts if fact.kind == kind][-1]
        return [fact for fact in facts if fact is not last]

    return spoil


def _changed(kind: str, where: dict[str, Value], **members: Value) -> Spoil:
    """Change the last fact of a kind that has these members."""

    def spoil(facts: list[Fact]) -> list[Fact]:
        last = [fact for fact in facts if fact.kind == kind and where.items() <= fact.members.items()][-1]
        changed = replace(last, members={**last.members, **members})
        return [changed if fact is last else fact for fact in facts]

    return spoil


def _doubled(kind: str) -> Spoil:
    def spoil(facts: list[Fact]) -> list[Fact]:
        first = next(fact for fact in facts if fact.kind == kind)
        return [*facts, first]

    return spoil


def _as_if_cloud_was_forbidden(facts: list[Fact]) -> list[Fact]:
    asked = next(fact for fact in facts if fact.kind == "asked" and fact.members["cloud"])
    return _changed("call_sent", {"call": asked.members["call"]}, placement="nodes_only")(facts)


def _key_in_a_log(facts: list[Fact]) -> list[Fact]:
    secret = next(fact for fact in facts if fact.kind == "secret" and fact.members["what"] == "client_key")
    return _changed("log", {}, text=f"Authorization={secret.members['value']}")(facts)


SPOILT: dict[str, tuple[str, Spoil]] = {
    "a call never ends": ("I1", _without("call_ended")),
    "a call ends in an internal error": ("I1", _changed("call_ended", {"outcome": "whole"}, status=500)),
    "a row is missing": ("I2", _without("usage")),
    "a row is there twice": ("I2", _doubled("usage")),
    "a row has other counts": (
        "I2",
        _changed("usage", {"status": "ok", "estimated": False}, completion_tokens=99),
    ),
    "a target is asked twice for a call": ("I5", _doubled("asked")),
    "a good key is refused": ("I6", _changed("call_ended", {"outcome": "whole"}, status=401, outcome="error")),
    "a call is left at rest": ("I8", _changed("quiet", {}, inflight=1)),
    "a slot is left at rest": ("I8", _changed("slots_seen", {}, busy=1)),
    "a call has no record": ("I9", _without("record")),
    "a record tells another status": ("I9", _changed("record", {"status": 200, "cancelled": False}, status=502)),
    "a key stands in a log": ("I10", _key_in_a_log),
    "the cloud is asked for a call that forbids it": ("I12", _as_if_cloud_was_forbidden),
    "a client got another text": ("I13", _changed("call_ended", {"outcome": "done"}, text="9999.1 ")),
    "sums of days differ from rows": ("I14", _changed("usage_kept", {}, rows=1)),
}


@pytest.mark.parametrize(("code", "spoil"), SPOILT.values(), ids=SPOILT.keys())
def test_the_judges_are_not_blind_on_such_a_journal(ran: Ran, code: str, spoil: Spoil) -> None:
    spoilt = Journal(lambda: 0.0)
    spoilt.facts = spoil(ran.journal.facts)
    assert code in {violation.code for violation in judge(spoilt)}
