"""Carries an experiment out twice, with a guard of the product and without: what the guard keeps small gets worse.

A guard that nothing shows to be needed is either not needed or not tested. Not here: which guards there are
(`chaos/stand/guards.py`), which figure shows each (the experiments).
"""

from dataclasses import dataclass

from chaos.experiments.conduct import Told, carried_out
from chaos.experiments.experiment import Experiment
from chaos.services.service import Services


@dataclass(frozen=True, slots=True)
class Comparison:
    """An experiment's figure with its guard and without."""

    experiment: Experiment
    guarded: float
    unguarded: float

    @property
    def passed(self) -> bool:
        """Whether the guard is what keeps it small."""
        assert self.experiment.figure is not None
        return self.experiment.figure.worsened(self.guarded, self.unguarded)


async def compare(
    experiment: Experiment, services: Services, *, seed: int = 1, told: Told = lambda _: None
) -> Comparison:
    """Carry it out with its guard and without.

    Raises:
        ProcessFailed, ToxiproxyFailed, ServiceFailed: the stand does not start, or broke by itself.
    """
    figure = experiment.figure
    assert figure is not None, f"{experiment.name} has a figure"
    told("with its guard")
    guarded = figure.of(await carried_out(experiment, services, seed=seed))
    told("without it")
    unguarded = figure.of(await carried_out(experiment.without_guard(), services, seed=seed))
    return Comparison(experiment, guarded, unguarded)
