"""A vendor stalls, fails for long, limits, errs inside of a 200: FV4 to FV8.

That nothing visible is asked twice and that nobody is asked in vain is what the judges say too (I5, I12). Not
here: what is no answer at all (`nonsense.py`), nodes (`nodes.py`), other ways to fail (`targets.py`).
"""

from collections.abc import Iterator

from chaos.experiments import faults
from chaos.experiments.asked_of import (
    CLOSED,
    ERROR_EVENT,
    HALF_OPEN,
    OPEN,
    Turned,
    asked_of,
    breaker_of,
    exchanges_of,
    settled,
    struck,
    words_of,
)
from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.in_turn import Turn, of_turns
from chaos.experiments.reading import CLOUD, ended, good, in_fault, share
from chaos.stand import modes
from chaos.stand.settings import StandSettings
from chaos.traffic.load import Mix
from sim.journal.calls import Call, Exchange

FIRST, SECOND, THIRD = "cloud-a", "cloud-b", "cloud-c"
"""Vendors in the order in which they are asked."""

INTERRUPTED = "stream_interrupted"

# FV4

IDLE_S = 2.0

STALLING = StandSettings(idle_timeout_s=IDLE_S, total_timeout_s=12.0)
"""Silence is long enough after 2 s; without that timer a call has 12 s in all."""

STALL_SLACK_S = 1.0
"""What the idle timer may take longer on a machine that is busy, text that was shown before it included."""


def _stalled(broken: Broken) -> list[Call]:
    """Give the streams that had shown something when their vendor fell silent, and whose clients stayed."""
    return ended([call for call, _ in struck(broken, "FV4", FIRST)])


def _stalls(broken: Broken) -> Iterator[Expected]:
    calls = _stalled(broken)
    told = [call for call in calls if call.outcome == ERROR_EVENT and call.code == INTERRUPTED]
    rest = [call for call in ended(in_fault(broken)) if call not in calls]
    words = (
        f"{share(len(told), len(calls))} end in an error event, {share(len(good(rest)), len(rest))} others well"
    )
    yield Expected("FV4", len(told) == len(calls) > 0 and len(good(rest)) == len(rest), words)
    longest_s = _longest_s(broken)
    yield Expected("FV4", 0 < longest_s <= IDLE_S + STALL_SLACK_S, f"the longest of them takes {longest_s:.2f} s")
    booked = settled(broken, calls, FIRST)
    words = f"what was delivered is booked of {share(len(booked), len(calls))}"
    yield Expected("FV4", len(booked) == len(calls) > 0, words)


def _longest_s(broken: Broken) -> float:
    return max((call.over_at - call.sent_at for call in _stalled(broken)), default=0.0)


# FV5, FV6

FAILURES_MAX, OPEN_S = 5, 30.0
"""As documented, written down apart from the product."""

FAILS_S = 25.0
"""Well again before the first trial, so that it is a good one."""

ON_ITS_WAY_S = 1.0

OPENS_S = 3.0
"""By then five calls of each gateway have failed."""

SLOW_TRIAL = StandSettings(clouds=(FIRST, SECOND), first_token_s=0.5)
"""A trial takes half a second, and other calls come meanwhile."""

ALL_CLOUD = Mix(placements={"cloud_only": 1.0}, rate_per_s=40.0)


def _breaks(broken: Broken) -> Iterator[Expected]:
    gateways = _gateways(broken)
    turned = breaker_of(broken, FIRST)
    opened = _first_of(turned, OPEN)
    asked = [
        one
        for moved in opened.values()
        for one in asked_of(broken, FIRST, moved.at + ON_ITS_WAY_S, moved.at + OPEN_S * 0.99, moved.gateway)
    ]
    words = f"{share(len(opened), len(gateways))} breakers open, {len(asked)} calls are let through while they are"
    yield Expected("FV5", opened.keys() == gateways != set() and not asked, words)
    at = min((moved.at for moved in opened.values()), default=broken.began_at)
    early = [len(asked_of(broken, FIRST, broken.began_at, at, name)) for name in gateways]
    words = f"{max(early, default=0)} at most are asked of one gateway before, the fifth failure opens"
    yield Expected("FV5", max(early, default=0) >= 1 and at <= broken.began_at + OPENS_S, words)
    calls = ended(in_fault(broken))
    words = f"{share(len(good(calls)), len(calls))} calls are answered by somebody"
    yield Expected("FV5", len(good(calls)) == len(calls) > 0, words)
    yield from _trials(broken, turned, opened)


