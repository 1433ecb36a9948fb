"""I7: what a gateway holds is bounded by the calls under way, and stalled clients are cut.

Each sample is held against what follows from its own numbers and from the calls sent to that gateway. A client
that stops reading is dropped: its answer backs up, and `client_stall_s` later it is cut; one whose whole answer
fits into the buffers is closed as an idle connection first.
"""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator

from sim.checkers.violation import Violation
from sim.journal.calls import Call
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of

CODE = "I7"
TITLE = "tasks, connections and buffers are bounded"

TASKS_IDLE_MAX = 50
"""A gateway without any call runs some forty loops; the rest is room for what comes now and then."""

TASKS_PER_CALL = 6

TASKS_PER_NODE = 6
"""A look, and an awaited token with who keeps its duty; both at once for each machine that is ill."""

CONNECTIONS_SPARE = 10
"""Probes, and connections that were opened for no call."""

LINES_AT_ONCE = 16
"""Lines of batches that a gateway runs at once: calls of nobody's connection."""

CLIENT_GONE_S = 200.0
"""A kept connection ends after 75 s, and one whose client takes nothing up to a minute later."""

UPSTREAM_KEPT_S = 45.0
"""An idle connection to a target is closed after 30 s; a call has opened each of them."""

UPSTREAM_SPARE = 10
"""Besides these one connection is kept to each machine of ours, which is looked at every few seconds."""

BUFFER_BYTES_MAX = (64 + 256 + 256) * 1024
"""Per connection: the high-water mark of a transport, what is on its way, and one read of the loop beyond."""

STALL_S = 60.0
IDLE_S = 75.0
GRACE_S = 30.0


def check(journal: Journal) -> Iterator[Violation]:
    """Find gateways that hold more than their calls explain."""
    watch = watch_of(journal)
    samples = [*journal.of("sample", "quiet")]
    connected = _connected(watch)
    settled: dict[str, list[float]] = defaultdict(list)
    for fact in journal.of("usage"):
        settled[fact.host].append(fact.at)
    nodes = sum(fact.text("name").startswith("slots:") for fact in journal.of("setting"))
    lines = LINES_AT_ONCE if any(journal.of("line_claimed")) else 0
    for sample in samples:
        called = lines + connected[sample.host].at(sample.at)
        frozen = watch.host(sample.host).stood_still_s(sample.at - 1.0, sample.at) > 0
        yield from _bounded(sample, called, settled[sample.host], nodes, unheard=lines + (called if frozen else 0))
    for call in watch.calls.values():
        if call.stalled is not None:
            yield from _stalled_is_cut(watch, call)


class _Connected:
    """When the calls of one gateway may have had a connection, be it only one that was being closed."""

    def __init__(self) -> None:
        self._begins: list[float] = []
        self._ends: list[float] = []

    def add(self, since: float, until: float) -> None:
        """Add one call."""
        insort(self._begins, since)
        insort(self._ends, until)

    def at(self, moment: float) -> int:
        """Count those of a moment: begun, and not over before it."""
        return bisect_right(self._begins, moment) - bisect_left(self._ends, moment)


def _connected(watch: Watch) -> dict[str, _Connected]:
    total_s = watch.number("call_total_s", 660.0)
    slowest_s = CLIENT_GONE_S + 2 * watch.number("client_stall_s", STALL_S)
    found: dict[str, _Connected] = defaultdict(_Connected)
    for call in watch.calls.values():
        gone = call.left is not None and call.left.members["how"] == "vanish"
        until = call.sent_at + total_s + GRACE_S if gone else call.over_at
        found[call.gateway].add(call.sent_at, until + slowest_s)
    return found


def _bounded(sample: Fact, calls: int, settled: list[float], nodes: int, *, unheard: int) -> Iterator[Violation]:
    """Hold one sample against its bounds; `unheard` have no connection: lines, calls while it stands still."""
    at, inflight, connections = sample.at, sample.number("inflight"), sample.number("connections")
    recent = bisect_right(settled, at) - bisect_left(settled, at - UPSTREAM_KEPT_S)
    bounds = {
        "tasks": TASKS_IDLE_MAX + TASKS_PER_CALL * (inflight + connections + unheard) + TASKS_PER_NODE * nodes,
        "connections": CONNECTIONS_SPARE + calls,
        "inflight": CONNECTIONS_SPARE + calls,
        "upstream_open": UPSTREAM_SPARE + nodes + inflight + recent,
        "buffered_bytes": BUFFER_BYTES_MAX * max(1.0, connections),
    }
    for name, bound in bounds.items():
        if name in sample.members and sample.number(name) > bound:
            what = f"{sample.host} has {name} {sample.number(name):.0f}, at most {bound:.0f} can be explained"
            yield Violation(CODE, at, what)


def _stalled_is_cut(watch: Watch, call: Call) -> Iterator[Violation]:
    """Hold the last sign of the call at its targets against the moment at which its client stopped reading."""
    assert call.stalled is not None
    stall_s = watch.number("client_stall_s", STALL_S)
    for exchange in watch.asked(call):
        if exchange.late or exchange.how != "left":
            continue
        if watch.stormy(exchange.target, call.stalled.at, exchange.told_at):
            continue  # a machine that is gone hears of nothing
        frozen_s = watch.host(call.gateway).stood_still_s(call.stalled.at, exchange.told_at)
        # The answer goes on until it has filled the buffers, which its own deadline bounds.
        limit_s = watch.longer_s(watch.number("call_total_s", 660.0)) + stall_s + GRACE_S + frozen_s
        if exchange.told_at - call.stalled.at > limit_s:
            what = (
                f"{call.gateway} held {exchange.target} for {exchange.told_at - call.stalled.at:.0f} s after the"
                f" client stopped reading, allowed are {limit_s:.0f} s"
            )
            yield Violation(CODE, exchange.told_at, what, call.name)
    if call.ends and call.over_at - call.stalled.at > stall_s + IDLE_S + stall_s + 660.0 + GRACE_S:
        yield Violation(CODE, call.over_at, "its client stopped reading and was never cut", call.name)
