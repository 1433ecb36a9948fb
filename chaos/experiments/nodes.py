"""Nodes are full against all counts, load, answer with another model, fail all at once: FN2, FN4, FN5, FN7.

That a node which loads is asked no more, and that no word of another model is shown, is what the judges say too
(I12). Not here: a node that vanishes (`targets.py`), agents, drains, tunnels.
"""

from collections.abc import Iterator

from chaos.experiments import faults
from chaos.experiments.asked_of import asked_of, exchanges_of, struck, words_of
from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.in_turn import Turn, of_turns
from chaos.experiments.reading import (
    CLOUD,
    NODES,
    answered_by,
    calls_of,
    ended,
    good,
    in_fault,
    placed,
    share,
    told,
)
from chaos.stand import modes
from chaos.stand.settings import StandSettings
from chaos.traffic.load import Mix
from sim.journal.calls import Call, Exchange

NODE, OTHER = "node-0", "node-1"

# FN2

ONE_ATTEMPT = StandSettings(attempts_max=1)
"""A busy node is no attempt: with a single one a call is answered all the same."""

OF_NODES = Mix(placements={None: 0.5, NODES: 0.5})


def _moves_on_from(broken: Broken, row: str, word: str, *targets: str) -> Iterator[Expected]:
    """Whoever met it hears nothing of it, and is answered by another; so is everybody else."""
    met = ended([call for call, _ in struck(broken, row, *targets)])
    fine = [call for call in good(met) if word in [words_of(call).get(name) for name in targets]]
    words = f"{share(len(fine), len(met))} that met it go on and are answered elsewhere"
    yield Expected(row, len(fine) == len(met) > 0, words)
    calls = ended(in_fault(broken))
    yield Expected(row, len(good(calls)) == len(calls) > 0, f"{share(len(good(calls)), len(calls))} are answered")


def _full(broken: Broken) -> Iterator[Expected]:
    yield from _moves_on_from(broken, "FN2", "busy", NODE)


def _failed(broken: Broken) -> float:
    return float(broken.during.failed)


# FN4

QUIET_S = 7.0
"""Nodes are looked at every five seconds; then every replica knows which model is not in memory."""

LOADS_S = 3.0

COLD_S = 6.0

LOADING = of_turns(Turn(0.0, NODE, modes.EVICTED, LOADS_S), Turn(QUIET_S, OTHER, modes.LOADING))
"""One has lost its model in a quiet moment, the other restarts just when calls come."""

BEFORE_S = 2.0

COLD = Spans(before_s=BEFORE_S, fault_s=QUIET_S + COLD_S, after_s=4.0)

ANYWHERE = Mix(placements={None: 0.8, CLOUD: 0.2}, quiet=(BEFORE_S - 1.0, BEFORE_S + QUIET_S - 0.2))


def _cold(broken: Broken) -> Iterator[Expected]:
    met = ended([call for call, _ in struck(broken, "FN4", OTHER)])
    fine = [call for call in good(met) if words_of(call).get(OTHER) == "loading"]
    words = f"{share(len(fine), len(met))} that met a node which loads go on and are answered elsewhere"
    yield Expected("FN4", len(fine) == len(met) > 0, words)
    early = ended(_while_away(broken))
    elsewhere = answered_by(broken, good(early), "cloud")
    words = f"{share(len(elsewhere), len(early))} that come while the model is away are answered by the cloud"
    yield Expected("FN4", len(elsewhere) == len(early) > 0, words)
    back = [fact.at for fact in broken.journal.of("model_loaded") if fact.members["node"] == NODE]
    again = asked_of(broken, NODE, min(back, default=broken.watch.ends_at), broken.watch.ends_at)
    words = f"it is loaded beside them {len(back)} times, {len(again)} calls use it then"
    yield Expected("FN4", bool(back) and back[0] < broken.ended_at and bool(again), words)


def _while_away(broken: Broken) -> list[Call]:
    """Give the calls that may use nodes and came while one had no model and the other loaded."""
    back = [fact.at for fact in broken.journal.of("model_loaded") if fact.members["node"] == NODE]
    until_s = min(back, default=broken.ended_at) - broken.began_at
    return placed(calls_of(broken, since_s=QUIET_S + 0.5, until_s=until_s - 0.5), None)


def _waited_for_load(broken: Broken) -> float:
    """Count calls that were asked of nodes without their model."""
    back = [fact.at for fact in broken.journal.of("model_loaded") if fact.members["node"] == NODE]
    until = min(back, default=broken.ended_at)
    waited = asked_of(broken, NODE, broken.began_at, until)
    return float(len(waited) + len(struck(broken, "FN4", OTHER)))


# FN5


def _other_model(broken: Broken) -> Iterator[Expected]:
    yield from _moves_on_from(broken, "FN5", "wrong_model", NODE)
    shown = _shown(broken)
    yield Expected("FN5", bool(struck(broken, "FN5")) and not shown, f"{shown:.0f} clients see something of it")


