"""A replica leaves, is hurried, dies; all are restarted in turn: FG1, FG2, FG3, and their events (FL7).

Streams of seconds are under way all the while, since whoever leaves must wait for them. Not here: too much to do
(`crowds.py`), a loop that stands still (`stalls.py`).
"""

from collections.abc import Iterator, Sequence

from chaos.experiments import faults, replicas
from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.gauges import gauges
from chaos.experiments.reading import ended, good, in_fault, share
from chaos.stand.settings import StandSettings
from chaos.traffic.load import Mix
from sim.journal.calls import Call
from sim.journal.fact import Fact

VICTIM = "gw2"

SLOTS_BACK_S = 16.0
"""A lease's time and the look that finds it over (FG3)."""

AT_ONCE_S = 2.0
"""What a machine with other things to do needs to end a process that does not wait for anybody (FG2)."""

STREAMS = Mix(
    rate_per_s=25.0,
    long=0.5,
    long_tokens=40,
    placements={None: 0.8, "cloud_only": 0.2},
    balanced=True,
)
"""Some fifty streams of four seconds at any moment, besides calls that are shorter."""

FIFTY = StandSettings(slots=64, token_s=0.1)

STREAMS_MIN = 10
"""Under way at a replica when it ends; it has a third of them."""


def under_way(broken: Broken, gateway: str, at: float) -> list[Call]:
    """Give the calls that a gateway had at a moment, but for those whose clients left."""
    calls = broken.watch.calls.values()
    return [call for call in ended(calls) if call.gateway == gateway and call.sent_at <= at < call.over_at]


def _cut(calls: Sequence[Call]) -> list[Call]:
    return [call for call in calls if call not in good(calls)]


def _elsewhere(broken: Broken) -> list[Call]:
    return [call for call in ended(in_fault(broken)) if call.gateway != VICTIM]


def _not_answered(broken: Broken) -> list[Call]:
    """Give the calls that failed: whom nobody took in has only lost the way, and asks again elsewhere."""
    since = broken.began_at - 5.0
    return [
        call
        for call in ended(broken.watch.calls.values())
        if call.sent_at >= since and call.status != 401 and call.outcome != "refused" and call not in good([call])
    ]


def slots_back_s(broken: Broken) -> float:
    """Give how long slots of a replica that ended stayed taken; without end where nobody looked."""
    return max(gauges(broken, replicas.SLOTS_BACK), default=float("inf"))


def own_calls_fail(broken: Broken) -> tuple[bool, str]:
    """Tell whether nobody failed but who was under way at the victim when it ended."""
    died = [fact.at for fact in _ends(broken, VICTIM)]
    failed = _not_answered(broken)
    own = [call for call in failed if call.gateway == VICTIM and any(call.sent_at <= at for at in died)]
    others, elsewhere = [call for call in failed if call not in own], _elsewhere(broken)
    fine = good(elsewhere)
    words = f"{len(own)} of its own calls fail and {len(others)} others"
    words += f", {share(len(fine), len(elsewhere))} calls elsewhere are answered"
    return len(fine) == len(elsewhere) > 0 and not others, words


def _ends(broken: Broken, gateway: str) -> list[Fact]:
    return [fact for fact in broken.journal.of("host_crashed", "host_stopped") if fact.host == gateway]


def _killed(broken: Broken) -> Iterator[Expected]:
    holds, words = own_calls_fail(broken)
    yield Expected("FG3", holds, words)
    back_s = slots_back_s(broken)
    yield Expected("FG3", back_s <= SLOTS_BACK_S, f"slots are back after {back_s:.1f} s")


def _hurried(broken: Broken) -> Iterator[Expected]:
    holds, words = own_calls_fail(broken)
    yield Expected("FG2", holds, words)
    gone_s, back_s = _gone_after_s(broken), slots_back_s(broken)
    yield Expected("FG2", gone_s <= AT_ONCE_S, f"it is gone {gone_s:.2f} s after the second signal")
    yield Expected("FG2", back_s <= SLOTS_BACK_S, f"slots are back after {back_s:.1f} s")


def _gone_after_s(broken: Broken) -> float:
    return max(gauges(broken, replicas.GONE_AFTER), default=float("inf"))


