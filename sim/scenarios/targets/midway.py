"""FV3, FV4, S12, S13: a stream breaks or falls silent after its client has seen something of it.

The client gets one error event and no end mark, what was delivered is settled, nobody else is asked. S12: the same
of a node that dies. S13: a node's machine vanishes during a long generation without a word.
"""

from collections.abc import Iterator
from functools import partial

from sim.draft import Draft, Engine, Knobs, Level, NodeDraft, VendorDraft
from sim.faults.plan import Fault
from sim.journal.calls import Exchange
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import watch_of
from sim.scenarios.scenario import Scenario
from sim.scenarios.showing import SOON_S, Story, all_show, faults, spans, stories, suffered, victims
from sim.scenarios.targets.worlds import NODE, Cast, Flow, at_both_levels, calls, cast, world
from sim.seed import Chance, Seed

SURELY_SEEN_TOKENS = 3
"""A reset destroys what is on its way: only where so many tokens were sent has the client seen the first."""

TOKENS = (40, 120)

PIECE_TOKENS = {Level.WIRE: 1, Level.PORTS: 10}
"""Tokens in one event, which is what faults count."""


# FV3 and FV4


def cut_short(seed: Seed, level: Level) -> Draft:
    """Draw a victim whose streams are cut, while other calls come before and after."""
    chance = seed.chance("draft")
    return _broken(chance, level, cast(chance, first_token_s=0.2, token_s=0.05), chance.pick(("cut", "reset")))


def falling_silent(seed: Seed, level: Level) -> Draft:
    """Draw a victim whose streams fall silent: by its own fault, on the way, or with its machine."""
    chance = seed.chance("draft")
    kind = chance.pick(("stall", "stall", "black_hole", "half_open"))
    return _broken(chance, level, cast(chance, first_token_s=0.2, token_s=0.05), kind)


def dying_midway(seed: Seed, level: Level) -> Draft:
    """Draw nodes, one of which dies in the middle of what it says."""
    chance = seed.chance("draft")
    nodes = tuple(
        NodeDraft(f"node-{number}", chance.pick(tuple(Engine)), slots=8, first_token_s=0.2, token_s=0.05)
        for number in range(chance.between(1, 3))
    )
    vendors = (VendorDraft("cloud-a"), VendorDraft("cloud-b"))[: chance.between(0, 2)]
    who = Cast(NODE, vendors, nodes, chance.pick((1, 2)))
    return _broken(chance, level, who, chance.pick(("cut", "cut", "reset", "stall", "half_open")))


