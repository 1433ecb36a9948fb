"""Redis refuses, hangs, is slow, comes back, comes back empty: FR1 to FR11 and FR14.

Not here: the same in the simulator (`sim/scenarios`), dollars that must be counted (`money.py`).
"""

from collections.abc import Iterator

from chaos.experiments import faults
from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.reading import (
    EITHER,
    NODES,
    after_fault,
    answered_by,
    calls_of,
    ended,
    felt_by_all,
    good,
    in_fault,
    looks,
    of_keys,
    placed,
    share,
    told,
)
from chaos.proxy.proxy import Proxy
from chaos.stand.settings import REDIS, KeyWish, StandSettings

TIMEOUT_MS = 100
"""The default of KTMS_REDIS_TIMEOUT_MS; the stand's own is longer, for machines that are busy."""

NOTICED_S = 1.0
"""Calls of the first second may have begun while Redis still answered."""

BACK_S = 3.0
"""Used again within this (FR10)."""

RATED = "rated"

LIMITED = StandSettings(
    keys=(KeyWish("app-1"), KeyWish("app-2"), KeyWish(RATED, ("--rpm", "1"))), redis_timeout_ms=TIMEOUT_MS
)
"""One key may make one call a minute: while nobody counts it may make more."""


def _without_redis(broken: Broken) -> Iterator[Expected]:
    """What holds of every outage of Redis, however it looks."""
    calls = ended(calls_of(broken, since_s=NOTICED_S, until_s=broken.ended_at - broken.began_at))
    either, only = placed(calls, *EITHER), placed(calls, NODES)
    by_cloud = answered_by(broken, good(either), "cloud")
    yield Expected(
        "FR5", len(by_cloud) == len(either) > 0, f"the cloud answers {share(len(by_cloud), len(either))}"
    )
    unknown = [call for call in told(only, "node_state_unknown") if call.status == 503]
    cloudy = answered_by(broken, only, "cloud")
    words = f"{share(len(unknown), len(only))} calls of the nodes alone are told so, {len(cloudy)} reach a cloud"
    yield Expected("FR6", len(unknown) == len(only) > 0 and not cloudy, words)
    yield from _readiness(broken)


def _readiness(broken: Broken) -> Iterator[Expected]:
    seen = looks(broken, broken.began_at + 2.0, broken.ended_at)
    degraded = [fact for fact in seen if fact.members["status"] == 200 and fact.members["state"] == "degraded"]
    yield Expected("FR14", len(degraded) == len(seen) > 0, f"{share(len(degraded), len(seen))} looks say degraded")


def _rates_are_off(broken: Broken) -> Iterator[Expected]:
    calls = of_keys(ended(calls_of(broken, since_s=NOTICED_S, until_s=broken.ended_at - broken.began_at)), RATED)
    passed = [call for call in calls if call.status != 429]
    before = told(of_keys(calls_of(broken, since_s=-60.0, until_s=0.0), RATED), "rate_limit_exceeded")
    words = f"{share(len(passed), len(calls))} of a key over its rate pass, {len(before)} were refused before"
    yield Expected("FR1", len(passed) == len(calls) > 0 and bool(before), words)


def _down(broken: Broken) -> Iterator[Expected]:
    yield from _rates_are_off(broken)
    yield from _without_redis(broken)
    yield from _is_back(broken)


def _is_back(broken: Broken) -> Iterator[Expected]:
    calls = [call for call in ended(after_fault(broken, BACK_S)) if call.status != 429]
    nodes = answered_by(broken, good(placed(calls, NODES)), "node")
    wanted = placed(calls, NODES)
    bad = [call for call in calls if call.status in (500, 502, 503, 504)]
    words = f"nodes answer {share(len(nodes), len(wanted))} of theirs {BACK_S:.0f} s later, {len(bad)} calls fail"
    yield Expected("FR10", len(nodes) == len(wanted) > 0 and not bad, words)


def _hung(broken: Broken) -> Iterator[Expected]:
    first, later = broken.between(0.0, 2.0), broken.between(2.5, broken.ended_at - broken.began_at)
    usual_s = broken.before.added_share_s(0.99)
    paid_s = first.worst_added_s - usual_s
    once_s = TIMEOUT_MS / 1000 + SLACK_S
    yield Expected("FR8", 0 < paid_s <= once_s, f"{1000 * paid_s:.0f} ms at most are added in the first 2 s")
    extra_s = later.added_share_s(0.99) - usual_s
    words = f"p99 of what is added is {1000 * extra_s:.1f} ms above the usual once it is left alone"
    yield Expected("FR7", later.good > 0 and extra_s <= LEFT_ALONE_S, words)
    yield from _without_redis(broken)


