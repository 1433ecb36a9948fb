"""FN7, S15: every machine of a model is in trouble at once.

FN7: nobody can be reached while nothing runs. One bad round of looks is distrusted, since our own network fails
more often than all machines do, and the last view stays; the calls that come find out by themselves, and then the
cloud answers. S15: however they fail, what may go to the cloud goes there, and a call of the fleet alone is turned
away with a time to come again.
"""

from collections.abc import Iterator
from dataclasses import replace

from sim.draft import Draft, Knobs, Level
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.fleet.nodes.reading import (
    DOWN,
    all_struck,
    asked_by_calls,
    clouds_asked,
    gateways_of,
    health,
    key_of,
    logged,
    nodes_of,
    turned_away,
    words,
)
from sim.scenarios.fleet.nodes.worlds import CONFINED, HEALED_S, KEYS, cast, gateways, machines, of_key, on_all
from sim.scenarios.showing import SOON_S, Story, all_show, stories
from sim.scenarios.targets.worlds import Flow, at_both_levels, calls, world
from sim.seed import Seed

OUTAGES = ("refuse", "status", "power_off")
"""Ways in which a machine takes no call and answers no look."""

FAILINGS = (500.0, 502.0, 504.0)
"""A 503 may be meant as `busy`, which says nothing about health."""

MAJORITY_MIN = 3
"""Of fewer machines there is no majority that could vouch for the looks, so those are believed."""

SIXTEEN_S = 16.0
"""Three looks were missed by then, and a fourth was not far."""

HALF_AND_HALF = {CONFINED.name: 0.5}

# FN7


def unreachable(seed: Seed, level: Level) -> Draft:
    """Draw a fleet that vanishes from our network in a quiet moment; calls come when the looks have failed."""
    chance = seed.chance("draft")
    who = cast(chance, machines(chance, chance.between(MAJORITY_MIN, 5)))
    everywhere = gateways(who)
    at_s = round(chance.uniform(8.0, 14.0), 3)
    quiet_s = SIXTEEN_S + chance.uniform(4.0, 9.0)
    lasts_s = round(quiet_s + 25.0, 3)
    made = calls(chance, 0.5, at_s - 5.0, Flow(0.6, (5, 15), gateways=everywhere))
    made += calls(chance, at_s + quiet_s, at_s + lasts_s - 1.0, Flow(0.3, (5, 20), gateways=everywhere))
    healed_s = at_s + lasts_s + HEALED_S
    made += calls(chance, healed_s, healed_s + 5.0, Flow(0.5, (5, 20), gateways=everywhere))
    plan = on_all("refuse", who.nodes, at_s, lasts_s)
    drawn = world(chance, level, who, of_key(made, chance, HALF_AND_HALF), plan, Knobs(first_token_s=5.0))
    return replace(drawn, keys=KEYS)


def all_bad_at_once(journal: Journal) -> Iterator[str]:
    """Say FN7 where so many machines were unreachable together that looks had to be distrusted."""
    if len(nodes_of(journal)) >= MAJORITY_MIN and all_struck(journal, ("refuse",)) is not None:
        yield "FN7"


def distrusted_then_found_out(journal: Journal) -> Iterator[str]:
    """Show FN7: no look took a machine down, calls did, and from then on the cloud answered without delay."""
    struck = all_struck(journal, ("refuse",))
    if struck is None:
        return
    distrusted = any(struck.start < fact.at < struck.end for fact in logged(journal, "probe_distrusted"))
    if distrusted and _taken_down_by_calls(journal, struck) and _served_without(journal, struck):
        yield "FN7"


def _taken_down_by_calls(journal: Journal, struck: Span) -> bool:
    """Whether nobody turned a machine bad before a call of its own had failed there."""
    told = stories(journal)
    for host in gateways_of(journal):
        came = [story.call.sent_at for story in told if story.call.gateway == host]
        first = min((at for at in came if struck.start < at < struck.end), default=struck.end)
        for node in nodes_of(journal):
            if any(value > 0 and struck.start < span.start < first for span, value in health(journal, node)[host]):
                return False
    return True


# S15


def all_down(seed: Seed, level: Level) -> Draft:
    """Draw a fleet whose machines fail together, each in one of several ways, under calls of both kinds."""
    chance = seed.chance("draft")
    who = cast(chance, machines(chance, chance.between(1, 3)))
    everywhere = gateways(who)
    at_s, lasts_s = round(chance.uniform(5.0, 9.0), 3), round(chance.uniform(35.0, 50.0), 3)
    made = calls(chance, 0.5, at_s + lasts_s - 1.0, Flow(0.3, (5, 20), gateways=everywhere))
    healed_s = at_s + lasts_s + HEALED_S
    made += calls(chance, healed_s, healed_s + 5.0, Flow(0.5, (5, 20), gateways=everywhere))
    plan: tuple[Fault, ...] = ()
    for node in who.nodes:
        plan += on_all(chance.pick(OUTAGES), (node,), at_s, lasts_s, chance.pick(FAILINGS))
    drawn = world(chance, level, who, of_key(made, chance, HALF_AND_HALF), plan, Knobs(first_token_s=5.0))
    return replace(drawn, keys=KEYS)


def none_is_left(journal: Journal) -> Iterator[str]:
    """Say S15 where all machines failed at the same time."""
    if all_struck(journal, OUTAGES) is not None:
        yield "S15"


def cloud_or_come_again(journal: Journal) -> Iterator[str]:
    """Show S15: the cloud for those that may, 503 with Retry-After for those that may not."""
    struck = all_struck(journal, OUTAGES)
    if struck is not None and _served_without(journal, struck):
        yield "S15"


def _served_without(journal: Journal, struck: Span) -> bool:
    """Whether calls were served as they should be once a gateway took all machines to be down, and afterwards."""
    told = stories(journal)
    down = {host: _all_down_since(journal, host, struck) for host in gateways_of(journal)}
    until = struck.end - SOON_S
    met = [story for story in told if down[story.call.gateway] + SOON_S < story.call.sent_at < until]
    confined = [story for story in met if key_of(story) == CONFINED.name]
    free = [story for story in met if key_of(story) != CONFINED.name]
    asked = [one for node in nodes_of(journal) for one in asked_by_calls(journal, node)]
    late = [story for story in told if story.call.sent_at > struck.end + HEALED_S]
    never = [story for story in told if key_of(story) == CONFINED.name and clouds_asked(story)]
    return (
        all_show(confined, turned_away)
        and all_show(free, _from_the_cloud)
        and not any(one.call in {story.call.name for story in met} for one in asked)
        and all_show(late, lambda story: story.answered_by in nodes_of(journal))
        and not never
    )


def _from_the_cloud(story: Story) -> bool:
    return words(story) == {"down"} and story.targets == ("cloud-a",) and story.answered_by == "cloud-a"


def _all_down_since(journal: Journal, host: str, struck: Span) -> float:
    """Give since when a gateway took all machines to be down for the rest of an outage; its end: never."""
    since = [struck.start]
    for node in nodes_of(journal):
        turns = [(span, value) for span, value in health(journal, node)[host] if span.end > struck.start]
        last = [span.start for span, value in turns if value == DOWN and span.end >= struck.end]
        since.append(min(last, default=struck.end))
    return max(since)


ALL_BAD = (
    *at_both_levels(
        "FN7",
        "nobody can be reached: the looks are distrusted, calls find out, the cloud answers",
        unreachable,
        distrusted_then_found_out,
        all_bad_at_once,
    ),
    *at_both_levels(
        "S15", "all machines fail: the cloud, or a time to come again", all_down, cloud_or_come_again, none_is_left
    ),
)
