"""S42: calls of the fleet alone meet every fault of machines and of the store, and no cloud is asked.

They say it in four ways: by key, by header, by the name of the model, by the default of the gateway. Others, that
may go there, are answered by the cloud meanwhile.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from sim.draft import MODEL, Draft, KeyDraft, Knobs, Level
from sim.faults.plan import KINDS, Fault, On, Plan
from sim.journal.journal import Journal
from sim.journal.watch import watch_of
from sim.scenarios.fleet.nodes.reading import CONFINED_CODES, clouds_asked, key_of, nodes_of
from sim.scenarios.fleet.nodes.worlds import CONFINED, cast, gateways, machines
from sim.scenarios.scenario import Scenario
from sim.scenarios.showing import Story, faults, stories
from sim.scenarios.targets.worlds import Flow, calls, world
from sim.seed import Chance, Seed

OPEN = KeyDraft("open")
"""A key whose calls may go anywhere: they say so themselves where the gateway's default is the fleet alone."""

OF_STORE = ("redis_away", "redis_hung", "redis_slow", "redis_empty")
OF_MACHINES = (
    *(name for name, kind in KINDS.items() if kind.on is On.NODE),
    *("refuse", "silent", "status", "stall", "cut", "other_model", "half_open"),
)
AMOUNTS = {"status": 503.0, "evicted": 6.0, "fewer_slots": 1.0, "redis_slow": 2.0}

NODES_ONLY, SUFFIXED = "nodes_only", f"{MODEL}:nodes-only"


def draft(seed: Seed, level: Level) -> Draft:
    """Draw a small fleet to which everything happens, one thing after the other and some at once."""
    chance = seed.chance("draft")
    who = cast(chance, machines(chance, chance.between(1, 3), slots=4))
    plan, ends_s = _plan(chance, [node.name for node in who.nodes])
    made = calls(chance, 0.5, ends_s, Flow(0.4, (5, 40), gateways=gateways(who)))
    by_default = chance.happens(0.3)
    ways = tuple(_way(chance, by_default=by_default) for _ in made)
    said = tuple(
        replace(call, key=key, placement=placement, model=model)
        for call, (key, placement, model) in zip(made, ways, strict=True)
    )
    drawn = world(chance, level, who, said, plan, Knobs(first_token_s=6.0, idle_s=6.0))
    keys = (KeyDraft("app"), CONFINED, OPEN)
    return replace(drawn, keys=keys, placement=NODES_ONLY if by_default else None)


def _plan(chance: Chance, nodes: list[str]) -> tuple[Plan, float]:
    """Let each fault of the store come once, and about as many of the machines, on all or on one of them."""
    plan: list[Fault] = []
    at_s = 3.0
    for kind in chance.some(OF_STORE, 4):
        lasts_s = round(chance.uniform(4.0, 9.0), 3)
        plan.append(
            Fault(kind, "", round(at_s, 3), 0.0 if KINDS[kind].instant else lasts_s, AMOUNTS.get(kind, 0.0))
        )
        at_s += lasts_s + chance.uniform(-3.0, 4.0)
        ill = chance.pick(OF_MACHINES)
        struck = nodes if chance.happens(0.5) else [chance.pick(nodes)]
        plan += [Fault(ill, node, round(at_s, 3), lasts_s + 4.0, AMOUNTS.get(ill, 1.0)) for node in struck]
        at_s += lasts_s + 4.0 + chance.uniform(-3.0, 6.0)
    return tuple(plan), at_s + 8.0


def _way(chance: Chance, *, by_default: bool) -> tuple[str, str | None, str]:
    """Draw how a call says that it is of the fleet alone, or that it is not: key, header and name of the model."""
    ways: tuple[tuple[str, str | None, str], ...] = (
        (CONFINED.name, None, MODEL),
        ("app", NODES_ONLY, MODEL),
        ("app", None, SUFFIXED),
        (OPEN.name, "nodes_first", MODEL),
    )
    return ("app", None, MODEL) if by_default and chance.happens(0.3) else chance.pick(ways)


def struck_both(journal: Journal) -> Iterator[str]:
    """Say S42 where the store failed and a machine did."""
    kinds = {fact.text("fault") for fact in journal.of("fault")}
    if kinds & set(OF_STORE) and kinds & set(OF_MACHINES):
        yield "S42"


def stays_at_home(journal: Journal) -> Iterator[str]:
    """Show S42: no cloud was asked for them, some were answered, some turned away while others got the cloud."""
    told = stories(journal)
    confined = [story for story in told if _is_confined(journal, story)]
    homes = nodes_of(journal)
    refused = [story for story in confined if story.call.code in CONFINED_CODES]
    meanwhile = [story for story in told if not _is_confined(journal, story) and story.answered_by == "cloud-a"]
    if (
        list(faults(journal, *OF_STORE))
        and not any(clouds_asked(story) for story in confined)
        and any(story.answered_by in homes for story in confined)
        and refused
        and meanwhile
    ):
        yield "S42"


def _is_confined(journal: Journal, story: Story) -> bool:
    sent = story.call.sents[0]
    if key_of(story) == CONFINED.name or sent.text("model") == SUFFIXED:
        return True
    said = sent.members["placement"]
    return (said or watch_of(journal).text("placement")) == NODES_ONLY


CONFINED_ONES = (
    Scenario(
        "s42-confined",
        "calls of the fleet alone: no fault sends them to a cloud",
        ("S42",),
        partial(draft, level=Level.PORTS),
        stays_at_home,
        struck_both,
    ),
    Scenario(
        "s42-confined-wire",
        "the same over HTTP and RESP",
        ("S42",),
        partial(draft, level=Level.WIRE),
        stays_at_home,
        struck_both,
    ),
)
