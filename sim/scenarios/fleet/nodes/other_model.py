"""FN5: a machine answers with another model than it was asked for: refused before the first byte."""

from collections.abc import Iterator
from dataclasses import replace

from sim.draft import Draft, Engine, Level
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.scenarios.fleet.nodes.reading import HEALTHY, health
from sim.scenarios.fleet.nodes.worlds import VICTIM, cast, gateways, machines
from sim.scenarios.showing import SOON_S, Story, all_show, stories, suffered
from sim.scenarios.targets.worlds import Flow, at_both_levels, calls, world
from sim.seed import Seed

TRUTHFUL = (Engine.OLLAMA, Engine.VLLM, Engine.AGENT)
"""Engines whose answers name the model that gave them; others repeat what was asked for."""


def draft(seed: Seed, level: Level) -> Draft:
    """Draw a machine on which somebody has loaded something else under the same address."""
    chance = seed.chance("draft")
    victim, *others = machines(chance, chance.between(1, 3), slots=4)
    who = cast(chance, (replace(victim, engine=chance.pick(TRUTHFUL)), *others))
    at_s = round(chance.uniform(2.0, 6.0), 3)
    lasts_s = round(chance.uniform(8.0, 20.0), 3)
    made = calls(chance, 0.5, at_s + lasts_s + 5.0, Flow(0.35, (5, 30), gateways=gateways(who)))
    return world(chance, level, who, made, (Fault("other_model", VICTIM, at_s, lasts_s),))


def refused_unseen(journal: Journal) -> Iterator[str]:
    """Show FN5: no client saw a word of it, the next target answered, and the machine counts as failing."""
    met = {fact.members["call"] for fact in suffered(journal, "FN5")}
    asked = [story for story in stories(journal) if story.call.name in met]
    if all_show(asked, _refused) and all(_is_suspect(journal, story) for story in asked):
        yield "FN5"


def _refused(story: Story) -> bool:
    dial = story.dial(VICTIM)
    return dial is not None and dial.word == "wrong_model" and story.moved_on_from(VICTIM)


def _is_suspect(journal: Journal, story: Story) -> bool:
    """Whether it counted so just then, be it that a good answer which had begun before made it sound again."""
    dial = story.dial(VICTIM)
    if dial is None:
        return False
    since, until = dial.ended_at - SOON_S, dial.ended_at + SOON_S
    return any(
        value > HEALTHY and span.overlaps(since, until)
        for span, value in health(journal, VICTIM)[story.call.gateway]
    )


OTHER_MODEL = at_both_levels("FN5", "a machine answers with another model: refused unseen", draft, refused_unseen)