SLACK_S = 0.15
"""What a machine with two processors adds to a timeout while three gateways and all their clients run on it."""

LEFT_ALONE_S = 0.05
"""A trial every two seconds costs nobody a timeout; the rest is the machine."""


def _slow(broken: Broken) -> Iterator[Expected]:
    later = broken.between(2.5, broken.ended_at - broken.began_at)
    extra_s = later.added_share_s(0.99) - broken.before.added_share_s(0.99)
    words = f"p99 of what is added is {1000 * extra_s:.1f} ms above the usual"
    yield Expected("FR9", later.good > 0 and extra_s <= LEFT_ALONE_S, words)
    yield from _without_redis(broken)


def _empty(broken: Broken) -> Iterator[Expected]:
    back = next(_is_back(broken))
    yield Expected("FR11", back.holds, back.text)


async def _down_of(proxy: Proxy) -> None:
    await proxy.down()


async def _hang_of(proxy: Proxy) -> None:
    await proxy.hang()


async def _slow_of(proxy: Proxy) -> None:
    await proxy.slow(2000)


def _still_added_s(broken: Broken) -> float:
    later = broken.between(2.5, broken.ended_at - broken.began_at)
    return max(0.0, later.added_share_s(0.99) - broken.before.added_share_s(0.99))


def _refused_rates(broken: Broken) -> float:
    calls = of_keys(ended(calls_of(broken, since_s=NOTICED_S, until_s=broken.ended_at - broken.began_at)), RATED)
    return len([call for call in calls if call not in good(calls) and call.code != "node_state_unknown"])


def _without_nodes(broken: Broken) -> float:
    wanted = placed(ended(after_fault(broken, BACK_S)), NODES)
    return len(wanted) - len(answered_by(broken, good(wanted), "node"))


LEFT_ALONE = Figure("redis-left-alone", "p99 of what is added once Redis is left alone (s)", _still_added_s, 0.08)

REDIS_EXPERIMENTS = (
    Experiment(
        "redis-down",
        "Redis refuses every connection",
        ("FR1", "FR5", "FR6", "FR10", "FR14"),
        faults.of_proxy(REDIS, "redis_away", _down_of),
        felt_by_all,
        _down,
        settings=LIMITED,
        long=Spans(before_s=5.0, fault_s=30.0, after_s=10.0),
        figure=Figure(
            "rates-are-skipped", "calls of a key with a rate that fail meanwhile", _refused_rates, worse_min=20.0
        ),
    ),
    Experiment(
        "redis-hung",
        "Redis takes what is sent and answers nothing",
        ("FR5", "FR6", "FR7", "FR8", "FR14"),
        faults.of_proxy(REDIS, "redis_hung", _hang_of),
        felt_by_all,
        _hung,
        settings=StandSettings(redis_timeout_ms=TIMEOUT_MS),
        long=Spans(before_s=5.0, fault_s=30.0, after_s=10.0),
        figure=LEFT_ALONE,
    ),
    Experiment(
        "redis-frozen",
        "the process of Redis stands still (SIGSTOP)",
        ("FR5", "FR6", "FR7", "FR8", "FR14"),
        faults.redis_stands_still,
        felt_by_all,
        _hung,
        settings=StandSettings(redis_timeout_ms=TIMEOUT_MS),
        figure=LEFT_ALONE,
        long=Spans(before_s=5.0, fault_s=30.0, after_s=10.0),
    ),
    Experiment(
        "redis-slow",
        "every answer of Redis comes 2 s late",
        ("FR5", "FR6", "FR9", "FR14"),
        faults.of_proxy(REDIS, "redis_slow", _slow_of, amount=2.0),
        felt_by_all,
        _slow,
        settings=StandSettings(redis_timeout_ms=TIMEOUT_MS),
        long=Spans(before_s=5.0, fault_s=30.0, after_s=10.0),
        figure=LEFT_ALONE,
    ),
    Experiment(
        "redis-empty",
        "Redis is killed and comes back with nothing",
        ("FR11",),
        faults.redis_restarts_empty,
        lambda broken: len(in_fault(broken)),
        _empty,
        spans=Spans(fault_s=4.0, after_s=20.0),
        figure=Figure(
            "scripts-are-loaded-again",
            "calls of our own nodes alone that fail 3 s after it is back, and later",
            _without_nodes,
            worse_min=10.0,
        ),
    ),
)