def _trials(broken: Broken, turned: list[Turned], opened: dict[str, Turned]) -> Iterator[Expected]:
    halves, shut = _first_of(turned, HALF_OPEN), _last_of(turned)
    on_time = [
        name for name, half in halves.items() if name in opened and half.at - opened[name].at >= OPEN_S * 0.99
    ]
    alone = [half for half in halves.values() if len(_while_half_open(broken, turned, half)) == 1]
    came = [half for half in halves.values() if _came_meanwhile(broken, turned, half)]
    words = (
        f"{share(len(on_time), len(opened))} trials come after {OPEN_S:.0f} s,"
        f" {share(len(alone), len(halves))} alone, {len(came)} while others came"
    )
    yield Expected("FV6", len(on_time) == len(alone) == len(opened) > 0 and len(came) > 0, words)
    closed = [moved for moved in shut.values() if moved.state == CLOSED]
    used = [moved for moved in closed if asked_of(broken, FIRST, moved.at, broken.watch.ends_at, moved.gateway)]
    words = f"{share(len(used), len(opened))} vendors are used again after a good trial"
    yield Expected("FV6", len(used) == len(opened) > 0, words)


def _gateways(broken: Broken) -> set[str]:
    return {call.gateway for call in in_fault(broken)}


def _first_of(turned: list[Turned], state: int) -> dict[str, Turned]:
    return {moved.gateway: moved for moved in reversed(turned) if moved.state == state}


def _last_of(turned: list[Turned]) -> dict[str, Turned]:
    return {moved.gateway: moved for moved in turned}


def _half_open_until(turned: list[Turned], half: Turned) -> float:
    of = [moved for moved in turned if moved.gateway == half.gateway and moved.state != HALF_OPEN]
    later = [moved.at for moved in of if moved.at > half.at]
    return min(later, default=half.at)


def _while_half_open(broken: Broken, turned: list[Turned], half: Turned) -> list[Exchange]:
    """Give what was asked of the vendor while one trial was under way, that trial included."""
    return asked_of(broken, FIRST, half.at - LOGGED_S, _half_open_until(turned, half) - LOGGED_S, half.gateway)


LOGGED_S = 0.005
"""A line of the log has whole milliseconds, and a target notes what it is asked a little later."""


def _came_meanwhile(broken: Broken, turned: list[Turned], half: Turned) -> bool:
    until = _half_open_until(turned, half)
    return any(
        half.at < call.sent_at < until - LOGGED_S
        for call in broken.watch.calls.values()
        if call.gateway == half.gateway
    )


def _most_at_once(broken: Broken) -> float:
    """Give how many calls one gateway asked of the vendor while its breaker was half open."""
    turned = breaker_of(broken, FIRST)
    halves = [moved for moved in turned if moved.state == HALF_OPEN]
    return float(max((len(_while_half_open(broken, turned, half)) for half in halves), default=0))


# FV7

REST_S = 4.0

LIMITS = StandSettings(vendor_keys={FIRST: 0, SECOND: 2})
"""One vendor without a credential, so the target rests, and one with two, of which one rests."""

CLOUD_FIRST = Mix(placements={"cloud_first": 0.8, None: 0.2})

NEXT_S = 2.0
"""Another call comes by then that would use it."""

READ_S = 0.5
"""What was let through before the answer was read has arrived by then."""


def _limits(broken: Broken) -> Iterator[Expected]:
    rests = [_rest_of(broken, call, fact.text("target")) for call, fact in struck(broken, "FV7")]
    early = [one for rest in rests for one in _asked_while_resting(broken, rest)]
    words = f"{len(early)} calls are asked of the {len(rests)} targets and keys that rest"
    yield Expected("FV7", bool(rests) and not early, words)
    due = [rest for rest in rests if rest.told_at + REST_S + NEXT_S < broken.ended_at]
    again = [rest for rest in due if _asked_after(broken, rest)]
    yield Expected("FV7", len(again) == len(due) > 0, f"{share(len(again), len(due))} are used again then")
    others = [one for rest in rests for one in _others_of(broken, rest)]
    yield Expected("FV7", bool(others), f"{len(others)} calls use the other key of the same vendor meanwhile")
    calls = ended(in_fault(broken))
    words = f"{share(len(good(calls)), len(calls))} calls are answered by somebody"
    yield Expected("FV7", len(good(calls)) == len(calls) > 0, words)
    opened = [moved for cloud in (FIRST, SECOND) for moved in breaker_of(broken, cloud)]
    yield Expected("FV7", bool(rests) and not opened, f"breakers move {len(opened)} times")


def _told_to_wait(broken: Broken) -> float:
    return float(len(struck(broken, "FV7")))


def _rest_of(broken: Broken, call: Call, target: str) -> Exchange:
    return next(one for one in exchanges_of(broken, call) if one.target == target)


def _same_key(broken: Broken, rest: Exchange, since: float, until: float) -> list[Exchange]:
    found = asked_of(broken, rest.target, since, until, rest.gateway)
    return [one for one in found if one.asked.members["key"] == rest.asked.members["key"]]


def _asked_while_resting(broken: Broken, rest: Exchange) -> list[Exchange]:
    return _same_key(broken, rest, rest.told_at + READ_S, rest.told_at + REST_S * 0.99)


