"""A node or a vendor refuses, hangs, breaks off, talks nonsense: FV1 to FV3, FV9 and FN1.

That nothing visible is asked twice, that a cut stream ends in one error event and that each part is settled is
what the judges say (I5, I13, I2). Not here: what a vendor (`vendors.py`) or a node (`nodes.py`) does besides.
"""

from collections.abc import Callable, Iterator

from chaos.experiments import faults
from chaos.experiments.asked_of import ERROR_EVENT, asked_of, exchanges_of, was_at
from chaos.experiments.experiment import Broken, Expected, Experiment, Figure
from chaos.experiments.reading import ended, good, in_fault, share
from chaos.stand import modes
from chaos.traffic.load import Mix
from sim.journal.calls import Call

NODE, VENDOR = "node-0", "cloud-a"

ANYWHERE = Mix(placements={None: 0.7, "cloud_only": 0.3})
"""Every call has somebody else to go to."""

Expects = Callable[[Broken], Iterator[Expected]]


def _met(target: str) -> Callable[[Broken], int]:
    """Count the calls that were asked of it while it was ill, and those that its gateway tells to have gone on."""

    def met(broken: Broken) -> int:
        return len({call.name for call in in_fault(broken) if was_at(broken, call, target)})

    return met


def _failed(broken: Broken) -> float:
    return float(broken.during.failed)


def _asked(broken: Broken) -> float:
    return float(len(asked_of(broken, VENDOR, broken.began_at, broken.ended_at)))


def _ended_well_though_cut(broken: Broken) -> float:
    """Count the streams that end as if they were whole though their target broke off."""
    return float(sum(_is_cut(broken, call) for call in in_fault(broken) if call.outcome == "done"))


def _is_cut(broken: Broken, call: Call) -> bool:
    answers = exchanges_of(broken, call)
    return bool(answers) and answers[-1].how == "cut"


def _moves_on(name: str) -> Expects:
    """All calls are answered by somebody."""

    def expects(broken: Broken) -> Iterator[Expected]:
        calls = ended(in_fault(broken))
        fine = good(calls)
        yield Expected(name, len(fine) == len(calls) > 0, f"{share(len(fine), len(calls))} calls are answered")

    return expects


def _breaks_off(names: tuple[str, ...], target: str) -> Expects:
    """What had shown something ends in an error event; all else is answered."""

    def expects(broken: Broken) -> Iterator[Expected]:
        calls = ended(in_fault(broken))
        struck = [call for call in calls if call.outcome == ERROR_EVENT]
        rest = [call for call in calls if call not in struck]
        fine = good(rest)
        words = f"{len(struck)} streams end in an error event, {share(len(fine), len(rest))} others are answered"
        strangers = [call for call in struck if not was_at(broken, call, target)]
        for name in names:
            yield Expected(name, bool(struck) and len(fine) == len(rest) and not strangers, words)

    return expects


TARGET_EXPERIMENTS = (
    Experiment(
        "node-refuses",
        "a node refuses connections",
        ("FV1",),
        faults.of_target(NODE, modes.REFUSE),
        _met(NODE),
        _moves_on("FV1"),
        felt_min=1,
        mix=ANYWHERE,
        figure=Figure("next-target", "calls that failed", _failed, 3.0),
    ),
    Experiment(
        "node-silent",
        "a node takes every second request and answers nothing",
        ("FV2",),
        faults.of_target(NODE, modes.SILENT, every=2),
        _met(NODE),
        _moves_on("FV2"),
        felt_min=2,
        mix=ANYWHERE,
        figure=Figure("next-target", "calls that failed", _failed, 2.0),
    ),
    Experiment(
        "node-cut",
        "every third answer of a node is cut in the middle",
        ("FV3", "FN1"),
        faults.of_target(NODE, modes.RESET_MIDWAY, every=3),
        _met(NODE),
        _breaks_off(("FV3", "FN1"), NODE),
        mix=ANYWHERE,
        figure=Figure("true-end", "cut streams that end as if they were whole", _ended_well_though_cut, 5.0),
    ),
    Experiment(
        "vendor-ill",
        "a vendor answers 500",
        ("FV1",),
        faults.of_target(VENDOR, modes.STATUS, amount=500.0),
        _met(VENDOR),
        _moves_on("FV1"),
        felt_min=3,
        mix=ANYWHERE,
        figure=Figure("breaker", "calls asked of a vendor that is ill", _asked, 50.0),
    ),
    Experiment(
        "vendor-garbage",
        "every second answer of a vendor is garbage",
        ("FV9",),
        faults.of_target(VENDOR, modes.GARBAGE, every=2),
        _met(VENDOR),
        _moves_on("FV9"),
        felt_min=3,
        mix=ANYWHERE,
        figure=Figure("next-target", "calls that failed", _failed, 10.0),
    ),
)
