"""S43: a chain with tiers and a placement in its name, `auto:nodes-only:high`.

The first model of the tier is asked, then the next one of the same tier; a call of the fleet alone never reaches a
cloud, all others do when the machines of the whole chain are down; another tier has models of its own.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from sim.draft import MODEL, ChainDraft, Draft, Knobs, Level, VendorDraft, vendor_model_of
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.fleet.nodes.reading import clouds_asked, turned_away
from sim.scenarios.fleet.nodes.worlds import cast, gateways, machines
from sim.scenarios.scenario import Scenario
from sim.scenarios.showing import Story, all_show, spans, stories
from sim.scenarios.targets.worlds import Flow, calls, with_resets, world
from sim.seed import Seed

SMALL = "small-model"
CHAIN = ChainDraft("auto", (("high", (MODEL, SMALL)), ("low", (SMALL,))))
LARGE_NODE, SMALL_NODE = "node-0", "node-1"

CONFINED_HIGH, HIGH, LOW = "auto:nodes-only:high", "auto:high", "auto:low"
NAMES = (CONFINED_HIGH, CONFINED_HIGH, HIGH, LOW)


def draft(seed: Seed, level: Level) -> Draft:
    """Draw one machine per model; the first fails, then the second one too."""
    chance = seed.chance("draft")
    large, small = machines(chance, 2, slots=8)
    who = cast(chance, (replace(large, serves=(MODEL,)), replace(small, serves=(SMALL,))))
    who = replace(who, vendors=(VendorDraft("cloud-a", token_s=0.01, serves=(MODEL, SMALL)),))
    first_s, both_s = round(chance.uniform(5.0, 8.0), 3), round(chance.uniform(18.0, 22.0), 3)
    ends_s = round(both_s + chance.uniform(15.0, 20.0), 3)
    plan = (
        Fault("refuse", LARGE_NODE, first_s, ends_s - first_s),
        Fault("refuse", SMALL_NODE, both_s, ends_s - both_s),
    )
    made = calls(chance, 0.5, ends_s - 0.5, Flow(0.25, (5, 15), gateways=gateways(who)))
    named = tuple(replace(call, model=chance.pick(NAMES)) for call in made)
    drawn = world(chance, level, who, named, with_resets(plan), Knobs(first_token_s=5.0))
    return replace(drawn, chains=(CHAIN,))


def one_by_one(journal: Journal) -> Iterator[str]:
    """Say S43 where first one machine of the chain failed, and then all."""
    if _outages(journal) is not None:
        yield "S43"


def along_the_chain(journal: Journal) -> Iterator[str]:
    """Show S43: each of the three parts of the world was served as the name of the call says."""
    outages = _outages(journal)
    if outages is None:
        return
    large, small = outages
    settled_s = 2.0  # whoever was under way then met both
    told = stories(journal)
    moment_s = 0.01  # a machine's connections are reset just before it refuses
    well = [story for story in told if story.call.over_at < large.start - moment_s]
    one = [
        story
        for story in told
        if large.start + settled_s < story.call.sent_at and story.call.over_at < small.start - moment_s
    ]
    both = [story for story in told if small.start + settled_s < story.call.sent_at < small.end - settled_s]
    if (
        all_show(_named(well, CONFINED_HIGH, HIGH), lambda story: story.answered_by == LARGE_NODE)
        and all_show(_named(one, CONFINED_HIGH, HIGH), lambda story: story.answered_by == SMALL_NODE)
        and all_show(_named(both, CONFINED_HIGH), _nobody)
        and all_show(_named(both, HIGH), lambda story: _cloud_model(story) == vendor_model_of(MODEL))
        and all_show(_named(both, LOW), lambda story: _cloud_model(story) == vendor_model_of(SMALL))
        and all_show(_named([*well, *one], LOW), lambda story: story.answered_by == SMALL_NODE)
        and not any(clouds_asked(story) for story in _named(told, CONFINED_HIGH))
    ):
        yield "S43"


def _nobody(story: Story) -> bool:
    """Whether a call of the fleet alone failed: by a machine that had just gone, or with a time to come again."""
    failed_there = bool(story.dials) and story.call.status in (502, 503, 504)
    return not clouds_asked(story) and (failed_there or turned_away(story))


def _named(told: list[Story], *names: str) -> list[Story]:
    return [story for story in told if story.call.sents[0].text("model") in names]


def _cloud_model(story: Story) -> str:
    """Give what the cloud was asked for by a call that it answered."""
    asked = clouds_asked(story)
    return asked[0].asked.text("model") if len(asked) == 1 and story.answered_by == "cloud-a" else ""


def _outages(journal: Journal) -> tuple[Span, Span] | None:
    large, small = spans(journal, "refuse", LARGE_NODE), spans(journal, "refuse", SMALL_NODE)
    return (large[0], small[0]) if large and small and large[0].start < small[0].start else None


CHAINS = (
    Scenario(
        "s43-chain",
        "along a tier of a chain",
        ("S43",),
        partial(draft, level=Level.PORTS),
        along_the_chain,
        one_by_one,
    ),
)
