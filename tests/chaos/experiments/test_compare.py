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
