"""An experiment carried out for its row: once, or once more where time or a service was in the way.

Rules: a stand that breaks is a row that failed, and the others go on; once more only where a figure was missed or
a service failed by itself, never where a judge objected or a process of the product failed: that is a finding.
Not here: the run itself (`chaos/experiments/conduct.py`).
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

from chaos.experiments.conduct import Result
from chaos.experiments.experiment import Experiment
from chaos.proxy.toxiproxy_client import ToxiproxyFailed
from chaos.report.rows import Row, broken_stand, row_of
from chaos.services.service import ServiceFailed
from chaos.stand.process import ProcessFailed

SERVICE_FAILED = (ServiceFailed, ToxiproxyFailed)
"""What says that an experiment was not carried out, and nothing of the product."""

STAND_BROKE = (*SERVICE_FAILED, ProcessFailed)
"""The last is one of the product's processes: it ended by itself, or did not do in time what it should."""

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
        reasons = tuple(_leaves(group))
    else:
        return row_of(result), not result.passed and not result.violations
    return broken_stand(experiment, str(reasons[0])), all(isinstance(one, SERVICE_FAILED) for one in reasons)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error
