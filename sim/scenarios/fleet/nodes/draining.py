"""FN3: the agent of a machine is shut down: nothing new goes there, what it answers it answers to the end.

It is not taken for ill, whatever met it before its looks told.
"""

from collections.abc import Iterator
from dataclasses import replace

from sim.draft import Draft, Engine, Level
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.scenarios.fleet.nodes.reading import HEALTHY, asked_by_calls, health
from sim.scenarios.fleet.nodes.worlds import LOOKED_S, VICTIM, cast, gateways, machines
from sim.scenarios.showing import Story, spans, stories
from sim.scenarios.targets.worlds import Flow, at_both_levels, calls, world
from sim.seed import Seed


def draft(seed: Seed, level: Level) -> Draft:
    """Draw an agent that is shut down under long answers, while other calls go on."""
    chance = seed.chance("draft")
    leaver, *others = machines(chance, chance.between(1, 3), slots=4)
    who = cast(chance, (replace(leaver, engine=Engine.AGENT), *others))
    at_s = round(chance.uniform(6.0, 12.0), 3)
    lasts_s = round(chance.uniform(20.0, 40.0), 3)
    everywhere = gateways(who)
    made = calls(chance, at_s - 1.5, at_s - 0.5, Flow(0.2, (120, 300), gateways=everywhere))
    made += calls(chance, at_s + 0.2, at_s + lasts_s, Flow(0.6, (5, 20), gateways=everywhere))
    made += calls(
        chance, at_s + lasts_s + LOOKED_S + 1.0, at_s + lasts_s + 20.0, Flow(0.5, (5, 20), gateways=everywhere)
    )
    drawn = world(chance, level, who, made, (Fault("draining", VICTIM, at_s, lasts_s),))
    return replace(drawn, round_robin=True)  # so that it has its turn again whatever it was measured before


def leaves_in_order(journal: Journal) -> Iterator[str]:
    """Show FN3: running answers were finished, new calls went elsewhere; it is asked again, and was never ill."""
    drains = next(iter(spans(journal, "draining", VICTIM)), None)
    if drains is None:
        return
    told = stories(journal)
    running = [story for story in told if _was_running(story, drains.start)]
    late = [one for one in asked_by_calls(journal, VICTIM) if drains.start + LOOKED_S < one.asked.at < drains.end]
    met = [story for story in told if drains.start <= story.call.sent_at < drains.end]
    elsewhere = [story for story in met if story.answered_by not in ("", VICTIM)]
    again = any(story.answered_by == VICTIM for story in told if story.call.sent_at > drains.end)
    if (
        running
        and all(story.answered_by == VICTIM for story in running)
        and len(elsewhere) == len(met) > 0
        and not late
        and again
        and all(value == HEALTHY for turns in health(journal, VICTIM).values() for _, value in turns)
    ):
        yield "FN3"


def _was_running(story: Story, at: float) -> bool:
    exchange = story.exchange(VICTIM)
    return exchange is not None and exchange.asked.at < at < exchange.told_at


DRAINING = at_both_levels("FN3", "an agent is shut down: no new call, running ones finish", draft, leaves_in_order)
