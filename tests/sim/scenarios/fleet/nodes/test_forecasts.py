"""Forecasts of waits, held against the waits: right on average, and only while they are those of these calls."""

from functools import cache

import pytest

from sim.run import run
from sim.scenarios.fleet.nodes.forecasts import ERROR_MAX, FORECASTS, WAITS_MIN, dealt, error
from sim.scenarios.fleet.nodes.reading import Wait, waits
from sim.scenarios.scenario import Scenario
from sim.seed import Seed

SEEDS = (11, 12)

A_MOMENT_S = 0.05
"""Who was held back for a moment only has not been overtaken."""

each = pytest.mark.parametrize("scenario", FORECASTS, ids=lambda scenario: scenario.id)


@cache
def waited(scenario: Scenario) -> tuple[Wait, ...]:
    return tuple(wait for seed in SEEDS for wait in waits(run(scenario, seed).journal))


@each
def test_waits_are_as_long_as_forecast(scenario: Scenario) -> None:
    assert len(waited(scenario)) >= WAITS_MIN
    assert error(waited(scenario)) <= ERROR_MAX


@each
def test_forecasts_of_other_calls_are_wrong(scenario: Scenario) -> None:
    chance = Seed(1).chance("shuffle")
    forecasts = sorted((wait.forecast_s for wait in waited(scenario)), key=lambda _: chance.unit())
    shuffled = [
        Wait(wait.gateway, wait.key, wait.since, forecast_s, wait.waited_s)
        for wait, forecast_s in zip(waited(scenario), forecasts, strict=True)
    ]
    assert error(shuffled) > ERROR_MAX
    assert error(dealt(waited(scenario))) > ERROR_MAX


def test_one_forecast_for_everybody_is_wrong_too() -> None:
    found = waited(FORECASTS[0])
    middle_s = sorted(wait.waited_s for wait in found)[len(found) // 2]
    same = [Wait(wait.gateway, wait.key, wait.since, middle_s, wait.waited_s) for wait in found]
    assert error(same) > ERROR_MAX


def test_over_three_replicas_hardly_anybody_is_overtaken() -> None:
    """Whoever has waited longest asks first, wherever it waits; who comes at the very moment may be faster."""
    found = waits(run(FORECASTS[1], SEEDS[0]).journal)
    assert {wait.gateway for wait in found} == {"gw1", "gw2", "gw3"}
    overtaken = [
        wait
        for wait in found
        if any(later.since > wait.since and later.until < wait.until - A_MOMENT_S for later in found)
    ]
    assert len(overtaken) <= len(found) / 20
