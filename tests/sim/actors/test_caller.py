"""Clients who come back when they are told to."""

import pytest

from sim.draft import CallDraft, Draft, KeyDraft, Level, LimitsDraft, Manner
from sim.journal.journal import Journal
from sim.run import run
from tests.sim.worlds import plain


def world(limits: LimitsDraft, repeats: float) -> Journal:
    """The journal of three calls at once, each of which comes back when it is told to."""
    calls = tuple(CallDraft(at_s=1.0, manner=Manner.RETURNS, after=repeats) for _ in range(3))
    draft = Draft(level=Level.PORTS, keys=(KeyDraft("app", limits=limits),), calls=calls, runs_s=80.0)
    done = run(plain(draft=draft), 1)
    assert done.outcome.ok, done.outcome
    return done.journal


def statuses(journal: Journal) -> dict[str, float]:
    ended = journal.of("call_ended")
    return {fact.text("call"): fact.number("status") for fact in ended if len(fact.text("call")) < 5}


def test_a_client_comes_back_when_it_is_told_to_and_passes() -> None:
    journal = world(LimitsDraft(rpm=2), repeats=1.0)
    told = statuses(journal)
    assert sorted(told.values()) == [200, 200, 200, 429]
    (again,) = (fact for fact in journal.of("call_sent") if "r" in fact.text("call"))
    (refused,) = (fact for fact in journal.of("call_ended") if fact.number("status") == 429)
    assert refused.text("retry_after") == "30"
    assert again.at - refused.at == pytest.approx(30.0)


def test_a_client_that_is_told_no_moment_gives_up() -> None:
    assert list(statuses(world(LimitsDraft(rpm=0), repeats=2.0)).values()) == [429] * 3
