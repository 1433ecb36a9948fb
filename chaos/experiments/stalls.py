"""A loop that stands still is measured and shown, and large bodies do not let it stand still: FG7.

One replica is stopped several times (SIGSTOP); another is given bodies of megabytes beside its calls. Not here:
loops that are late for good (overload in the simulator).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.gauges import gauges
from chaos.experiments.reading import ended, good, in_fault, share, told
from chaos.stand.settings import StandSettings
from chaos.stand.stand import Stand
from chaos.traffic.caller import callers
from chaos.traffic.load import Mix
from chaos.traffic.question import Question

STOPPED, FED, ASIDE = "gw1", "gw2", "gw3"

STALLS = 4
STALL_S, BETWEEN_S = 0.5, 1.2
"""Apart by more than a look at the metrics (1 s), so that each look tells of one."""

SLACK_S = 0.3
"""What a machine with other things to do adds."""

BLINK_S = 0.02
LOOK_S = 0.1
"""Its own look may have been due at any moment of a stall."""

BODIES = 3
TURNS = 200_000
"""Of one body: about eight megabytes of small messages, whose reading takes a third of a second."""

NEVER_STILL_S = 0.2
"""Below what one of these bodies would cost on the loop of a machine that has nothing else to do."""

UNREST_MAX = 2.0
"""A machine that has: so many times the lag of the replica that neither is stopped nor fed."""

FED_NAME = "large"


@asynccontextmanager
async def stops_and_large_bodies(stand: Stand) -> AsyncIterator[None]:
    """Stop one replica again and again, then give another one large bodies, one after the other."""
    gateway = stand.gateway(STOPPED)
    for _ in range(STALLS):
        gateway.freeze()
        await asyncio.sleep(STALL_S)
        gateway.thaw()
        await asyncio.sleep(BETWEEN_S)
    urls = {FED: stand.gateway(FED).url}
    async with callers(urls, stand.keys, stand.journal) as caller:
        for number in range(BODIES):
            key = stand.keys.names[0]
            await caller.make(
                Question(f"{FED_NAME}-{number}", FED, key, tokens=3, placement="cloud_only", turns=TURNS)
            )
    yield


def blocked(broken: Broken) -> float:
    """Give how many stalls the stopped replica has counted while it was stopped."""
    counts = gauges(broken, "loop_blocked", host=STOPPED)
    before = [
        fact.number("value")
        for fact in broken.journal.of("gauge")
        if fact.members["name"] == "loop_blocked" and fact.host == STOPPED and fact.at <= broken.began_at
    ]
    return max(counts, default=0.0) - max(before, default=0.0)


def _lag_s(broken: Broken, gateway: str) -> float:
    """Give the worst lag that a replica has shown since the fault began."""
    return max(
        (
            fact.number("value")
            for fact in broken.journal.of("gauge")
            if fact.members["name"] == "loop_lag_s" and fact.host == gateway and fact.at >= broken.began_at
        ),
        default=0.0,
    )


def _fed_lag_s(broken: Broken) -> float:
    return _lag_s(broken, FED)


def _longest_s(broken: Broken) -> float:
    """Give how long the longest stall was: signals take a moment on a busy machine."""
    lags = [fact for fact in broken.journal.of("fault") if fact.text("fault") == "lag"]
    return max((fact.number("amount") for fact in lags), default=0.0)


def _expects(broken: Broken) -> Iterator[Expected]:
    counted, lag_s, longest_s = blocked(broken), _lag_s(broken, STOPPED), _longest_s(broken)
    words = f"{counted:.0f} stalls counted of {STALLS}, the longest of {longest_s:.2f} s shown as {lag_s:.2f} s"
    shown = longest_s - LOOK_S - BLINK_S <= lag_s <= longest_s + SLACK_S
    yield Expected("FG7", counted >= STALLS and shown, words)
    lines = [
        fact for fact in broken.journal.of("log") if fact.text("name") == "loop_blocked" and fact.host == STOPPED
    ]
    refused = told(in_fault(broken), "overloaded")
    yield Expected(
        "FG7", bool(lines) and not refused, f"{len(lines)} lines tell of it, {len(refused)} are refused"
    )
    calls = ended(in_fault(broken))
    fine, large = good(calls), [call for call in good(calls) if call.name.startswith(FED_NAME)]
    words = f"{share(len(fine), len(calls))} calls are answered, {len(large)} large ones"
    yield Expected("FG7", len(fine) == len(calls) and len(large) == BODIES, words)
    fed_s, aside_s = _fed_lag_s(broken), _lag_s(broken, ASIDE)
    words = (
        f"beside large bodies the loop is {1000 * fed_s:.0f} ms late at most, elsewhere {1000 * aside_s:.0f} ms"
    )
    yield Expected("FG7", 0 < fed_s <= NEVER_STILL_S + UNREST_MAX * aside_s, words)


STALL_EXPERIMENTS = (
    Experiment(
        "loop-stalls",
        "a replica stands still again and again, and another is given large bodies",
        ("FG7",),
        stops_and_large_bodies,
        lambda broken: len([call for call in in_fault(broken) if call.gateway == STOPPED]),
        _expects,
        spans=Spans(before_s=2.0, fault_s=1.5, after_s=3.0),
        settings=StandSettings(slots=64),
        mix=Mix(rate_per_s=30.0, placements={None: 0.5, "cloud_only": 0.5}),
        figure=Figure("heavy-bodies-beside", "worst lag of the loop beside large bodies (s)", _fed_lag_s, 0.25),
    ),
)