def _shown(broken: Broken) -> float:
    """Count the clients that got text of another model."""
    return float(sum(any(_is_shown(call, one) for one in exchanges_of(broken, call)) for call in in_fault(broken)))


def _is_shown(call: Call, exchange: Exchange) -> bool:
    if not call.text or exchange.told is None or not exchange.says("other_model"):
        return False
    return exchange.told.text("text").startswith(call.text)


# FN7

NODES_OF_THREE = ("node-0", "node-1", "node-2")
"""Of two there is no majority that could vouch for the looks."""

DISTRUSTED_S = 17.0
"""Three looks have been missed by then, and a fourth is not far."""

KEPT_S = 3.0

GONE_S = 4.0

NOTICED_S = 1.5
"""Three calls of each replica have found out by then that a node is away."""

UNSEEN_THEN_GONE = of_turns(
    *(Turn(0.0, name, modes.UNSEEN) for name in NODES_OF_THREE),
    *(Turn(DISTRUSTED_S + KEPT_S, name, modes.REFUSE) for name in NODES_OF_THREE),
)
"""First all looks at nodes fail, and tokens to prove them, though they answer calls; then all of them are gone."""

ALL_BAD = Spans(before_s=BEFORE_S, fault_s=DISTRUSTED_S + KEPT_S + GONE_S, after_s=6.0)

QUIET_MIX = Mix(
    placements={None: 0.5, NODES: 0.4, CLOUD: 0.1}, quiet=(BEFORE_S - 1.0, BEFORE_S + DISTRUSTED_S), leavers=0.0
)


def _all_bad(broken: Broken) -> Iterator[Expected]:
    distrusted = [
        fact
        for fact in broken.journal.of("log")
        if fact.members["name"] == "probe_distrusted" and broken.began_at < fact.at < broken.ended_at
    ]
    kept = _kept(broken)
    words = f"looks are distrusted {len(distrusted)} times, nodes answer {share(len(good(kept)), len(kept))}"
    yield Expected("FN7", bool(distrusted) and len(good(kept)) == len(kept) > 0, words)
    gone = ended(calls_of(broken, since_s=DISTRUSTED_S + KEPT_S + NOTICED_S, until_s=_fault_s(broken)))
    either, only = placed(gone, None), placed(gone, NODES)
    by_cloud = answered_by(broken, good(either), "cloud")
    words = f"then the cloud answers {share(len(by_cloud), len(either))}"
    yield Expected("FN7", len(by_cloud) == len(either) > 0, words)
    refused = [call for call in told(only, "no_node_available") if call.status == 503]
    words = f"{share(len(refused), len(only))} calls of the nodes alone are told so"
    yield Expected("FN7", len(refused) == len(only) > 0, words)


def _fault_s(broken: Broken) -> float:
    return broken.ended_at - broken.began_at


def _kept(broken: Broken) -> list[Call]:
    """Give the calls of the nodes alone that came when looks had failed and nodes had not."""
    since_s, until_s = DISTRUSTED_S + 0.5, DISTRUSTED_S + KEPT_S - 0.5
    return placed(ended(calls_of(broken, since_s=since_s, until_s=until_s)), NODES)


def _failed_though_well(broken: Broken) -> float:
    kept = _kept(broken)
    return float(len(kept) - len(good(kept)))


NODE_EXPERIMENTS = (
    Experiment(
        "node-full",
        "a node takes one call at a time, though eight of its slots are said to be free",
        ("FN2",),
        faults.of_target(NODE, modes.FULL, amount=1.0),
        lambda broken: len(struck(broken, "FN2", NODE)),
        _full,
        felt_min=10,
        settings=ONE_ATTEMPT,
        mix=OF_NODES,
        figure=Figure("busy-is-no-attempt", "calls that failed", _failed, 5.0),
    ),
    Experiment(
        "nodes-cold",
        "one node has lost its model in a quiet moment, the other one restarts when calls come",
        ("FN4",),
        LOADING,
        lambda broken: len(struck(broken, "FN4", OTHER)),
        _cold,
        felt_min=2,
        spans=COLD,
        mix=ANYWHERE,
        figure=Figure("cold-left-alone", "calls asked of nodes without their model", _waited_for_load, 20.0),
    ),
    Experiment(
        "node-other-model",
        "every second answer of a node is one of another model",
        ("FN5",),
        faults.of_target(NODE, modes.OTHER_MODEL, every=2),
        lambda broken: len(struck(broken, "FN5", NODE)),
        _other_model,
        felt_min=5,
        mix=OF_NODES,
        figure=Figure("model-compared", "clients that get text of another model", _shown, 10.0),
    ),
    Experiment(
        "nodes-all-bad",
        "all nodes fail their looks at once, and then are gone",
        ("FN7",),
        UNSEEN_THEN_GONE,
        lambda broken: len(_kept(broken)),
        _all_bad,
        felt_min=10,
        spans=ALL_BAD,
        settings=StandSettings(nodes=NODES_OF_THREE),
        mix=QUIET_MIX,
        figure=Figure("panic-rule", "calls that failed although their nodes were well", _failed_though_well, 5.0),
    ),
)
