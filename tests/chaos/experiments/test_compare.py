from dataclasses import replace

import pytest

from chaos.experiments.all_of_them import EXPERIMENTS
from chaos.experiments.experiment import Figure

FIGURE = Figure("redis-left-alone", "seconds", lambda broken: broken.ended_at, worse_min=0.1, worse_by=3.0)


@pytest.mark.parametrize(
    ("guarded", "unguarded", "worsened"),
    [(0.0, 0.1, True), (0.0, 0.09, False), (0.05, 0.16, True), (0.05, 0.14, False), (0.2, 0.2, False)],
)
def test_a_figure_gets_worse_by_its_factor_and_its_least(guarded: float, unguarded: float, worsened: bool) -> None:
    assert FIGURE.worsened(guarded, unguarded) is worsened


def test_an_experiment_without_its_guard_is_the_same_on_other_gateways() -> None:
    one = EXPERIMENTS["redis-hung"]
    without = one.without_guard()
    assert one.figure is not None
    assert (without.settings.unguarded, one.settings.unguarded) == (one.figure.guard, "")
    assert without.mix == one.mix


def test_at_full_length_an_experiment_has_its_long_spans_and_the_shipped_times() -> None:
    one = EXPERIMENTS["rolling-restart"]
    full = one.at_full_length()
    assert full.spans == one.long
    assert full.settings == one.settings.as_shipped()


def test_an_experiment_without_a_full_length_stays_as_it_is() -> None:
    one = replace(EXPERIMENTS["rolling-restart"], long=None)
    assert one.at_full_length() == one
