"""A replica leaves or dies: FG1, FG3, and its events (FL6, FL7).

Not here: upgrades, overload.
"""

from collections.abc import Iterator

from chaos.experiments import faults
from chaos.experiments.experiment import Broken, Expected, Experiment, Spans
from chaos.experiments.reading import ended, good, in_fault, share
from sim.journal.calls import Call

VICTIM = "gw2"

SLOTS_BACK_S = 16.0
"""A lease's time and the look that finds it over (FG3)."""


def _of_victim(broken: Broken) -> list[Call]:
    """Give the calls that were under way there when it ended."""
    return [
        call
        for call in broken.watch.calls.values()
        if call.gateway == VICTIM and call.sent_at <= broken.began_at < call.over_at
    ]


def _others(broken: Broken) -> list[Call]:
    return [call for call in ended(in_fault(broken)) if call.gateway != VICTIM]


def _killed(broken: Broken) -> Iterator[Expected]:
    others = _others(broken)
    fine = good(others)
    rest = [fact for fact in broken.journal.of("slots_seen") if fact.at > broken.began_at + SLOTS_BACK_S]
    held = [fact for fact in rest if fact.at > broken.watch.ends_at - 1.0 and fact.number("busy")]
    words = (
        f"{share(len(fine), len(others))} calls of the other replicas are answered, {len(held)} slots stay taken"
    )
    yield Expected("FG3", len(fine) == len(others) > 0 and not held, words)


def _leaves(broken: Broken) -> Iterator[Expected]:
    under_way, others = _of_victim(broken), _others(broken)
    cut = [call for call in ended(under_way) if call not in good(under_way)]
    fine = good(others)
    words = f"{len(cut)} of {len(under_way)} under way are cut, {share(len(fine), len(others))} elsewhere answered"
    yield Expected("FG1", bool(under_way) and not cut and len(fine) == len(others) > 0, words)
    booked = {fact.text("request_id") for fact in broken.journal.of("usage")}
    lost = [call for call in good(under_way) if call.request_id not in booked]
    yield Expected("FL7", bool(under_way) and not lost, f"{len(lost)} of its last calls are booked nowhere")


GATEWAY_EXPERIMENTS = (
    Experiment(
        "replica-killed",
        "one of three replicas is killed (SIGKILL), and started again",
        ("FG3",),
        faults.replica_is_killed(VICTIM),
        lambda broken: len([call for call in in_fault(broken) if call.gateway == VICTIM]),
        _killed,
        spans=Spans(fault_s=6.0, after_s=14.0),
    ),
    Experiment(
        "replica-leaves",
        "one of three replicas is asked to leave (SIGTERM), and started again",
        ("FG1", "FL7"),
        faults.replica_leaves(VICTIM),
        lambda broken: len(_of_victim(broken)),
        _leaves,
        felt_min=1,
        spans=Spans(fault_s=4.0, after_s=6.0),
    ),
)
