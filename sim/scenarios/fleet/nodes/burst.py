"""S35: ten times the load for half a minute, from people who watch the screen and from others.

The queue stays short, since who would wait too long goes to the cloud at once; nobody waits longer than its
patience, who watches the screen hardly at all; each class is served in the order in which it came, and every call
is answered.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from statistics import mean

from sim.draft import Draft, Level
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import watch_of
from sim.scenarios.fleet.nodes.reading import in_turn, key_of, nodes_of, records, waits
from sim.scenarios.fleet.nodes.worlds import KEYS, PLAIN, URGENT, cast, gateways, machines, of_key
from sim.scenarios.scenario import Scenario
from sim.scenarios.showing import Story, stories
from sim.scenarios.targets.worlds import Flow, calls, world
from sim.seed import Seed

CALM_EVERY_S = 0.9
BURST_S = 30.0
TIMES = 10
SURELY_TIMES = 7.0
"""So much of it must show in the journal: calls are drawn with pauses of their own."""

BEGINS_S = 31.0
"""When the burst begins, by the journal; before it the load was ordinary for as long."""

LIMIT_S = 2.0
URGENT_LIMIT_S = 0.25
LATE_S = 0.06
"""A timer that ends is noticed within this, an answer of the store on its way included."""

AT_ONCE_S = 0.1
MANY = 30


def draft(seed: Seed, level: Level) -> Draft:
    """Draw a fleet that just copes, and ten times the calls for half a minute."""
    chance = seed.chance("draft")
    who = cast(chance, machines(chance, 2, token_s=0.04))
    calm = Flow(CALM_EVERY_S, (30, 60), gateways=gateways(who))
    made = calls(chance, 0.0, BEGINS_S - 1.0, calm)
    made += calls(chance, BEGINS_S - 1.0, BEGINS_S - 1.0 + BURST_S, replace(calm, every_s=CALM_EVERY_S / TIMES))
    made += calls(chance, BEGINS_S - 1.0 + BURST_S, BEGINS_S + BURST_S + 10.0, calm)
    drawn = world(chance, level, who, of_key(made, chance, {URGENT.name: chance.pick((0.2, 0.4))}), ())
    return replace(drawn, keys=KEYS, queue_timeout_ms=int(1000 * LIMIT_S))


def ten_times(journal: Journal) -> Iterator[str]:
    """Say S35 where so many more calls came for half a minute, of both classes."""
    sent = [fact.at for fact in journal.of("call_sent")]
    before = sum(BEGINS_S - BURST_S <= at < BEGINS_S for at in sent)
    burst = [fact for fact in journal.of("call_sent") if BEGINS_S <= fact.at < BEGINS_S + BURST_S]
    if (
        before
        and len(burst) >= SURELY_TIMES * before
        and {fact.text("key") for fact in burst} >= {"app", "person"}
    ):
        yield "S35"


def holds_its_line(journal: Journal) -> Iterator[str]:
    """Show S35: see the module."""
    met = [one for one in stories(journal) if BEGINS_S <= one.call.sent_at < BEGINS_S + BURST_S]
    told = records(journal)
    on_nodes = [story for story in met if story.answered_by in nodes_of(journal)]
    sent_on = [story for story in met if story.answered_by == "cloud-a" and _unwaited(told, story)]
    if (
        all(story.answered_by for story in met)
        and all(_within_patience(told, story) for story in met)
        and len(waits(journal)) >= MANY
        and in_turn(waits(journal), LATE_S)
        and sum(key_of(story) == PLAIN.name for story in on_nodes) >= MANY
        and len(sent_on) >= MANY
        and all(_at_once(story) for story in sent_on)
        and _longest_line(journal) <= _line_max(journal)
    ):
        yield "S35"


def _within_patience(told: dict[str, Fact], story: Story) -> bool:
    limit_s = URGENT_LIMIT_S if key_of(story) == URGENT.name else LIMIT_S
    return told[story.call.request_id].number("queue_s") <= limit_s + LATE_S


def _unwaited(told: dict[str, Fact], story: Story) -> bool:
    """Whether its forecast was so bad that it did not wait to see."""
    return story.attempts[0].word == "busy" and told[story.call.request_id].members["forecast_s"] is None


def _at_once(story: Story) -> bool:
    exchange = story.exchange("cloud-a")
    return exchange is not None and exchange.asked.at - story.call.sent_at < AT_ONCE_S


def _longest_line(journal: Journal) -> int:
    longest = waiting = 0
    for fact in journal.of("waiter_joined", "waiter_left"):
        waiting += 1 if fact.kind == "waiter_joined" else -1
        longest = max(longest, waiting)
    return longest


def _line_max(journal: Journal) -> float:
    """Give how many can wait at once: twice as many as Little's law has room for within their patience."""
    since = {fact.text("lease"): fact.at for fact in journal.of("lease_taken")}
    held = [fact.at - since[fact.text("lease")] for fact in journal.of("lease_released")]
    slots = sum(watch_of(journal).number(f"slots:{node}", 0.0) for node in nodes_of(journal))
    return 2.0 * LIMIT_S * slots / mean(held) if held else 0.0


BURST = (
    Scenario(
        "s35-burst",
        "ten times the load for half a minute",
        ("S35",),
        partial(draft, level=Level.PORTS),
        holds_its_line,
        ten_times,
    ),
)
