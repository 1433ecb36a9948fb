"""More calls than a replica can hold, and a replica without descriptors: FG6, FG8.

Both strike one of three replicas, whose probes must be answered or wait; the others must not notice. Not here: how
many calls a process takes that may open many files (4,096: the simulator's part).
"""

import asyncio
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import psutil

from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.gauges import gauges, note_gauge
from chaos.experiments.reading import after_fault, ended, good, in_fault, share
from chaos.stand.settings import StandSettings
from chaos.stand.stand import Stand
from chaos.traffic.caller import Caller, callers
from chaos.traffic.load import Mix
from chaos.traffic.question import Question
from sim.journal.calls import Call

VICTIM = "gw1"

FILES_MAX = 256
"""Clients may hold half of what is left beside 128: 64 of them, and 64 more connections are for refusals."""

HELD_MAX = 128

CROWD = 110
"""Streams at once: more than it holds, fewer than the connections it still refuses calls on."""

CROWD_EVERY_S = 0.01
CROWD_TOKENS = 50

PROBE_EVERY_S = 0.2
PROBES_MIN = 10

PROBE_S, REFUSAL_S = "probe_s", "shed"
"""Gauges: how long /healthz took, and how many calls the metric says were refused."""

EARLY_S = 1.0
"""A refusal costs a millisecond; the rest is a machine on which three gateways and all their clients run."""

CPU_SHARE = "cpu_share"
"""Gauge: of one processor, what the replica used while it had no descriptor."""

BUSY_SHARE = 0.2
"""A busy loop uses all that it gets; what goes on is calls on connections that are open."""

NONE_LEFT = 3
"""New descriptors need a number below it, and those are taken for good."""

KNOCKS = 20
"""New clients while there are none; those of before have connections, which they keep."""

FREE_AGAIN = "free_again_at"
"""Gauge: when there were some again."""

BACK_S = 2.0


@asynccontextmanager
async def crowd_comes(stand: Stand) -> AsyncIterator[None]:
    """Let a crowd of streams come to one replica, and ask all the while whether it is alive."""
    gateway = stand.gateway(VICTIM)
    stand.fault("crowd", VICTIM, on=True, amount=CROWD)
    async with callers({VICTIM: gateway.url}, stand.keys, stand.journal) as caller, asyncio.TaskGroup() as group:
        probing = group.create_task(_probe(stand))
        group.create_task(_come(caller, stand.keys.names[0]))
        yield
        probing.cancel()
    shed = await gateway.metric("ktms_calls_shed_total", reason="connections")
    note_gauge(stand, VICTIM, REFUSAL_S, shed or 0.0)
    stand.fault("crowd", VICTIM, on=False)


async def _come(caller: Caller, key: str) -> None:
    async with asyncio.TaskGroup() as calls:
        for number in range(CROWD):
            question = Question(f"crowd-{number}", VICTIM, key, tokens=CROWD_TOKENS, placement="cloud_only")
            calls.create_task(caller.make(question))
            await asyncio.sleep(CROWD_EVERY_S)


async def _probe(stand: Stand) -> None:
    gateway = stand.gateway(VICTIM)
    while True:
        asked_at = stand.journal.now_s
        page = await gateway.page("/healthz")
        stand.journal.note("healthz", VICTIM, status=0 if page is None else page[0])
        note_gauge(stand, VICTIM, PROBE_S, stand.journal.now_s - asked_at)
        await asyncio.sleep(PROBE_EVERY_S)


def _at_victim(broken: Broken) -> list[Call]:
    return [call for call in ended(in_fault(broken)) if call.gateway == VICTIM]


def _refused(broken: Broken) -> list[Call]:
    return [call for call in _at_victim(broken) if call.code == "overloaded"]


def _early(broken: Broken, call: Call) -> bool:
    """Whether it was refused at once, told to come back, with nothing done for it."""
    told = call.status == 503 and call.ends[0].has("retry_after")
    return told and call.over_at - call.sent_at <= EARLY_S and not broken.watch.asked_for.get(call.name)


def _others(broken: Broken) -> list[Call]:
    return [call for call in ended(in_fault(broken)) if call.gateway != VICTIM]


def _overloaded(broken: Broken) -> Iterator[Expected]:
    refused, others = _refused(broken), _others(broken)
    early = [call for call in refused if _early(broken, call)]
    taken = [call for call in _at_victim(broken) if call not in refused]
    slowest_s = max((call.over_at - call.sent_at for call in refused), default=0.0)
    words = f"{share(len(early), len(refused))} are refused early (the slowest after {1000 * slowest_s:.0f} ms)"
    yield Expected("FG6", len(early) == len(refused) > 0, words)
    fine, unharmed = good(taken), good(others)
    words = (
        f"{share(len(fine), len(taken))} that it takes are answered, {share(len(unharmed), len(others))} elsewhere"
    )
    yield Expected("FG6", len(fine) == len(taken) > 0 and len(unharmed) == len(others) > 0, words)
    probes = [fact.number("status") for fact in broken.journal.of("healthz")]
    alive = probes.count(200)
    longest_s = max(gauges(broken, PROBE_S), default=0.0)
    words = f"{share(alive, len(probes))} probes say alive, the longest after {1000 * longest_s:.0f} ms"
    yield Expected("FG6", alive == len(probes) >= PROBES_MIN and longest_s <= EARLY_S, words)
    yield from _bounded(broken, len(refused))
    yield from _is_over(broken, "FG6")


