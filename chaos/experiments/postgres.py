"""Postgres refuses, hangs, is killed: FP1 to FP8.

Not here: the start without it and the saved snapshot, batches.
"""

from collections.abc import Iterator

from chaos.experiments import faults
from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.reading import ended, felt_by_all, good, in_fault, looks, share
from chaos.proxy.proxy import Proxy
from chaos.stand.client_keys import STRANGER
from chaos.stand.settings import POSTGRES
from chaos.traffic.load import Mix
from sim.journal.calls import Call

STRANGERS = Mix(strangers=0.1)

LOOK_UP_S = 3.0
"""One look-up in all (FP3)."""

SLACK_S = 1.0


def _strangers(broken: Broken) -> list[Call]:
    """Give the calls of unknown keys whose look-up was over before the fault was."""
    return [
        call
        for call in broken.watch.calls.values()
        if broken.began_at + 0.5 <= call.sent_at <= broken.ended_at - LOOK_UP_S - SLACK_S
        and call.sents[0].members["key"] == STRANGER
        and call.code != "stale"
        and call.left is None
    ]


def _known_keys_work(broken: Broken) -> Iterator[Expected]:
    calls = ended(in_fault(broken))
    fine = good(calls)
    yield Expected(
        "FP1", len(fine) == len(calls) > 0, f"{share(len(fine), len(calls))} calls of known keys are answered"
    )
    yield Expected("FP4", len(fine) == len(calls) > 0, "the catalogue they were routed by stays in force")


def _unknown_keys(broken: Broken) -> Iterator[Expected]:
    calls = _strangers(broken)
    right = [call for call in calls if call.status == 503 and call.code == "auth_unavailable"]
    unauthorised = [call for call in calls if call.status == 401]
    words = f"{share(len(right), len(calls))} of unknown keys are told to come back, {len(unauthorised)} get a 401"
    yield Expected("FP2", len(right) == len(calls) > 0, words)


def _readiness(broken: Broken) -> Iterator[Expected]:
    seen = looks(broken, broken.began_at + 2 * LOOK_UP_S, broken.ended_at)
    degraded = [fact for fact in seen if fact.members["status"] == 200 and fact.members["state"] == "degraded"]
    yield Expected("FP6", len(degraded) == len(seen) > 0, f"{share(len(degraded), len(seen))} looks say degraded")


def _down(broken: Broken) -> Iterator[Expected]:
    yield from _known_keys_work(broken)
    yield from _unknown_keys(broken)
    yield from _readiness(broken)
    yield from _is_back(broken)


def _is_back(broken: Broken) -> Iterator[Expected]:
    seen = looks(broken, broken.ended_at + 5.0, broken.watch.ends_at)
    fine = [fact for fact in seen if fact.members["state"] == "ok"]
    later = [
        call
        for call in broken.watch.calls.values()
        if call.sent_at > broken.ended_at + 2.0 and call.sents[0].members["key"] == STRANGER and call.left is None
    ]
    refused = [call for call in later if call.status == 401 or call.code == "stale"]
    words = f"{share(len(fine), len(seen))} looks say ok, {share(len(refused), len(later))} strangers get a 401"
    yield Expected("FP8", len(refused) == len(later) > 0 and len(fine) == len(seen) > 0, words)


def _hung(broken: Broken) -> Iterator[Expected]:
    yield from _known_keys_work(broken)
    yield from _unknown_keys(broken)
    longest = max((call.over_at - call.sent_at for call in _strangers(broken)), default=0.0)
    yield Expected("FP3", 0 < longest <= LOOK_UP_S + SLACK_S, f"the longest look-up takes {longest:.2f} s")


def _failed_known(broken: Broken) -> float:
    calls = ended(in_fault(broken))
    return float(len(calls) - len(good(calls)))


def _added_late_s(broken: Broken) -> float:
    return broken.between(FRESH_S, broken.ended_at - broken.began_at).added_share_s(0.99)


FRESH_S = 10.0
"""From then on no key counts as verified just now."""


async def _down_of(proxy: Proxy) -> None:
    await proxy.down()


async def _hang_of(proxy: Proxy) -> None:
    await proxy.hang()


POSTGRES_EXPERIMENTS = (
    Experiment(
        "postgres-down",
        "Postgres refuses every connection",
        ("FP1", "FP2", "FP4", "FP6", "FP8"),
        faults.of_proxy(POSTGRES, "postgres_away", _down_of),
        felt_by_all,
        _down,
        spans=Spans(fault_s=12.0, after_s=10.0),
        long=Spans(before_s=5.0, fault_s=240.0, after_s=15.0),
        mix=STRANGERS,
        figure=Figure("known-keys-count", "calls of known keys that fail", _failed_known, 30.0),
    ),
    Experiment(
        "postgres-hung",
        "Postgres takes what is sent and answers nothing",
        ("FP1", "FP2", "FP3", "FP4"),
        faults.of_proxy(POSTGRES, "postgres_hung", _hang_of),
        felt_by_all,
        _hung,
        spans=Spans(fault_s=12.0, after_s=10.0),
        long=Spans(before_s=5.0, fault_s=240.0, after_s=15.0),
        mix=STRANGERS,
        figure=Figure("known-keys-do-not-wait", "p99 of what is added to known keys (s)", _added_late_s, 1.0),
    ),
)
