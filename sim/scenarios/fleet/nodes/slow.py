"""S14: a machine is ten times slower than the others, and sound.

It loses weight and is taken for healthy all the time: slowness is no failure. It still gets what the others have
no slot for. One long prompt, which takes any machine long, costs nobody its share.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from statistics import median

from sim.draft import CallDraft, Draft, Engine, Level
from sim.journal.journal import Journal
from sim.scenarios.fleet.nodes.reading import HEALTHY, asked_by_calls, health, nodes_of
from sim.scenarios.fleet.nodes.worlds import VICTIM, cast, gateways, machines
from sim.scenarios.scenario import Scenario
from sim.scenarios.targets.worlds import Flow, calls, world
from sim.seed import Seed

MEASURED = (Engine.VLLM, Engine.OLLAMA, Engine.AGENT, Engine.TGI)
"""Engines whose speed is measured from outside; llama.cpp tells its own, and the fake one tells a constant."""

TIMES_SLOWER = 10.0
SURELY_SLOWER = 5.0

LEARNT_S = 41.0
MEASURED_S = 121.0
"""Between these moments of the journal speeds are known and there are slots enough."""

FAIR_MIN = 0.5
"""Of an even share: what each of the sound machines gets at least, and the slow one at most."""

LONG_WORDS = 600


def draft(seed: Seed, level: Level) -> Draft:
    """Draw a slow machine among like ones, calls that learn it, one long prompt, and a crowd in the end."""
    chance = seed.chance("draft")
    slow, *others = (
        replace(node, prefill_token_s=0.0005, window=None)
        for node in machines(chance, 4, engines=(chance.pick(MEASURED),), first_token_s=0.1, token_s=0.02)
    )
    slow = replace(slow, first_token_s=1.0, token_s=0.2, prefill_token_s=0.005)
    who = cast(chance, (slow, *others), replicas=(1, 2))
    flow = Flow(0.25, (30, 70), streamed=True, gateways=gateways(who))
    made = calls(chance, 0.5, MEASURED_S - 1.0, flow)
    long = CallDraft(at_s=round(chance.uniform(LEARNT_S, LEARNT_S + 20.0), 3), tokens=20, prompt_words=LONG_WORDS)
    crowd = calls(chance, MEASURED_S, MEASURED_S + 4.0, replace(flow, every_s=0.06))
    drawn = world(chance, level, who, (*made, long, *crowd), ())
    return replace(drawn, band=chance.pick((1.25, math.inf)))


def one_is_slow(journal: Journal) -> Iterator[str]:
    """Say S14 where one machine took many times longer for its answers than all others."""
    took = {node: _took_s(journal, node) for node in nodes_of(journal)}
    slow_s = took.pop(VICTIM, 0.0)
    if took and slow_s > SURELY_SLOWER * max(took.values()) > 0:
        yield "S14"


def loses_weight_only(journal: Journal) -> Iterator[str]:
    """Show S14: less than its share, but some; sound in everybody's eyes; the others share what is left evenly."""
    asked = Counter(
        {
            node: sum(LEARNT_S < one.asked.at < MEASURED_S for one in asked_by_calls(journal, node))
            for node in nodes_of(journal)
        }
    )
    later = any(one.asked.at > LEARNT_S and one.says("finished") for one in asked_by_calls(journal, VICTIM))
    sound = all(
        value == HEALTHY for node in asked for turns in health(journal, node).values() for _, value in turns
    )
    slow, total = asked.pop(VICTIM, 0), asked.total()
    if (
        asked
        and sound
        and later
        and slow < FAIR_MIN * (slow + total) / (len(asked) + 1)
        and min(asked.values()) > FAIR_MIN * total / len(asked)
    ):
        yield "S14"


def _took_s(journal: Journal, node: str) -> float:
    return median([one.told_at - one.asked.at for one in asked_by_calls(journal, node) if one.told] or [0.0])


SLOW = (
    Scenario(
        "s14-slow",
        "a machine is slow, not dead",
        ("S14",),
        partial(draft, level=Level.PORTS),
        loses_weight_only,
        one_is_slow,
    ),
)
