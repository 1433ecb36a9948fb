"""What a run must have done besides being fast: every request booked, counted in Redis as documented, given back.

A figure of a gateway that skipped some of its work means nothing, so a run that cannot prove it fails. What was
asked is counted by the load generator, what was booked by the ledger, what Redis did by Redis itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.perf.contenders import Contender, LineUp
from tests.perf.windows import number

BACKGROUND_PER_S = 20
"""Script calls beside those of requests: beats, renewals, the board; some five a second."""

AGAIN_SHARE = 0.01
"""Requests that may reserve twice: the first ones, before the ledger was asked what their key has spent."""

LEFT_OVER = ("leases", "reservations", "running", "reserved_micros")


class Unproven(Exception):
    """A run did not do what it claims; one line says what."""


@dataclass(frozen=True, slots=True)
class Told:
    """What one gateway told at the end of its run. `per_request`: script calls that each request needs."""

    name: str
    asked: int
    counts: Mapping[str, int]
    per_request: Mapping[str, int]
    lasted_s: float


def prove(line_up: LineUp) -> None:
    """Ask every gateway of a run.

    Raises:
        Unproven: with everything that is wrong.
    """
    wrong = [
        flaw for contender in line_up.contenders if contender.tells for flaw in flaws(_told(line_up, contender))
    ]
    if wrong:
        raise Unproven("; ".join(wrong))


def flaws(told: Told) -> Iterator[str]:
    """Say what is wrong with one gateway's run."""
    counts, asked = told.counts, told.asked
    if counts["rows"] != asked:
        yield f"{told.name}: {counts['rows']} usage rows of {asked} requests"
    for script, times in told.per_request.items():
        if counts[script] != asked * times:
            yield f"{told.name}: Redis ran {script} {counts[script]} times for {asked} requests"
    if told.per_request:
        least = asked * sum(told.per_request.values())
        most = least * (1 + AGAIN_SHARE) + BACKGROUND_PER_S * (told.lasted_s + 1)
        if not least <= counts["scripts"] <= most:
            yield f"{told.name}: {counts['scripts']} script calls for {asked} requests, not {least} and a few"
    yield from (f"{told.name}: {counts[what]} {what} left" for what in LEFT_OVER if counts.get(what))


def _told(line_up: LineUp, contender: Contender) -> Told:
    assert contender.tells is not None
    asked = int(number(line_up.load.ask(do="asked", port=contender.port), "asked"))
    answer = contender.tells.ask(do="tell", rows=asked)
    counts, lasted_s = answer["counts"], number(answer, "lasted_s")
    assert isinstance(counts, dict)
    return Told(contender.name, asked, counts, contender.facts["per_request"], lasted_s)
