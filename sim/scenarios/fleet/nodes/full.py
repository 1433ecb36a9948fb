"""FN2: a machine has fewer slots than it says, so it answers `busy` to calls that hold a lease of it.

Each such call goes on to the next candidate before a byte was sent, and that is no attempt: even where one attempt
is all a call has, somebody else answers it.
"""

from collections.abc import Iterator
from dataclasses import replace

from sim.draft import Draft, Engine, Level
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.scenarios.fleet.nodes.worlds import VICTIM, cast, gateways, machines
from sim.scenarios.showing import Story, all_show, stories, suffered
from sim.scenarios.targets.worlds import Flow, at_both_levels, calls, world
from sim.seed import Seed


def draft(seed: Seed, level: Level) -> Draft:
    """Draw an agent that somebody else uses too, beside machines that have what they say, or none."""
    chance = seed.chance("draft")
    liar, *others = machines(chance, chance.between(1, 3), slots=4)
    liar = replace(liar, engine=Engine.AGENT, slots_told=4)
    who = cast(chance, (liar, *others))
    at_s = round(chance.uniform(3.0, 8.0), 3)
    made = calls(chance, 0.5, at_s, Flow(1.0, (5, 20), gateways=gateways(who)))
    made += calls(chance, at_s + 0.5, at_s + 12.0, Flow(0.25, (20, 60), gateways=gateways(who)))
    plan = (Fault("fewer_slots", VICTIM, at_s, 14.0, 1.0),)
    return replace(world(chance, level, who, made, plan), attempts_max=chance.pick((1, 1, 6)))


def moves_on(journal: Journal) -> Iterator[str]:
    """Show FN2: every call that was told `busy` was answered by somebody else, and paid nothing for it."""
    met = {fact.members["call"] for fact in suffered(journal, "FN2")}
    if all_show([story for story in stories(journal) if story.call.name in met], _answered_elsewhere):
        yield "FN2"


def _answered_elsewhere(story: Story) -> bool:
    dial = story.dial(VICTIM)
    return dial is not None and dial.word == "busy" and story.moved_on_from(VICTIM)


FULL = at_both_levels("FN2", "a machine is full against our count: the next one answers", draft, moves_on)
