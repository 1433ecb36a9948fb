"""S41: nobody starves: like machines share the calls, a slow one has its part, both classes of callers are served.

First calls come one after another, so that every machine is idle at each: ties must rotate. Then there are more
calls than slots, most of them of people who watch the screen: the others still get slots, all the time.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from sim.draft import Draft, Engine, Level
from sim.journal.journal import Journal
from sim.scenarios.fleet.nodes.reading import asked_by_calls, key_of, nodes_of
from sim.scenarios.fleet.nodes.worlds import KEYS, PLAIN, URGENT, VICTIM, cast, gateways, machines, of_key
from sim.scenarios.scenario import Scenario
from sim.scenarios.showing import stories
from sim.scenarios.targets.worlds import Flow, calls, world
from sim.seed import Seed

TIMES_SLOWER = 3.0
ONE_BY_ONE_S = 151.0
"""Until then, by the journal, calls come one after another."""

CROWDED_S = 40.0
SPELL_S = 10.0
"""In each spell of this length everybody gets something."""

FAIR_MIN = 0.5
"""Of an even share: calls are few, and each replica takes turns by itself."""

MANY_MIN = 30
"""Fewer calls say nothing about shares."""


def draft(seed: Seed, level: Level) -> Draft:
    """Draw three like machines and a slower one, first with too few calls, then with too many."""
    chance = seed.chance("draft")
    slow, *others = machines(chance, 4, engines=(chance.pick(tuple(Engine)),), slots=2, token_s=0.04)
    slow = replace(slow, first_token_s=slow.first_token_s * TIMES_SLOWER, token_s=slow.token_s * TIMES_SLOWER)
    who = cast(chance, (slow, *others))
    alone = Flow(3.0, (20, 40), gateways=gateways(who))
    made = calls(chance, 0.0, ONE_BY_ONE_S - 1.0, alone)
    crowd = calls(chance, ONE_BY_ONE_S - 1.0, ONE_BY_ONE_S + CROWDED_S, replace(alone, every_s=0.12))
    drawn = world(chance, level, who, (*made, *of_key(crowd, chance, {URGENT.name: 0.7})), ())
    return replace(drawn, keys=KEYS, band=math.inf)


def both_are_there(journal: Journal) -> Iterator[str]:
    """Say S41 where calls came one by one to several machines, and then of both classes to full ones."""
    early = [fact for fact in journal.of("call_sent") if fact.at < ONE_BY_ONE_S]
    late = {fact.text("key") for fact in journal.of("call_sent") if fact.at > ONE_BY_ONE_S}
    full = any(fact.at > ONE_BY_ONE_S for fact in journal.of("waiter_joined"))
    if len(early) >= MANY_MIN and late >= {PLAIN.name, URGENT.name} and full:
        yield "S41"


def nobody_starves(journal: Journal) -> Iterator[str]:
    """Show S41: even shares among like ones, some for the slow one, and both classes served in every spell."""
    nodes = nodes_of(journal)
    asked = Counter(
        {node: sum(one.asked.at < ONE_BY_ONE_S for one in asked_by_calls(journal, node)) for node in nodes}
    )
    slow, total = asked.pop(VICTIM, 0), asked.total()
    like = min(asked.values(), default=0)
    if slow and like > FAIR_MIN * total / len(asked) and _served_in_every_spell(journal, nodes):
        yield "S41"


def _served_in_every_spell(journal: Journal, nodes: list[str]) -> bool:
    served = {
        (key_of(story), int((story.call.sent_at - ONE_BY_ONE_S) / SPELL_S))
        for story in stories(journal)
        if story.call.sent_at >= ONE_BY_ONE_S and story.answered_by in nodes
    }
    spells = range(int(CROWDED_S / SPELL_S))
    return served >= {(key, spell) for key in (PLAIN.name, URGENT.name) for spell in spells}


SHARES = (
    Scenario(
        "s41-shares", "nobody starves", ("S41",), partial(draft, level=Level.PORTS), nobody_starves, both_are_there
    ),
)
