"""Nodes with an agent of their own: one is shut down (FN3), one comes back at another address (FN6).

The agent is the product's, as a process with its filter before an engine of ours. Not here: agents whose engine is
ill, which is a matter of targets (`nodes.py`).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from chaos.experiments.asked_of import asked_of, exchanges_of, was_at, words_of
from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.gauges import gauges, note_gauge
from chaos.experiments.reading import NODES, answered_by, ended, good, in_fault, share
from chaos.stand.settings import StandSettings
from chaos.stand.stand import Stand
from chaos.traffic.load import Mix
from sim.journal.calls import Call, Exchange

NODE = "node-0"

JOINS = StandSettings(agents=(NODE,), token_s=0.06, slots=32)
"""Answers last for half a second or more, so that some run when the agent is told to leave."""

CALLS = Mix(rate_per_s=30.0, placements={None: 0.6, NODES: 0.4}, leavers=0.0)

LEFT_WITH, BACK_AT, KNOWN_AT = "left_with", "back_at", "known_at"
"""Gauges: the agent's exit code; when it is started again, and its new address was heard, in the run's seconds."""

HEARD_S = 2.0
"""An announcement reaches every replica within this."""

LOOKED_S = 7.0
"""A node that was gone is asked again once it has been looked at, every five seconds."""


@asynccontextmanager
async def agent_leaves(stand: Stand) -> AsyncIterator[None]:
    """Send it SIGTERM and wait until it has left; it is started again when the fault is over."""
    agent = stand.agents[NODE]
    stand.fault("draining", NODE, on=True)
    code = await agent.leave()
    note_gauge(stand, NODE, LEFT_WITH, code)
    yield
    note_gauge(stand, NODE, BACK_AT, stand.journal.now_s)
    await agent.start()
    stand.fault("draining", NODE, on=False)


@asynccontextmanager
async def agent_moves(stand: Stand) -> AsyncIterator[None]:
    """Kill it, let calls find that nobody is there, and start it at another port."""
    agent = stand.agents[NODE]
    stand.fault("moved", NODE, on=True)
    await agent.process.kill()
    await asyncio.sleep(AWAY_S)
    await agent.start()
    note_gauge(stand, NODE, KNOWN_AT, stand.journal.now_s)
    yield


AWAY_S = 3.0
"""Long enough for every replica to have met that nobody answers there."""


def _under_way(broken: Broken) -> list[Call]:
    """Give the calls that the node was answering when its agent was ended."""
    return [
        call
        for call in broken.watch.calls.values()
        if any(_ran_on(one, broken.began_at) for one in exchanges_of(broken, call))
    ]


def _ran_on(one: Exchange, at: float) -> bool:
    return one.target == NODE and one.asked.at < at < one.told_at


def _leaves(broken: Broken) -> Iterator[Expected]:
    running = _under_way(broken)
    words = f"{share(len(good(running)), len(running))} under way there are answered to the end"
    yield Expected("FN3", len(good(running)) == len(running) > 0, words)
    late = _late_attempts(broken)
    yield Expected("FN3", not late, f"{late} attempts go there after its announcement was heard")
    calls = ended(in_fault(broken))
    fine = good(calls)
    yield Expected("FN3", len(fine) == len(calls) > 0, f"{share(len(fine), len(calls))} calls are answered")
    codes = gauges(broken, LEFT_WITH)
    yield Expected("FN3", codes == [0], f"it left with {codes}")
    again = asked_of(broken, NODE, broken.ended_at, broken.watch.ends_at)
    yield Expected("FN3", bool(again), f"it is asked {len(again)} times once it is back")


def _late_attempts(broken: Broken) -> int:
    back_at = next(iter(gauges(broken, BACK_AT)), broken.ended_at)
    late = [call for call in in_fault(broken) if broken.began_at + HEARD_S < call.sent_at < back_at]
    return sum(was_at(broken, call, NODE) for call in late)


def _moves(broken: Broken) -> Iterator[Expected]:
    cut = _under_way(broken)
    calls = [call for call in ended(in_fault(broken)) if call not in cut]
    fine = good(calls)
    yield Expected("FN6", len(fine) == len(calls) > 0, f"{share(len(fine), len(calls))} calls are answered")
    after_s = _used_after_s(broken)
    yield Expected("FN6", after_s <= HEARD_S, f"the new address is used {after_s:.2f} s after it was heard")
    answered = answered_by(broken, good(in_fault(broken)), "node")
    yield Expected("FN6", bool(answered), f"{len(answered)} calls of the fault are answered by nodes")


def _used_after_s(broken: Broken) -> float:
    """Give how long after the new address was heard the node was asked there; all of the run where it was not."""
    known = gauges(broken, KNOWN_AT)
    since = known[0] if known else broken.began_at
    asked = asked_of(broken, NODE, since, broken.watch.ends_at)
    return (asked[0].asked.at if asked else broken.watch.ends_at) - since


AGENT_EXPERIMENTS = (
    Experiment(
        "agent-leaves",
        "the agent of a node is shut down (SIGTERM), and started again",
        ("FN3",),
        agent_leaves,
        lambda broken: len(_under_way(broken)),
        _leaves,
        felt_min=1,
        spans=Spans(before_s=4.0, fault_s=6.0, after_s=LOOKED_S + 3.0),
        settings=JOINS,
        mix=CALLS,
        figure=Figure(
            "drain-heard",
            "calls that find a node draining or gone",
            lambda broken: float(sum(words_of(call).get(NODE, "ok") != "ok" for call in in_fault(broken))),
            worse_min=2.0,
        ),
    ),
    Experiment(
        "agent-moves",
        "the agent of a node dies, and comes back at another address",
        ("FN6",),
        agent_moves,
        lambda broken: len(in_fault(broken)),
        _moves,
        spans=Spans(before_s=4.0, fault_s=6.0, after_s=6.0),
        settings=JOINS,
        mix=CALLS,
        figure=Figure("move-heard", "until the new address is used (s)", _used_after_s, worse_min=0.4),
    ),
)
