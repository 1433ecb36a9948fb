"""Faults in turn, on targets over real HTTP; the rest of a stand is not needed."""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple, cast

import pytest

from chaos.experiments.in_turn import Turn, of_turns
from chaos.stand import modes
from chaos.stand.answering import Pace
from chaos.stand.run_journal import RunJournal
from chaos.stand.stand import Stand
from chaos.stand.target import Manner
from chaos.stand.targets import Targets, targets
from sim.journal.fact import Fact, Value

SOON_S = 0.05


class Heard(RunJournal):
    """A journal that tells when the second fault is noted."""

    def __init__(self) -> None:
        self.second = asyncio.Event()
        super().__init__()

    def note(self, kind: str, host: str, **members: Value) -> Fact:
        fact = super().note(kind, host, **members)
        if kind == "fault" and len(list(self.of("fault"))) == 2:
            self.second.set()
        return fact


class OnlyTargets(NamedTuple):
    """A stand of targets alone."""

    targets: Targets


@pytest.fixture
def journal() -> Heard:
    return Heard()


@pytest.fixture
async def stand(journal: Heard) -> AsyncIterator[Stand]:
    manner = Manner("cloud-a", cloud=True, model="m", window=None, pace=Pace(0.001, 0.001))
    async with targets([manner], journal) as opened:
        yield cast("Stand", OnlyTargets(opened))


def switched(journal: Heard) -> list[tuple[object, object]]:
    return [(fact.members["fault"], fact.members["on"]) for fact in journal.of("fault")]


async def test_each_fault_is_on_from_its_moment_and_none_after_the_block(journal: Heard, stand: Stand) -> None:
    turns = (Turn(SOON_S, "cloud-a", modes.SILENT), Turn(0.0, "cloud-a", modes.STATUS, 500.0))
    async with of_turns(*turns)(stand):
        assert switched(journal) == [("status", True)]
        await journal.second.wait()
        assert switched(journal)[1:] == [("silent", True)]
    assert sorted(map(str, switched(journal)[2:])) == ["('silent', False)", "('status', False)"]


async def test_what_was_not_due_when_the_block_ended_never_comes(journal: Heard, stand: Stand) -> None:
    async with of_turns(Turn(SOON_S, "cloud-a", modes.SILENT))(stand):
        pass
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert switched(journal) == []
