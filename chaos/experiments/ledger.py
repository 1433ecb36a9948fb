"""The accounting service is down, hangs, is killed: FL1, FL3, FL4.

That no event is lost or doubled is what the judges say of every run (I2, I14). Not here: spools that are full.
"""

from collections.abc import Iterator

from chaos.experiments import faults
from chaos.experiments.experiment import Broken, Expected, Experiment, Spans
from chaos.experiments.reading import after_fault, ended, felt_by_all, good, in_fault, share
from chaos.proxy.proxy import Proxy
from chaos.stand.settings import LEDGER

UNFELT_S = 0.05
"""What calls may take longer meanwhile: the machine's own unrest."""


def _calls_do_not_wait(broken: Broken, name: str) -> Iterator[Expected]:
    calls = ended(in_fault(broken))
    fine = good(calls)
    extra_s = broken.during.added_share_s(0.99) - broken.before.added_share_s(0.99)
    words = (
        f"{share(len(fine), len(calls))} calls are answered, p99 of what is added moves by {1000 * extra_s:.1f} ms"
    )
    yield Expected(name, len(fine) == len(calls) > 0 and extra_s <= UNFELT_S, words)


def _drained(broken: Broken) -> Iterator[Expected]:
    booked = {fact.text("request_id") for fact in broken.journal.of("usage")}
    calls = [call for call in good([*in_fault(broken), *after_fault(broken, 0.0)]) if call.request_id]
    kept = [call for call in calls if call.request_id in booked]
    yield Expected(
        "FL4", len(kept) == len(calls) > 0, f"{share(len(kept), len(calls))} calls are booked in the end"
    )


def _away(broken: Broken) -> Iterator[Expected]:
    yield from _calls_do_not_wait(broken, "FL1")
    yield from _drained(broken)


def _hung(broken: Broken) -> Iterator[Expected]:
    yield from _calls_do_not_wait(broken, "FL3")
    yield from _drained(broken)


async def _hang_of(proxy: Proxy) -> None:
    await proxy.hang()


LEDGER_EXPERIMENTS = (
    Experiment(
        "ledger-killed",
        "the accounting service is killed, and comes back",
        ("FL1", "FL4"),
        faults.ledger_is_killed,
        felt_by_all,
        _away,
        spans=Spans(after_s=8.0),
    ),
    Experiment(
        "ledger-hung",
        "the accounting service takes what is sent and answers nothing",
        ("FL3", "FL4"),
        faults.of_proxy(LEDGER, "ledger_hung", _hang_of),
        felt_by_all,
        _hung,
        spans=Spans(after_s=8.0),
    ),
)
