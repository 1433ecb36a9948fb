"""S40: everything at random for long: all kinds of faults, on and off, in any company, and all sorts of calls.

The matrix plays an hour of it. A whole day takes a minute of a processor, nearly all of it for what gateways do
without calls, and is played by night. Not here: short worlds in which everything is drawn (`explore.py`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from sim.draft import BatchDraft, Draft, Level
from sim.draft_rules import NEEDS_BYTES
from sim.faults.draw import Aims, draw_plan
from sim.faults.plan import KINDS, Fault
from sim.journal.journal import Journal
from sim.journal.watch import watch_of
from sim.scenarios.books.reading import answered
from sim.scenarios.explore import fleet_of, limited
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed
from sim.workloads.calls import Mix, draw_calls

HOUR_S = 3600.0

FAULTS_PER_HOUR = 60
CALLS_PER_HOUR = 150
"""Sparse: more calls meet nothing new, and cost what the world is to last."""

LONGER = (1.0, 1.0, 4.0, 20.0)
"""Faults last for seconds; some for minutes, so that leases, windows and breakers see their end."""

MENDS_S = 300.0
"""People take so long at most."""

LOOKS_EVERY_S = 60.0
"""Of operators, samples and loops: seconds apart they would be half of all facts."""

PARTS = 4

KINDS_MIN = 20
"""So many kinds of faults struck at least, or it was not everything."""


def draft_of(seed: Seed, hours: float) -> Draft:
    """Draw a world that lasts so long."""
    chance = seed.chance("everything")
    runs_s = hours * HOUR_S
    fleet = fleet_of(seed, Level.PORTS)
    targets = [*(vendor.name for vendor in fleet.vendors), *(node.name for node in fleet.nodes)]
    gateways = [f"gw{number + 1}" for number in range(fleet.replicas)]
    kinds = [name for name, kind in KINDS.items() if kind.drawn and name not in NEEDS_BYTES]
    aims = Aims(targets, gateways, [node.name for node in fleet.nodes])
    count = round(hours * FAULTS_PER_HOUR)
    plan = draw_plan(seed.child("faults"), aims, count=count, runs_s=runs_s, kinds=kinds)
    mix = Mix(
        calls=round(hours * CALLS_PER_HOUR),
        runs_s=runs_s,
        gateways=fleet.replicas,
        keys=("app", "app", "person", "nodes"),
        strangers=0.05,
        mannered=0.2,
        placed=0.1,
        tokens_max=60,
    )
    knobs = replace(fleet.knobs, poll_s=LOOKS_EVERY_S, sample_s=LOOKS_EVERY_S, loop_look_s=LOOKS_EVERY_S / 6)
    drawn = replace(
        fleet,
        saved=chance.happens(0.5),
        spool=chance.happens(0.5),
        cache_ttl_s=chance.pick((0, 30)),
        knobs=replace(knobs, key_window_s=chance.pick((20.0, 300.0)), inflight_max=chance.pick((2, 4096))),
        calls=draw_calls(seed.child("calls"), mix),
        batches=tuple(_batch(chance, runs_s) for _ in range(round(2 * hours))),
        faults=tuple(_mended([_longer(chance, fault, runs_s) for fault in plan], chance, runs_s)),
        runs_s=runs_s,
    )
    return limited(drawn, seed)


def _batch(chance: Chance, runs_s: float) -> BatchDraft:
    """Draw a batch that has time to end."""
    at_s = round(chance.uniform(0.0, runs_s * 0.5), 3)
    return BatchDraft(at_s=at_s, makes_at_s=at_s, lines=chance.between(1, 20), tokens=10, poll_s=30.0)


def _mended(plan: Iterable[Fault], chance: Chance, runs_s: float) -> Iterator[Fault]:
    """Let an operator store a sound catalogue some minutes after a bad one: a replica that starts has no other."""
    for fault in plan:
        yield fault
        if fault.kind == "bad_catalogue":
            at_s = min(fault.at_s + chance.uniform(1.0, MENDS_S), runs_s)
            yield Fault("new_catalogue", "", round(at_s, 3))


def _longer(chance: Chance, fault: Fault, runs_s: float) -> Fault:
    lasts_s = min(chance.pick(LONGER) * fault.lasts_s, runs_s - fault.at_s)
    return replace(fault, lasts_s=round(lasts_s, 3))


def _is_everything(journal: Journal) -> bool:
    return len({fact.text("fault") for fact in journal.of("fault")}) >= KINDS_MIN


def _active(journal: Journal) -> Iterator[str]:
    if _is_everything(journal):
        yield "S40"


def _seen(journal: Journal) -> Iterator[str]:
    """Show S40: calls are answered in three quarters of the time at least, whatever was wrong.

    A long outage of Postgres leaves no key in force for the rest.
    That no promise was broken meanwhile, and that all is well in the end, is what the checkers say.
    """
    watch = watch_of(journal)
    since, until = watch.phases["faults"], watch.phases["heal"]
    quarters = {
        int(PARTS * (call.sent_at - since) / (until - since))
        for call in watch.calls.values()
        if answered(call) and since <= call.sent_at < until
    }
    if _is_everything(journal) and len(quarters) >= PARTS - 1:
        yield "S40"


def _lasting(name: str, title: str, hours: float) -> Scenario:
    return Scenario(name, title, ("S40",), partial(draft_of, hours=hours), _seen, _active)


EVERYTHING = (_lasting("s40-everything", "everything at random, for an hour", 1.0),)
NIGHTLY = (_lasting("s40-day", "everything at random, for a day", 24.0),)