def _bounded(broken: Broken, refused: int) -> Iterator[Expected]:
    held = [fact.number("inflight") for fact in broken.journal.of("sample") if fact.host == VICTIM]
    shed = max(gauges(broken, REFUSAL_S), default=0.0)
    words = f"{max(held, default=0):.0f} calls at once at most, {shed:.0f} counted as refused ({refused} were)"
    yield Expected("FG6", bool(held) and max(held) <= HELD_MAX and shed >= refused > 0, words)


def _is_over(broken: Broken, name: str) -> Iterator[Expected]:
    calls = [call for call in ended(after_fault(broken, BACK_S)) if call.gateway == VICTIM]
    fine = good(calls)
    words = f"{share(len(fine), len(calls))} calls are answered {BACK_S:.0f} s after"
    yield Expected(name, len(fine) == len(calls) > 0, words)


def _badly(broken: Broken) -> float:
    """Count the calls that ended in another way than by an answer or an early refusal, and probes unanswered."""
    calls = [call for call in _at_victim(broken) if call not in good([call]) and not _early(broken, call)]
    return len(calls) + sum(fact.members["status"] != 200 for fact in broken.journal.of("healthz"))


@asynccontextmanager
async def descriptors_run_out(stand: Stand) -> AsyncIterator[None]:
    """Let one replica open nothing more while new clients knock, and measure what it does with its time."""
    gateway = stand.gateway(VICTIM)
    process = psutil.Process(gateway.process.pid)
    limits = process.rlimit(resource.RLIMIT_NOFILE)
    stand.fault("no_files", VICTIM, on=True)
    process.rlimit(resource.RLIMIT_NOFILE, (NONE_LEFT, limits[1]))
    before, since = process.cpu_times(), stand.journal.now_s
    async with callers({VICTIM: gateway.url}, stand.keys, stand.journal) as caller, asyncio.TaskGroup() as group:
        for number in range(KNOCKS):
            question = Question(f"knock-{number}", VICTIM, stand.keys.names[0], tokens=3)
            group.create_task(caller.make(question))
        try:
            yield
        finally:
            after, lasted_s = process.cpu_times(), stand.journal.now_s - since
            process.rlimit(resource.RLIMIT_NOFILE, limits)
            used_s = after.user + after.system - before.user - before.system
            note_gauge(stand, VICTIM, CPU_SHARE, used_s / lasted_s)
            stand.fault("no_files", VICTIM, on=False)
            note_gauge(stand, VICTIM, FREE_AGAIN, stand.journal.now_s)


def _waited(broken: Broken) -> list[Call]:
    """Give the calls that came while there were none, and were not begun before there were some again."""
    free_at = max(gauges(broken, FREE_AGAIN), default=float("inf"))
    return [call for call in _at_victim(broken) if call.over_at >= free_at]


def _cpu_share(broken: Broken) -> float:
    return max(gauges(broken, CPU_SHARE), default=float("inf"))


def _without_descriptors(broken: Broken) -> Iterator[Expected]:
    waited, others = _waited(broken), _others(broken)
    fine, unharmed = good(waited), good(others)
    lost = [call for call in _at_victim(broken) if call.outcome in ("refused", "cut")]
    words = f"{share(len(fine), len(waited))} that waited are answered, {len(lost)} are lost"
    yield Expected("FG8", len(fine) == len(waited) > 0 and not lost, words)
    free_at = max(gauges(broken, FREE_AGAIN), default=0.0)
    latest_s = max((call.over_at - free_at for call in waited), default=0.0)
    yield Expected("FG8", 0 < latest_s <= BACK_S, f"the last of them {latest_s:.2f} s after there are some again")
    words = f"{100 * _cpu_share(broken):.0f} % of a processor are used meanwhile"
    yield Expected("FG8", _cpu_share(broken) <= BUSY_SHARE, words)
    words = f"{share(len(unharmed), len(others))} calls elsewhere are answered"
    yield Expected("FG8", len(unharmed) == len(others) > 0, words)
    yield from _is_over(broken, "FG8")


CROWD_EXPERIMENTS = (
    Experiment(
        "overload",
        "a crowd comes to a replica that may open few files",
        ("FG6",),
        crowd_comes,
        lambda broken: len(_refused(broken)),
        _overloaded,
        spans=Spans(before_s=2.0, fault_s=6.0, after_s=4.0),
        settings=StandSettings(files_max=FILES_MAX, token_s=0.1, slots=64),
        mix=Mix(rate_per_s=30.0, placements={None: 0.5, "cloud_only": 0.5}, leavers=0.0),
        figure=Figure("crowd-refused", "calls and probes that fare badly", _badly, 10.0),
    ),
    Experiment(
        "no-descriptors",
        "a replica has no file descriptor left",
        ("FG8",),
        descriptors_run_out,
        lambda broken: len(_waited(broken)),
        _without_descriptors,
        felt_min=KNOCKS,
        spans=Spans(before_s=2.0, fault_s=4.0, after_s=5.0),
        mix=Mix(rate_per_s=30.0, placements={None: 0.5, "cloud_only": 0.5}),
        figure=Figure("accept-pauses", "share of a processor used in vain", _cpu_share, BUSY_SHARE, 4.0),
    ),
)
