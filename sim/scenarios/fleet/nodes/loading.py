"""FN4, S44: a model that is not in memory is loaded beside the calls, which go elsewhere meanwhile.

FN4: the model of the only machine is evicted; a call finds it cold, or is told that it loads, and the cloud
answers; after the load the machine answers again. S44: no machine of a fleet has it: calls of the fleet alone are
turned away with a time to come again, all others go to the cloud, and none is loaded twice, whoever wanted it.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from sim.draft import Draft, Engine, Level
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.fleet.nodes.reading import (
    clouds_asked,
    key_of,
    loads_asked,
    logged,
    nodes_of,
    turned_away,
    words,
)
from sim.scenarios.fleet.nodes.worlds import (
    CONFINED,
    KEYS,
    LOOKED_S,
    VICTIM,
    cast,
    gateways,
    machines,
    of_key,
    on_all,
)
from sim.scenarios.scenario import Scenario
from sim.scenarios.showing import Story, all_show, spans, stories
from sim.scenarios.targets.worlds import Flow, at_both_levels, calls, world
from sim.seed import Seed

TELLS = (Engine.AGENT, Engine.LLAMA_CPP)
"""Engines that say whether a model is loaded; with others a call waits inside, as with any slow answer."""

LOADED_S = 10.0
"""Every replica knows of a load by then: by news, or because it has asked for a token itself."""

PASSED_OVER = frozenset({"cold", "loading"})

# FN4


def evicted(seed: Seed, level: Level) -> Draft:
    """Draw one machine whose model goes out of memory between calls."""
    chance = seed.chance("draft")
    who = cast(chance, machines(chance, 1, engines=TELLS, slots=8))
    at_s = round(chance.uniform(6.0, 12.0), 3)
    loads_s = chance.pick((3.0, 6.0, 10.0))
    everywhere = gateways(who)
    made = calls(chance, 0.5, at_s - 4.0, Flow(0.7, (5, 20), gateways=everywhere))
    tells = who.nodes[0].engine is Engine.LLAMA_CPP  # else a call that comes before the first look waits inside
    asks_s = at_s + (chance.pick((0.1, LOOKED_S)) if tells else LOOKED_S)
    made += calls(chance, asks_s, asks_s + loads_s + 25.0, Flow(0.6, (5, 20), gateways=everywhere))
    return world(chance, level, who, made, (Fault("evicted", VICTIM, at_s, 200.0, loads_s),))


def loaded_beside(journal: Journal) -> Iterator[str]:
    """Show FN4: those that came while it was not in memory were answered elsewhere; then it answered again."""
    gone = [fact.at for fact in journal.of("model_gone") if fact.members["node"] == VICTIM]
    back = [fact.at for fact in journal.of("model_loaded") if fact.members["node"] == VICTIM]
    if not gone or not back:
        return
    cold, told = Span(gone[0], back[0]), stories(journal)
    met = [story for story in told if cold.start < story.call.sent_at < cold.end - 0.5]
    later = [story for story in told if story.call.sent_at > cold.end + LOADED_S]
    beside = any(fact.at < cold.end for fact in logged(journal, "model_loading"))
    if beside and all_show(met, _went_elsewhere) and all_show(later, lambda story: story.answered_by == VICTIM):
        yield "FN4"


def _went_elsewhere(story: Story) -> bool:
    return bool(words(story) & PASSED_OVER) and story.answered_by not in ("", VICTIM)


# S44


def all_cold(seed: Seed, level: Level) -> Draft:
    """Draw a fleet that has just been switched on: nothing is in memory, and everybody comes at once."""
    chance = seed.chance("draft")
    who = cast(chance, machines(chance, chance.between(2, 4), engines=(Engine.AGENT,), slots=2))
    loads_s = chance.pick((8.0, 15.0))
    begins_s = 1.0 + LOOKED_S
    flow = Flow(0.3, (5, 20), gateways=gateways(who))
    made = of_key(calls(chance, begins_s, begins_s + 6.0, flow), chance, {CONFINED.name: 0.4})
    warm_s = begins_s + loads_s + LOOKED_S + 2.0
    made += of_key(calls(chance, warm_s, warm_s + 10.0, replace(flow, every_s=1.0)), chance, {CONFINED.name: 0.4})
    plan = on_all("evicted", who.nodes, 0.0, 200.0, loads_s)
    return replace(world(chance, level, who, made, plan), keys=KEYS)


def nothing_in_memory(journal: Journal) -> Iterator[str]:
    """Say S44 where no machine had its model in memory when calls came."""
    if _cold(journal) is not None:
        yield "S44"


def each_loads_once(journal: Journal) -> Iterator[str]:
    """Show S44: the cloud answered, calls of the fleet alone were turned away, nobody loaded twice."""
    cold = _cold(journal)
    if cold is None:
        return
    told = stories(journal)
    early = [story for story in told if story.call.sent_at < cold.end - 0.5]
    late = [story for story in told if story.call.sent_at > cold.end + LOOKED_S]
    loads = [len(loads_asked(journal, node)) for node in nodes_of(journal)]
    free = [story for story in early if key_of(story) != CONFINED.name]
    confined = [story for story in early if key_of(story) == CONFINED.name]
    if (
        all_show(free, lambda story: bool(clouds_asked(story)) and story.answered_by != "")
        and all_show(confined, turned_away)
        and all_show(late, lambda story: not clouds_asked(story) and story.answered_by != "")
        and max(loads) == 1
    ):
        yield "S44"


def _cold(journal: Journal) -> Span | None:
    """Give from when the last one had lost its model until the first one had it again."""
    nodes = nodes_of(journal)
    gone = {fact.text("node"): fact.at for fact in journal.of("model_gone")}
    back = [fact.at for fact in journal.of("model_loaded")]
    if not nodes or gone.keys() < set(nodes) or not back or not spans(journal, "evicted", nodes[0]):
        return None
    return Span(max(gone.values()), back[0])


LOADING = (
    *at_both_levels("FN4", "a model is evicted: loaded beside, the call goes elsewhere", evicted, loaded_beside),
    Scenario(
        "s44-all-cold",
        "no machine has the model in memory: each loads it once",
        ("S44",),
        partial(all_cold, level=Level.PORTS),
        each_loads_once,
        nothing_in_memory,
    ),
)