def _leaves(broken: Broken) -> Iterator[Expected]:
    caught, others = under_way(broken, VICTIM, broken.began_at), _elsewhere(broken)
    cut, fine = _cut(caught), good(others)
    words = f"{len(cut)} of {len(caught)} under way are cut, {share(len(fine), len(others))} elsewhere answered"
    yield Expected("FG1", bool(caught) and not cut and len(fine) == len(others) > 0, words)
    booked = {fact.text("request_id") for fact in broken.journal.of("usage")}
    lost = [call for call in good(caught) if call.request_id not in booked]
    yield Expected("FL7", bool(caught) and not lost, f"{len(lost)} of its last calls are booked nowhere")


def restarts(broken: Broken) -> Sequence[tuple[Fact, list[Call]]]:
    """Give each leaving of a replica with the calls that it had then."""
    return [
        (fact, under_way(broken, fact.host, fact.at))
        for fact in broken.journal.of("drain_begun")
        if _on(fact, broken)
    ]


def _on(fact: Fact, broken: Broken) -> bool:
    return broken.began_at <= fact.at <= broken.ended_at


def failed_calls(broken: Broken) -> int:
    """Count the calls that failed from the beginning of the fault to the end of the run."""
    return broken.during.failed + broken.after().failed + len(_cut(_caught(broken)))


def _caught(broken: Broken) -> list[Call]:
    """Give the calls that were under way when the fault began."""
    return [call for call in ended(broken.watch.calls.values()) if call.sent_at < broken.began_at < call.over_at]


def rolled(broken: Broken) -> tuple[bool, str]:
    """Tell whether every replica was restarted under streams, and no call failed."""
    found = restarts(broken)
    hosts = {fact.host for fact, _ in found}
    fewest = min((len(calls) for _, calls in found), default=0)
    failed = failed_calls(broken)
    words = f"{failed} calls fail while {len(hosts)} replicas restart, each with {fewest} calls or more under way"
    return failed == 0 and len(hosts) > 1 and fewest >= STREAMS_MIN, words


def _rolling(broken: Broken) -> Iterator[Expected]:
    holds, words = rolled(broken)
    yield Expected("FG1", holds, words)


def caught_at_end(broken: Broken) -> int:
    """Count the calls that were under way at the victim when it ended, or was asked to."""
    return len(under_way(broken, VICTIM, broken.began_at))


GATEWAY_EXPERIMENTS = (
    Experiment(
        "replica-killed",
        "one of three replicas is killed (SIGKILL), and started again",
        ("FG3",),
        replicas.killed(VICTIM),
        caught_at_end,
        _killed,
        felt_min=STREAMS_MIN,
        spans=Spans(before_s=5.0, fault_s=2.0, after_s=3.0),
        long=Spans(before_s=10.0, fault_s=5.0, after_s=15.0),
        settings=FIFTY,
        mix=STREAMS,
        figure=Figure("lease-ends-by-itself", "its slots are back (s)", slots_back_s, 19.0, 1.2),
    ),
    Experiment(
        "replica-hurried",
        "one of three replicas gets SIGTERM twice, and is started again",
        ("FG2",),
        replicas.hurried(VICTIM),
        caught_at_end,
        _hurried,
        felt_min=STREAMS_MIN,
        spans=Spans(before_s=5.0, fault_s=2.0, after_s=3.0),
        long=Spans(before_s=10.0, fault_s=5.0, after_s=15.0),
        settings=FIFTY,
        mix=STREAMS,
        figure=Figure("second-signal", "gone after the second signal (s)", _gone_after_s, 2.0),
    ),
    Experiment(
        "replica-leaves",
        "one of three replicas is asked to leave (SIGTERM), and started again",
        ("FG1", "FL7"),
        faults.replica_leaves(VICTIM),
        caught_at_end,
        _leaves,
        felt_min=STREAMS_MIN,
        spans=Spans(before_s=5.0, fault_s=2.0, after_s=5.0),
        long=Spans(before_s=10.0, fault_s=5.0, after_s=15.0),
        settings=FIFTY,
        mix=STREAMS,
        figure=Figure("drain-waits", "calls that fail", failed_calls, 5.0),
    ),
    Experiment(
        "rolling-restart",
        "three replicas are restarted one after the other under fifty streams",
        ("FG1",),
        replicas.restarted_in_turn,
        lambda broken: sum(len(calls) for _, calls in restarts(broken)),
        _rolling,
        felt_min=3 * STREAMS_MIN,
        spans=Spans(before_s=5.0, fault_s=1.0, after_s=4.0),
        settings=FIFTY,
        mix=STREAMS,
        figure=Figure("drain-waits", "calls that fail", failed_calls, 10.0),
        long=Spans(before_s=10.0, fault_s=5.0, after_s=15.0),
    ),
)