def _asked_after(broken: Broken, rest: Exchange) -> bool:
    return bool(_same_key(broken, rest, rest.told_at + REST_S * 0.99, broken.watch.ends_at))


def _others_of(broken: Broken, rest: Exchange) -> list[Exchange]:
    found = asked_of(broken, rest.target, rest.told_at + READ_S, rest.told_at + REST_S, rest.gateway)
    return [one for one in found if one.asked.members["key"] != rest.asked.members["key"]]


# FV8

THREE = StandSettings(clouds=(FIRST, SECOND, THIRD))

MEANT = of_turns(
    Turn(0.0, FIRST, modes.MEANING, 429.0),
    Turn(0.0, SECOND, modes.MEANING, 500.0, every=2),
    Turn(0.0, THIRD, modes.MEANING, 400.0, every=2),
)
"""The first says that it is asked too often, others now and then: that it failed, that a prompt is too long."""

DEFAULT_REST_S = 5.0
"""How long one rests that did not say for how long."""


def _means(broken: Broken) -> Iterator[Expected]:
    met = {meant: struck(broken, "FV8", name) for name, meant in ((FIRST, 429), (SECOND, 500), (THIRD, 400))}
    too_long = {call.name for call, _ in met[400]}
    for meant, name in ((429, FIRST), (500, SECOND)):
        calls = ended([call for call, _ in met[meant] if call.name not in too_long])
        right = [call for call in good(calls) if words_of(call).get(name) == str(meant)]
        words = f"{share(len(right), len(calls))} that mean {meant} go on to the next"
        yield Expected("FV8", len(right) == len(calls) > 0, words)
    calls = ended([call for call, _ in met[400]])
    right = [call for call in calls if (call.status, call.code) == (400, "context_length_exceeded")]
    words = f"{share(len(right), len(calls))} that mean 400 are told so"
    yield Expected("FV8", len(right) == len(calls) > 0, words)
    rests = [_rest_of(broken, call, FIRST) for call, _ in met[429]]
    early = [
        one
        for rest in rests
        for one in _same_key(broken, rest, rest.told_at + READ_S, rest.told_at + DEFAULT_REST_S * 0.99)
    ]
    yield Expected("FV8", bool(rests) and not early, f"{len(early)} calls use a key that rests after a 429")


def _misunderstood(broken: Broken) -> float:
    """Count the calls that were not told what an error inside of a 200 said of them."""
    wrong = [
        call
        for call, _ in struck(broken, "FV8", THIRD)
        if call.left is None and (call.status, call.code) != (400, "context_length_exceeded")
    ]
    return float(len(wrong))


VENDOR_EXPERIMENTS = (
    Experiment(
        "vendor-stalls",
        "every third answer of a vendor falls silent in the middle",
        ("FV4",),
        faults.of_target(FIRST, modes.STALL_MIDWAY, every=3),
        lambda broken: len(_stalled(broken)),
        _stalls,
        felt_min=10,
        settings=STALLING,
        mix=Mix(placements={None: 0.4, CLOUD: 0.6}),
        figure=Figure("idle-timer", "longest stream that fell silent (s)", _longest_s, 8.0),
    ),
    Experiment(
        "vendor-breaks",
        f"a vendor answers 500 for {FAILS_S:.0f} s, and is well before its first trial",
        ("FV5", "FV6"),
        faults.of_target(FIRST, modes.STATUS, amount=500.0),
        lambda broken: len(asked_of(broken, FIRST, broken.began_at, broken.ended_at)),
        _breaks,
        felt_min=3 * FAILURES_MAX,
        spans=Spans(before_s=2.0, fault_s=FAILS_S, after_s=9.0),
        settings=SLOW_TRIAL,
        mix=ALL_CLOUD,
        figure=Figure("one-trial", "calls let through by a breaker that is half open", _most_at_once, 4.0, 3.0),
    ),
    Experiment(
        "vendor-limits",
        f"vendors answer 429, and say to wait for {REST_S:.0f} s",
        ("FV7",),
        of_turns(Turn(0.0, FIRST, modes.LIMITED, REST_S), Turn(0.0, SECOND, modes.LIMITED, REST_S)),
        lambda broken: len(struck(broken, "FV7")),
        _limits,
        felt_min=4,
        settings=LIMITS,
        mix=CLOUD_FIRST,
        figure=Figure(
            "rests", "calls that are told to wait", lambda broken: float(len(struck(broken, "FV7"))), 60.0
        ),
    ),
    Experiment(
        "vendor-means",
        "vendors answer 200 with an error inside, that means 429, 500 and 400",
        ("FV8",),
        MEANT,
        lambda broken: len(struck(broken, "FV8")),
        _means,
        felt_min=20,
        settings=THREE,
        mix=Mix(placements={CLOUD: 0.8, None: 0.2}),
        figure=Figure("meaning-in-200", "calls whose error was taken for another", _misunderstood, 10.0),
    ),
)
