"""What becomes of an experiment that was missed once, and of a stand that broke by itself."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from chaos.experiments.all_of_them import EXPERIMENTS
from chaos.experiments.conduct import Result
from chaos.experiments.experiment import Expected
from chaos.report.attempts import SERVICE_FAILED, attempted
from chaos.stand.process import ProcessFailed
from sim.checkers.violation import Violation
from tests.chaos.experiments.story import RunStory

EXPERIMENT = replace(EXPERIMENTS["node-cut"], ids=("FN1",), felt_min=1)


def ended(*, holds: bool, violations: tuple[Violation, ...] = ()) -> Result:
    story = RunStory()
    story.call(12.0)
    return Result(EXPERIMENT, story.over(), 1, (Expected("FN1", holds, "it was spared"),), violations)


class InTurn:
    """Comes to these, one after the other."""

    def __init__(self, *ends: Result | BaseException) -> None:
        self._ends: Iterator[Result | BaseException] = iter(ends)

    async def __call__(self) -> Result:
        end = next(self._ends)
        if isinstance(end, BaseException):
            raise end
        return end


async def test_what_proved_its_ids_is_not_done_again() -> None:
    row = await attempted(EXPERIMENT, InTurn(ended(holds=True)), again=True)
    assert (row.passed, row.missed_first) == (True, ())


async def test_a_missed_figure_is_tried_once_more_and_the_row_says_so() -> None:
    said: list[str] = []
    twice = InTurn(ended(holds=False), ended(holds=True))
    row = await attempted(EXPERIMENT, twice, again=True, told=said.append)
    assert (row.passed, row.missed_first) == (True, ("FN1: it was spared",))
    assert said == ["once more, since FN1: it was spared\n"]


async def test_without_leave_a_missed_figure_stays_missed() -> None:
    row = await attempted(EXPERIMENT, InTurn(ended(holds=False)), again=False)
    assert (row.passed, row.complaints) == (False, ("FN1: it was spared",))


async def test_an_objection_of_a_judge_is_never_tried_away() -> None:
    objection = Violation("I1", 12.0, "a call was answered twice")
    row = await attempted(EXPERIMENT, InTurn(ended(holds=True, violations=(objection,))), again=True)
    assert not row.passed
    assert "a call was answered twice" in row.complaints[0]


@pytest.mark.parametrize("kind", SERVICE_FAILED)
async def test_a_service_that_fails_by_itself_is_a_row_and_gets_a_second_chance(kind: type[Exception]) -> None:
    row = await attempted(EXPERIMENT, InTurn(kind("no port"), ended(holds=True)), again=True)
    assert (row.passed, row.missed_first) == (True, ("the stand broke: no port",))


async def test_a_gateway_that_ended_by_itself_is_never_tried_away() -> None:
    twice = InTurn(ProcessFailed("gw2 ended by itself with 1"), ended(holds=True))
    row = await attempted(EXPERIMENT, twice, again=True)
    assert (row.passed, row.complaints) == (False, ("the stand broke: gw2 ended by itself with 1",))


async def test_a_stand_that_broke_inside_of_a_group_of_tasks_says_why() -> None:
    broken = ExceptionGroup("tasks", [ExceptionGroup("heal", [ProcessFailed("gw1 ended with 1")])])
    row = await attempted(EXPERIMENT, InTurn(broken), again=False)
    assert (row.passed, row.shown, row.complaints) == (False, (), ("the stand broke: gw1 ended with 1",))


async def test_a_fault_of_the_suite_itself_is_not_taken_for_a_row() -> None:
    with pytest.raises(ExceptionGroup) as raised:
        await attempted(EXPERIMENT, InTurn(ExceptionGroup("tasks", [KeyError("x")])), again=True)
    assert raised.group_contains(KeyError)
