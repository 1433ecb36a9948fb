"""An experiment carried out for its row: once, or once more where time or the stand was in the way.

Rules: a stand that breaks by itself is a row that failed, and the others go on; once more only where a figure was
missed or the stand broke, never where a judge objected. Not here: the run itself (`chaos/experiments/conduct.py`).
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from chaos.experiments.conduct import Result
from chaos.experiments.experiment import Experiment
from chaos.proxy.toxiproxy_client import ToxiproxyFailed
from chaos.report.rows import Row, broken_stand, row_of
from chaos.services.service import ServiceFailed
from chaos.stand.process import ProcessFailed

STAND_BROKE = (ServiceFailed, ProcessFailed, ToxiproxyFailed)
"""What says that an experiment was not carried out, and nothing of the product."""

Conducted = Callable[[], Awaitable[Result]]


async def attempted(
    experiment: Experiment, conducted: Conducted, *, again: bool, told: Callable[[str], None] = lambda _: None
) -> Row:
    """Give the row of one, of its second attempt if `again` allows it and the first earned it."""
    first, may_repeat = await _attempt(experiment, conducted)
    if not again or not may_repeat:
        return first
    told(f"once more, since {first.complaints[0]}\n")
    second, _ = await _attempt(experiment, conducted)
    return replace(second, missed_first=first.complaints)


async def _attempt(experiment: Experiment, conducted: Conducted) -> tuple[Row, bool]:
    try:
        result = await conducted()
    except* STAND_BROKE as group:
        broken = broken_stand(experiment, _first_of(group))
    else:
        return row_of(result), not result.passed and not result.violations
    return broken, True


def _first_of(group: BaseExceptionGroup[Exception]) -> str:
    first: BaseException = group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return str(first)
