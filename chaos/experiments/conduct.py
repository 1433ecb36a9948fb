"""Carries one experiment out: traffic, fault, heal, rest; then the judges of the simulator read its journal.

Rules: traffic does not stop for the fault; whatever goes wrong, everything that was started is ended; a run whose
stand broke by itself proves nothing and says why. Not here: the stand, the traffic, tables of results.
"""

import asyncio
import gc
from collections.abc import Callable
from dataclasses import dataclass

from chaos.experiments.experiment import Broken, Expected, Experiment
from chaos.proxy.proxy import Proxies
from chaos.services.service import Services
from chaos.stand.process import ProcessFailed
from chaos.stand.run_journal import RunJournal
from chaos.stand.stand import Stand, stand
from chaos.traffic.balancer import Balancer
from chaos.traffic.caller import callers
from chaos.traffic.ending import bring_to_an_end
from chaos.traffic.load import Load
from sim.checkers.judges import judge
from sim.checkers.violation import Violation

Told = Callable[[str], None]
"""Is told, in a word, what a run does now."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one experiment."""

    experiment: Experiment
    broken: Broken
    felt: int
    expected: tuple[Expected, ...]
    violations: tuple[Violation, ...]

    @property
    def was_felt(self) -> bool:
        """Whether enough calls met the fault."""
        return self.felt >= self.experiment.felt_min

    @property
    def shown(self) -> tuple[str, ...]:
        """The ids of which everything was seen."""
        if not self.was_felt:
            return ()
        of = {name: [one.holds for one in self.expected if one.id == name] for name in self.experiment.ids}
        return tuple(name for name, holds in of.items() if holds and all(holds))

    @property
    def passed(self) -> bool:
        """Whether it proves all its ids."""
        return not self.violations and set(self.shown) == set(self.experiment.ids)


async def conduct(
    experiment: Experiment, services: Services, *, seed: int = 1, told: Told = lambda _: None
) -> Result:
    """Carry one out on these services.

    Raises:
        ProcessFailed, ToxiproxyFailed, ServiceFailed: the stand does not start, or broke by itself.
    """
    return _result(experiment, await carried_out(experiment, services, seed=seed, told=told))


async def carried_out(
    experiment: Experiment, services: Services, *, seed: int = 1, told: Told = lambda _: None
) -> Broken:
    """Carry one out and judge nothing; gateways without a guard need not come to rest.

    Raises:
        ProcessFailed, ToxiproxyFailed, ServiceFailed: see `conduct`.
    """
    async with Proxies(services.toxiproxy) as proxies:
        told("starts")
        async with stand(services, proxies, RunJournal(), experiment.settings) as running:
            urls = {gateway.name: gateway.url for gateway in running.gateways}
            async with callers(urls, running.keys, running.journal) as caller:
                balancer = Balancer(running.gateways)
                in_turn = balancer.in_turn if experiment.mix.balanced else None
                load = Load(caller, experiment.mix, seed, in_turn)
                began_at, ended_at = await _broken(experiment, running, load, balancer, told)
                told("rests")
                try:
                    journal, _ = await bring_to_an_end(running, caller)
                except ProcessFailed:
                    if not experiment.settings.unguarded:
                        raise
                    journal = running.journal.settled()
    return Broken(journal, began_at, ended_at)


async def _broken(
    experiment: Experiment, running: Stand, load: Load, balancer: Balancer, told: Told
) -> tuple[float, float]:
    """Let traffic run and break what is to be broken; gives when the fault began and ended."""
    spans, journal = experiment.spans, running.journal
    over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        running.phase("faults")
        beside = [group.create_task(balancer.run()), group.create_task(_without_pauses())]
        group.create_task(load.run_until(over, spans.before_s + spans.fault_s + spans.after_s + PATIENCE_S))
        try:
            await asyncio.sleep(spans.before_s)
            told("breaks")
            began_at = journal.now_s
            async with experiment.breaks(running):
                await asyncio.sleep(spans.fault_s)
            ended_at = journal.now_s
            told("heals")
            await running.heal()
            await asyncio.sleep(spans.after_s)
        finally:
            over.set()
            for task in beside:
                task.cancel()
    return began_at, ended_at


async def _without_pauses() -> None:
    """Keep the facts of a run out of the collector's sight: to go through them all takes it a quarter of a second.

    Clients and targets stand still meanwhile, and it would look as if the gateways had.
    """
    try:
        while True:
            gc.freeze()
            await asyncio.sleep(FROZEN_EVERY_S)
    finally:
        gc.unfreeze()


FROZEN_EVERY_S = 1.0
"""In a second a run writes some thousand facts, through which the collector goes in milliseconds."""

PATIENCE_S = 120.0
"""Traffic never runs longer than its spans and this: what is started again takes its time."""


def _result(experiment: Experiment, broken: Broken) -> Result:
    journal = broken.journal
    felt = experiment.felt(broken)
    if felt >= experiment.felt_min:
        for name in experiment.ids:
            journal.note("fault_active", "judge", id=name, target="")
    result = Result(experiment, broken, felt, tuple(experiment.expects(broken)), ())
    for name in result.shown:
        journal.note("behaviour_seen", "judge", id=name)
    return Result(experiment, broken, felt, result.expected, tuple(judge(journal)))
