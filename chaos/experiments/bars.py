"""The figures to reach: what the product promises of its worst hours, at full length and at full rate.

Each bar is an experiment with the times that the product ships with, outages at 200 calls a second; what it
expects says the bar and what was measured, with a colon between. Not here: the shorter experiments that every
change is tried on.
"""

from collections.abc import Iterator

from chaos.experiments import faults, replicas
from chaos.experiments.experiment import Broken, Expected, Experiment, Spans
from chaos.experiments.gateway import (
    FIFTY,
    SLOTS_BACK_S,
    STREAMS,
    STREAMS_MIN,
    VICTIM,
    caught_at_end,
    own_calls_fail,
    restarts,
    rolled,
    slots_back_s,
)
from chaos.experiments.reading import felt_by_all, good, in_fault
from chaos.proxy.proxy import Proxy
from chaos.stand.settings import LEDGER, POSTGRES, REDIS, StandSettings
from chaos.traffic.load import Mix

RATE_PER_S = 200.0

MIXED = Mix(
    rate_per_s=RATE_PER_S,
    tokens_min=1,
    tokens_max=4,
    placements={None: 0.6, "cloud_only": 0.2, "nodes_first": 0.2},
)
"""Short answers: whoever asks and answers runs on this machine too, and takes more of it than the gateways."""

SHIPPED = StandSettings(slots=64).as_shipped()

USUAL_BAR_S = 0.05
"""A machine that adds more than this to calls before anything is broken is too slow to tell of milliseconds."""

USUAL_S = 6.0
"""Of the time before: everything is warm by then."""

FIRST_S = 2.0
FIRST_BAR_S, LATER_BAR_S, RECOVERY_BAR_S = 0.150, 0.005, 3.0


def at_most(name: str, what: str, measured: float, bar: float, unit: str, *, scale: float = 1.0) -> Expected:
    """Hold a figure against its bar."""
    words = f"{what} <= {scale * bar:g} {unit}: {scale * measured:.3g} {unit}"
    return Expected(name, measured <= bar, words)


def _none_fail(broken: Broken, name: str) -> Expected:
    """Hold it against the bar that no call of a known key fails."""
    during = broken.during
    words = f"0 calls of known keys fail: {during.failed} of {during.calls}"
    return Expected(name, during.failed == 0 and during.good > 0, words)


def _redis_hung(broken: Broken) -> Iterator[Expected]:
    usual_s, lasted_s = broken.between(-USUAL_S, 0.0).added_share_s(0.99), broken.ended_at - broken.began_at
    first = broken.between(0.0, FIRST_S).added_share_s(0.99) - usual_s
    later = broken.between(FIRST_S, lasted_s).added_share_s(0.99) - usual_s
    yield at_most("FR7", "p99 added before it hangs", usual_s, USUAL_BAR_S, "ms", scale=1000)
    yield at_most("FR8", "p99 added in the first 2 s", max(0.0, first), FIRST_BAR_S, "ms", scale=1000)
    yield at_most("FR7", "p99 added after", max(0.0, later), LATER_BAR_S, "ms", scale=1000)
    yield at_most("FR10", "recovery", broken.recovered_s, RECOVERY_BAR_S, "s")
    yield _none_fail(broken, "FR5")


def _postgres_down(broken: Broken) -> Iterator[Expected]:
    yield _none_fail(broken, "FP1")


def _ledger_down(broken: Broken) -> Iterator[Expected]:
    yield _none_fail(broken, "FL1")
    booked = {fact.text("request_id") for fact in broken.journal.of("usage")}
    calls = [call for call in good(broken.watch.calls.values()) if call.request_id]
    lost = [call for call in calls if call.request_id not in booked]
    words = f"0 events lost with a spool: {len(lost)} of {len(calls)} calls are booked nowhere"
    yield Expected("FL4", not lost and bool(good(in_fault(broken))), words)


def _killed(broken: Broken) -> Iterator[Expected]:
    holds, words = own_calls_fail(broken)
    yield Expected("FG3", holds, f"only its own running requests fail: {words}")
    yield at_most("FG3", "slots back", slots_back_s(broken), SLOTS_BACK_S, "s")


def _rolling(broken: Broken) -> Iterator[Expected]:
    holds, words = rolled(broken)
    yield Expected("FG1", holds, f"0 calls fail: {words}")


async def _hang_of(proxy: Proxy) -> None:
    await proxy.hang()


async def _down_of(proxy: Proxy) -> None:
    await proxy.down()


BARS: dict[str, Experiment] = {
    bar.name: bar
    for bar in (
        Experiment(
            "redis-hung",
            "Redis hangs for 30 s at 200 calls/s",
            ("FR5", "FR7", "FR8", "FR10"),
            faults.of_proxy(REDIS, "redis_hung", _hang_of),
            felt_by_all,
            _redis_hung,
            felt_min=2000,
            spans=Spans(before_s=20.0, fault_s=30.0, after_s=10.0),
            settings=SHIPPED,
            mix=MIXED,
        ),
        Experiment(
            "postgres-down",
            "Postgres is away for 4 minutes at 200 calls/s",
            ("FP1",),
            faults.of_proxy(POSTGRES, "postgres_away", _down_of),
            felt_by_all,
            _postgres_down,
            felt_min=20_000,
            spans=Spans(before_s=5.0, fault_s=240.0, after_s=10.0),
            settings=SHIPPED,
            mix=MIXED,
        ),
        Experiment(
            "ledger-down",
            "the ledger is away for 5 minutes at 200 calls/s",
            ("FL1", "FL4"),
            faults.of_proxy(LEDGER, "ledger_away", _down_of),
            felt_by_all,
            _ledger_down,
            felt_min=25_000,
            spans=Spans(before_s=5.0, fault_s=300.0, after_s=15.0),
            settings=SHIPPED,
            mix=MIXED,
        ),
        Experiment(
            "replica-killed",
            "one of three replicas is killed under fifty streams",
            ("FG3",),
            replicas.killed(VICTIM),
            caught_at_end,
            _killed,
            felt_min=STREAMS_MIN,
            spans=Spans(before_s=6.0, fault_s=5.0, after_s=10.0),
            settings=FIFTY.as_shipped(),
            mix=STREAMS,
        ),
        Experiment(
            "rolling-restart",
            "three replicas are restarted one after the other under fifty streams",
            ("FG1",),
            replicas.restarted_in_turn,
            lambda broken: sum(len(calls) for _, calls in restarts(broken)),
            _rolling,
            felt_min=3 * STREAMS_MIN,
            spans=Spans(before_s=6.0, fault_s=5.0, after_s=10.0),
            settings=FIFTY.as_shipped(),
            mix=STREAMS,
        ),
    )
}
"""By name."""
