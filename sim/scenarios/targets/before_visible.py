"""FV1, FV2, S11: a target fails before anything visible, and the next one answers.

FV1: it refuses, resets, cuts or answers 5xx. FV2: it accepts and never answers, so the first-token timer ends it
and the same endpoint is not dialled again. S11: a node dies under calls that wait for their first byte.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from sim.draft import Draft, Engine, Knobs, Level, NodeDraft, VendorDraft
from sim.faults.plan import Fault
from sim.journal.calls import Exchange
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import watch_of
from sim.scenarios.showing import SOON_S, Dial, Story, all_show, faults, spans, stories, victims
from sim.scenarios.targets.worlds import (
    Cast,
    Flow,
    at_both_levels,
    calls,
    cast,
    one_after_another,
    with_resets,
    world,
)
from sim.seed import Chance, Seed

FAILINGS = (500.0, 502.0, 503.0, 504.0, 529.0)

CLOSED_WORDS = frozenset({"closed", "malformed", "refused"})
"""Refused: a request whose kept connection died is sent once more, and then nobody listens."""


# FV1


def refusing(seed: Seed, level: Level) -> Draft:
    """Draw a victim that fails fast, in some of the ways there are, while calls come."""
    chance = seed.chance("draft")
    who = cast(chance, first_token_s=chance.pick((0.6, 1.0)))
    plan, ends_s = one_after_another(
        [_fast_failure(kind, who.victim, chance) for kind in chance.some(("refuse", "status", "cut"), 2)],
        starts_s=chance.uniform(2.0, 6.0),
        pause_s=chance.uniform(1.0, 20.0),
    )
    flow = Flow(chance.pick((0.5, 1.5)), gateways=tuple(range(who.replicas)))
    made = calls(chance, 0.0, ends_s + 5.0, flow)
    # A reset strikes calls that have just been asked; by then a breaker that opened has had its trial.
    reset_s = round(ends_s + 60.0, 3)
    made += calls(chance, reset_s - 20.0, reset_s - 2.0, replace(flow, every_s=1.0))
    made += calls(chance, reset_s - 0.15, reset_s - 0.05, replace(flow, every_s=0.03))
    plan += (Fault("reset", who.victim, reset_s),) if chance.happens(0.5) else ()
    return world(chance, level, who, made, with_resets(plan))


def _fast_failure(kind: str, victim: str, chance: Chance) -> Fault:
    amount = chance.pick(FAILINGS) if kind == "status" else 0.0
    return Fault(kind, victim, 0.0, round(chance.uniform(3.0, 8.0), 3), amount)


def next_target_answers(journal: Journal) -> Iterator[str]:
    """Show FV1: each call whose target failed fast was answered by the next one, and both are in the books."""
    told = stories(journal)
    for victim in victims(journal):
        met = [story for story in told if _failed_fast(journal, story, victim)]
        if all_show(met, partial(_went_on, victim=victim)):
            yield "FV1"


def _failed_fast(journal: Journal, story: Story, victim: str) -> bool:
    dial, exchange = story.dial(victim), story.exchange(victim)
    if exchange is not None:
        if exchange.told is None or exchange.says("visible"):
            return False
        return exchange.status >= 500 or exchange.how == "cut" or _was_reset(journal, exchange)
    refused = spans(journal, "refuse", victim)
    return dial is not None and any(span.overlaps(dial.began_at, dial.ended_at) for span in refused)


def _was_reset(journal: Journal, exchange: Exchange) -> bool:
    resets = [fact.at for fact in faults(journal, "reset") if fact.text("target") == exchange.target]
    return any(exchange.asked.at < at <= exchange.told_at + SOON_S and exchange.how != "whole" for at in resets)


def _went_on(story: Story, victim: str) -> bool:
    dial, exchange = story.dial(victim), story.exchange(victim)
    if dial is None or not story.moved_on_from(victim):
        return False
    if exchange is None:
        return dial.word == "refused"
    return dial.word == str(exchange.status) if exchange.status >= 500 else dial.word in CLOSED_WORDS


# FV2


def silent(seed: Seed, level: Level) -> Draft:
    """Draw a victim that takes calls and never answers: from the head on, after it, or held on the way."""
    chance = seed.chance("draft")
    kind = chance.pick(("silent", "silent", "stall", "black_hole"))
    who = cast(chance, first_token_s=1.0)
    first_token_s = chance.pick((5.0, 7.5, 15.0))
    starts_s = round(chance.uniform(3.0, 8.0), 3)
    lasts_s = round(first_token_s + chance.uniform(2.0, 6.0), 3)
    gateways = tuple(range(who.replicas))
    made = calls(chance, 0.0, starts_s - 1.5, Flow(0.7, gateways=gateways))
    during = Flow(chance.pick((0.8, 1.5)), streamed=True if kind == "stall" else None, gateways=gateways)
    if kind == "black_hole":  # those on their way before it are the ones that nobody answers
        made += calls(chance, starts_s - 0.3, starts_s - 0.1, replace(during, every_s=0.05))
    else:
        made += calls(chance, starts_s + 0.2, starts_s + lasts_s - 0.5, during)
    return world(
        chance,
        level,
        who,
        made,
        (Fault(kind, who.victim, starts_s, lasts_s),),
        Knobs(first_token_s=first_token_s, hold_status_s=chance.pick((1.0, 10.0))),
    )


def timer_moves_on(journal: Journal) -> Iterator[str]:
    """Show FV2: the first-token timer ended each silent attempt on time, and another target answered."""
    first_token_s = watch_of(journal).number("first_token_s", 0.0)
    told = stories(journal)
    for victim in victims(journal):
        met = [story for story in told if _met_silence(journal, story, victim)]
        if all_show(met, partial(_timed_out, victim=victim, first_token_s=first_token_s)):
            yield "FV2"


def _met_silence(journal: Journal, story: Story, victim: str) -> bool:
    dial, exchange = story.dial(victim), story.exchange(victim)
    if dial is None or exchange is None:
        return False
    if exchange.how == "silent":
        return not exchange.says("visible") and (story.call.streamed or exchange.status == 0)
    held = spans(journal, "black_hole", victim)
    return any(exchange.asked.at < span.start < dial.ended_at < span.end for span in held)


def _timed_out(story: Story, victim: str, first_token_s: float) -> bool:
    dial = story.dial(victim)
    if dial is None or dial.word != "first_token_timeout" or not story.moved_on_from(victim):
        return False
    return first_token_s <= dial.ended_at - dial.began_at <= first_token_s + SOON_S


# S11


def dying_node(seed: Seed, level: Level) -> Draft:
    """Draw nodes, one of which dies while calls wait for its first byte."""
    chance = seed.chance("draft")
    nodes = tuple(
        NodeDraft(f"node-{number}", chance.pick(tuple(Engine)), slots=8, first_token_s=2.5)
        for number in range(chance.between(1, 3))
    )
    vendors = tuple(VendorDraft(name) for name in ("cloud-a", "cloud-b")[: chance.between(1, 2)])
    who = Cast("node-0", vendors, nodes, chance.pick((1, 2)))
    dies_s = round(chance.uniform(3.0, 20.0), 3)
    gone_s = round(chance.uniform(8.0, 25.0), 3)
    way = chance.pick(("killed", "powered off", "cut"))
    plan = {
        "killed": (Fault("reset", "node-0", dies_s), Fault("refuse", "node-0", dies_s, gone_s)),
        "powered off": (Fault("half_open", "node-0", dies_s, gone_s),),
        "cut": (Fault("cut", "node-0", round(dies_s - 0.5, 3), gone_s),),
    }[way]
    flow = Flow(0.03, gateways=tuple(range(who.replicas)))
    made = calls(chance, dies_s - 0.3, dies_s - 0.1, flow)
    made += calls(chance, dies_s + gone_s + 32.0, dies_s + gone_s + 36.0, replace(flow, every_s=0.8))
    return world(chance, level, who, made, plan, Knobs(first_token_s=chance.pick((4.0, 6.0))))


def struck_early(journal: Journal) -> Iterator[str]:
    """Say S11 where a node died between taking a request and anything visible."""
    if any(_dead_under(journal, story) for story in stories(journal)):
        yield "S11"


def another_took_over(journal: Journal) -> Iterator[str]:
    """Show S11: one stream of somebody else, in time, both attempts in the books, and the slot is free again."""
    total_s = watch_of(journal).number("call_total_s", 660.0)
    released = list(journal.of("lease_released"))
    met = [(story, _dead_under(journal, story)) for story in stories(journal)]
    took_over = [_taken_over(story, dead, total_s, released) for story, dead in met if dead]
    if took_over and all(took_over):
        yield "S11"


def _dead_under(journal: Journal, story: Story) -> list[str]:
    """Give the nodes that died while the client of this call still waited for its first text."""
    return [one.target for one in story.asked if not one.asked.has("cloud") and _died(journal, story, one)]


def _died(journal: Journal, story: Story, exchange: Exchange) -> bool:
    if not exchange.says("visible") and (exchange.how == "cut" or _was_reset(journal, exchange)):
        return True
    # A machine without power does not know that nobody hears it: what it says it told is worth nothing.
    gone = spans(journal, "half_open", exchange.target)
    waits_until = min(exchange.told_at, story.visible_at, story.call.over_at)
    return any(exchange.asked.at < span.start < waits_until for span in gone)


def _taken_over(story: Story, dead: list[str], total_s: float, released: list[Fact]) -> bool:
    in_time = story.call.over_at - story.call.sent_at <= total_s
    freed = all(_freed(dial, released) for dial in story.dials if dial.target in dead)
    return in_time and freed and all(story.moved_on_from(target) for target in dead)


def _freed(dial: Dial, released: list[Fact]) -> bool:
    return any(
        fact.host == dial.call.gateway
        and fact.text("node") == dial.target
        and abs(fact.at - dial.ended_at) < SOON_S
        for fact in released
    )


BEFORE_VISIBLE = (
    *at_both_levels(
        "FV1", "a target refuses, resets or answers 5xx: the next one answers", refusing, next_target_answers
    ),
    *at_both_levels(
        "FV2", "a target never answers: its timer ends it, the next one answers", silent, timer_moves_on
    ),
    *at_both_levels(
        "S11", "a node dies before its first byte: another takes over", dying_node, another_took_over, struck_early
    ),
)
