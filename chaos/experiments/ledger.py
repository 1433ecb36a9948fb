"""The accounting service is down, hangs, is killed: FL1, FL3, FL4.

That no event is lost or doubled is what the judges say of every run (I2, I14). Not here: memory that is
full, events that come again (`events.py`).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from chaos.experiments import faults
from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.reading import after_fault, ended, felt_by_all, good, in_fault, share, unbooked
from chaos.proxy.proxy import Proxy
from chaos.stand.settings import LEDGER
from chaos.stand.stand import Stand
from sim.journal.calls import Call

LEAVER = "gw3"
"""The replica that is asked to leave while the ledger hangs."""

UNFELT_S = 0.25
"""What calls may take longer meanwhile: the unrest of a machine that others use. Who waited would wait for 5 s."""


def _calls_do_not_wait(broken: Broken, name: str, leaver: str = "") -> Iterator[Expected]:
    calls = [call for call in ended(in_fault(broken)) if call.gateway != leaver]
    fine = good(calls)
    extra_s = broken.during.added_share_s(0.99) - broken.before.added_share_s(0.99)
    words = (
        f"{share(len(fine), len(calls))} calls are answered, p99 of what is added moves by {1000 * extra_s:.1f} ms"
    )
    yield Expected(name, len(fine) == len(calls) > 0 and extra_s <= UNFELT_S, words)


def _answered(broken: Broken) -> list[Call]:
    return [call for call in good([*in_fault(broken), *after_fault(broken, 0.0)]) if call.request_id]


def _drained(broken: Broken) -> Iterator[Expected]:
    calls = _answered(broken)
    lost = unbooked(broken, calls)
    yield Expected("FL4", not lost and bool(calls), f"{share(len(lost), len(calls))} calls are booked nowhere")


def _away(broken: Broken) -> Iterator[Expected]:
    yield from _calls_do_not_wait(broken, "FL1")
    yield from _drained(broken)


def _hung(broken: Broken) -> Iterator[Expected]:
    yield from _calls_do_not_wait(broken, "FL3", LEAVER)
    yield from _drained(broken)
    leaves_s = _leaves_s(broken)
    yield Expected(
        "FL3", 0 < leaves_s <= LEAVES_S, f"a replica that is asked to leave is gone {leaves_s:.1f} s later"
    )


def _leaves_s(broken: Broken) -> float:
    """Give how long the one that was asked to leave took for it; 0 where it did not."""
    asked = [fact.at for fact in broken.journal.of("drain_begun") if fact.host == LEAVER]
    gone = [fact.at for fact in broken.journal.of("drain_over") if fact.host == LEAVER]
    return gone[0] - asked[0] if gone else 0.0


LEAVES_S = 6.0
"""A second for its balancer, some tenths for its calls, two seconds for its books; the rest is the machine."""


async def _hang_of(proxy: Proxy) -> None:
    await proxy.hang()


@asynccontextmanager
async def _hangs_for_who_leaves(stand: Stand) -> AsyncIterator[None]:
    """Let the ledger hang, and ask a replica to leave meanwhile."""
    async with asyncio.TaskGroup() as group, faults.of_proxy(LEDGER, "ledger_hung", _hang_of)(stand):
        await asyncio.sleep(LAST_CALLS_S)
        group.create_task(stand.gateway(LEAVER).term())
        yield


LAST_CALLS_S = 1.0
"""It has something to send when it leaves."""


KEPT = Figure(
    "kept-until-taken",
    "calls that are booked nowhere in the end",
    lambda broken: len(unbooked(broken, _answered(broken))),
    worse_min=20.0,
)

LEDGER_EXPERIMENTS = (
    Experiment(
        "ledger-killed",
        "the accounting service is killed, and comes back",
        ("FL1", "FL4"),
        faults.ledger_is_killed,
        felt_by_all,
        _away,
        spans=Spans(after_s=8.0),
        long=Spans(before_s=5.0, fault_s=300.0, after_s=20.0),
        figure=KEPT,
    ),
    Experiment(
        "ledger-hung",
        "the accounting service takes what is sent and answers nothing",
        ("FL3", "FL4"),
        _hangs_for_who_leaves,
        felt_by_all,
        _hung,
        spans=Spans(fault_s=10.0),
        long=Spans(before_s=5.0, fault_s=300.0, after_s=20.0),
        figure=Figure(
            "last-sending-ends",
            "seconds a replica takes to leave meanwhile",
            _leaves_s,
            worse_min=7.0,
        ),
    ),
)