def _broken(chance: Chance, level: Level, who: Cast, kind: str) -> Draft:
    idle_s = chance.pick((2.0, 5.0, 20.0))
    at_s = round(chance.uniform(6.0, 12.0), 3)
    flow = Flow(0.1, TOKENS, streamed=True, gateways=tuple(range(who.replicas)))
    if kind in ("cut", "stall"):
        fault = Fault(kind, who.victim, at_s, 4.0, max(1, chance.between(3, 30) // PIECE_TOKENS[level]))
        made = calls(chance, at_s + 0.1, at_s + 0.6, flow)
    else:  # it strikes those that have begun to speak
        lasts_s = 0.0 if kind == "reset" else round(idle_s + chance.uniform(3.0, 6.0), 3)
        fault = Fault(kind, who.victim, at_s, lasts_s)
        made = calls(chance, at_s - 1.3, at_s - 0.8, flow)
    made += calls(chance, 0.0, at_s - 4.0, Flow(1.0, (3, 20), gateways=flow.gateways))
    made += calls(chance, at_s + 35.0, at_s + 40.0, Flow(1.0, (3, 20), gateways=flow.gateways))
    comment_s = chance.pick((1.0, 15.0))
    return world(chance, level, who, made, (fault,), Knobs(idle_s=idle_s, keepalive_comment_s=comment_s))


def cut_is_told(journal: Journal) -> Iterator[str]:
    """Show FV3: each stream that was cut ended with one error event, and what was delivered is settled."""
    told = stories(journal)
    for victim in victims(journal):
        met = [story for story in told if _was_cut(journal, story, victim)]
        if all_show(met, partial(Story.broke_at, target=victim)):
            yield "FV3"


def stall_is_told(journal: Journal) -> Iterator[str]:
    """Show FV4: the idle timer ended each silent stream on time, with one error event."""
    told = stories(journal)
    for victim in victims(journal):
        met = [story for story in told if _silent_since(journal, story, victim)]
        if all_show(met, partial(_ended_in_time, journal, victim)):
            yield "FV4"


def _seen_of(exchange: Exchange) -> bool:
    """Whether so much was sent that its client must have seen some of it."""
    return exchange.told is not None and len(exchange.told.text("text").split()) >= SURELY_SEEN_TOKENS


def _was_cut(journal: Journal, story: Story, victim: str) -> bool:
    exchange = story.exchange(victim)
    if exchange is None or not story.call.streamed or not _seen_of(exchange) or exchange.says("finished"):
        return False
    resets = [fact.at for fact in faults(journal, "reset") if fact.text("target") == victim]
    return exchange.how == "cut" or any(exchange.asked.at < at <= exchange.told_at + SOON_S for at in resets)


def _silent_since(journal: Journal, story: Story, victim: str) -> float:
    """Give when the last thing that could be heard of a stream was said, 0 if it did not fall silent."""
    exchange = story.exchange(victim)
    if exchange is None or not story.call.streamed:
        return 0.0
    if exchange.how == "silent" and _seen_of(exchange):
        return max(fact.at for fact in suffered(journal, "FV4") if fact.members["call"] == story.call.name)
    held = [*spans(journal, "black_hole", victim), *spans(journal, "half_open", victim)]
    return next((span.start for span in held if story.visible_at < span.start < exchange.told_at), 0.0)


def _ended_in_time(journal: Journal, victim: str, story: Story) -> bool:
    """Whether it broke when nothing had come for the idle time; the last piece may be a token's pause older."""
    idle_s = watch_of(journal).number("idle_s", 0.0)
    silent_s = story.call.over_at - _silent_since(journal, story, victim)
    exchange = story.exchange(victim)
    exact = exchange is not None and exchange.how == "silent"
    early_s = SOON_S if exact else max(1.5, idle_s / 4)
    right_word = any(dial.word == "idle_timeout" for dial in story.dials)
    return right_word and story.broke_at(victim) and idle_s - early_s < silent_s < idle_s + SOON_S


# S12


def struck_midway(journal: Journal) -> Iterator[str]:
    """Say S12 where a node broke after its client had seen something."""
    if any(_broken_nodes(journal, story) for story in stories(journal)):
        yield "S12"


def no_silent_end(journal: Journal) -> Iterator[str]:
    """Show S12: an error event, the part settled, no retry, the slot free."""
    met = [(story, _broken_nodes(journal, story)) for story in stories(journal)]
    released = list(journal.of("lease_released"))
    shown = [story.broke_at(dead[0]) and _slot_freed(story, released) for story, dead in met if dead]
    if shown and all(shown):
        yield "S12"


def _broken_nodes(journal: Journal, story: Story) -> list[str]:
    return [
        one.target
        for one in story.asked
        if not one.asked.has("cloud")
        and (_was_cut(journal, story, one.target) or _silent_since(journal, story, one.target))
    ]


def _slot_freed(story: Story, released: list[Fact]) -> bool:
    ended_at, node, host = story.dials[-1].ended_at, story.dials[-1].target, story.call.gateway
    return any(
        fact.host == host and fact.text("node") == node and abs(fact.at - ended_at) < SOON_S for fact in released
    )


# S13


def gone_without_a_word(seed: Seed) -> Draft:
    """Draw a node with one slot that speaks for minutes, and whose machine loses its power meanwhile."""
    chance = seed.chance("draft")
    idle_s = chance.pick((12.0, 30.0, 45.0))
    nodes = (NodeDraft(NODE, chance.pick(tuple(Engine)), slots=1, first_token_s=0.3, token_s=1.0),)
    who = Cast(NODE, (VendorDraft("cloud-a"),), nodes)
    gone_s = round(chance.uniform(90.0, 400.0), 3)
    back_s = round(idle_s + chance.uniform(-6.0, 6.0), 3)
    made = calls(chance, 1.0, 1.1, Flow(1.0, (560, 580), streamed=True))
    made += calls(chance, gone_s + 1.0, gone_s + idle_s + 10.0, Flow(4.0, (2, 5), placement="cloud_only"))
    made += calls(chance, gone_s + 4.0, gone_s + idle_s - 3.0, Flow(4.0, (2, 4)))
    made += calls(chance, gone_s + idle_s + 15.0, gone_s + idle_s + 60.0, Flow(15.0, (2, 4)))
    return world(chance, Level.WIRE, who, made, (Fault("half_open", NODE, gone_s, back_s),), Knobs(idle_s=idle_s))


def power_was_lost(journal: Journal) -> Iterator[str]:
    """Say S13 where a machine vanished under a stream that had been under way for a minute."""
    if _long_one(journal) is not None:
        yield "S13"


def slot_comes_back(journal: Journal) -> Iterator[str]:
    """Show S13: the idle timer ended it; nobody else got the slot before; the next call had a sound connection."""
    story = _long_one(journal)
    if story is None or not _ended_in_time(journal, NODE, story):
        return
    told, over_at = stories(journal), story.call.over_at
    gone = spans(journal, "half_open", NODE)[0]
    meanwhile = [one for one in told if gone.start < one.call.sent_at < over_at and not _cloud_only(one)]
    after = [one for one in told if max(over_at, gone.end) < one.call.sent_at and not _cloud_only(one)]
    waited = all_show(meanwhile, lambda one: one.passed_over(NODE, "busy") and one.answered_by == "cloud-a")
    served = all_show(after, lambda one: one.targets == (NODE,) and one.answered_by == NODE)
    if waited and served and _slot_freed(story, list(journal.of("lease_released"))):
        yield "S13"


def _cloud_only(story: Story) -> bool:
    return story.call.sents[0].members["placement"] == "cloud_only"


def _long_one(journal: Journal) -> Story | None:
    for story in stories(journal):
        since = _silent_since(journal, story, NODE)
        if since and since - story.call.sent_at >= 60.0 and spans(journal, "half_open", NODE):
            return story
    return None


MIDWAY = (
    *at_both_levels("FV3", "a stream is cut: one error event, the part is settled", cut_short, cut_is_told),
    *at_both_levels("FV4", "a stream falls silent: the idle timer ends it", falling_silent, stall_is_told),
    *at_both_levels("S12", "a node dies in mid-stream: no silent end", dying_midway, no_silent_end, struck_midway),
    Scenario(
        "S13",
        "a node loses its power under a long answer",
        ("S13",),
        gone_without_a_word,
        slot_comes_back,
        power_was_lost,
    ),
)
