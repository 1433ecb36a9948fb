"""What one run comes to where it cannot be judged: a reason in words, never an exception."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from sim.checkers import judges
from sim.checkers.violation import Violation
from sim.draft import Draft
from sim.journal.journal import Journal
from sim.run import run
from sim.seed import Seed
from tests.sim.worlds import plain


def throws(journal: Journal) -> Iterator[str]:
    yield from (fact.kind for fact in journal.of("recrod"))


def broken_draft(seed: Seed) -> Draft:
    raise KeyError(seed.path)


def test_a_scenario_that_reads_what_is_not_there_says_so() -> None:
    broken = run(replace(plain(), seen=throws), 1).outcome.broken
    assert "what scenario 'plain' reads threw" in broken
    assert "there is no kind of fact 'recrod': did you mean record?" in broken


def test_a_draft_that_throws_says_so() -> None:
    broken = run(replace(plain(), draft=broken_draft), 1).outcome.broken
    assert "the draft of scenario 'plain' threw KeyError" in broken


def spoilt_check(journal: Journal) -> Iterator[Violation]:
    raise ZeroDivisionError(len(journal.facts))


def test_a_checker_that_throws_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    spoilt = (replace(judges.CHECKERS[4], check=spoilt_check),)
    monkeypatch.setattr(judges.judge, "__defaults__", (spoilt,))
    assert run(plain(), 1).outcome.broken.startswith("the checker of I5 is broken: ZeroDivisionError")


async def _for_ever() -> None:
    await asyncio.get_running_loop().create_future()


def test_calls_that_never_end_are_told_with_where_every_task_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(call: object, *, fresh: bool) -> None:
        del call, fresh
        await _for_ever()

    monkeypatch.setattr("sim.clients.WireClients.open", lambda _, call, *, fresh: never(call, fresh=fresh))
    monkeypatch.setattr("sim.operators.Watch.run", lambda _: _for_ever())
    broken = run(plain(calls=2), 1).outcome.broken
    assert broken.startswith("Deadlock: these have not ended long after the healing: call 0, call 1")
    assert "_for_ever" in broken
    assert "refresh.py" in broken, "the gateway's tasks too"
