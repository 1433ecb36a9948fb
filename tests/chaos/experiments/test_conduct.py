"""One short experiment on real services, carried out from its start to its judgement."""

from dataclasses import replace

import pytest

from chaos.experiments.all_of_them import EXPERIMENTS
from chaos.experiments.conduct import Result, conduct
from chaos.experiments.experiment import Spans
from chaos.services.chosen import chosen_services
from chaos.services.service import Unavailable
from chaos.stand.settings import StandSettings

pytestmark = [pytest.mark.service, pytest.mark.timeout(180)]

BRIEF = Spans(before_s=1.0, fault_s=3.0, after_s=1.0)


async def carried_out(*, felt_min: int) -> Result:
    settings = StandSettings(slots=64)
    brief = replace(EXPERIMENTS["node-cut"], spans=BRIEF, settings=settings, felt_min=felt_min)
    try:
        async with chosen_services() as services:
            return await conduct(brief, services)
    except Unavailable as missing:
        pytest.skip(missing.why)


async def test_an_experiment_proves_its_ids_and_no_judge_objects() -> None:
    result = await carried_out(felt_min=5)
    assert result.violations == ()
    assert (result.was_felt, result.shown) == (True, ("FV3", "FN1"))
    assert result.passed
    assert {fact.text("id") for fact in result.broken.journal.of("behaviour_seen")} == {"FV3", "FN1"}


async def test_a_fault_that_too_few_have_felt_proves_nothing() -> None:
    result = await carried_out(felt_min=1_000_000)
    assert (result.was_felt, result.shown, result.passed) == (False, (), False)
