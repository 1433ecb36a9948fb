"""FV7, S16: a vendor that says 429 rests exactly the key that was used, for as long as it said, 300 s at most.

A rest is no failure: the breaker stays closed, another key of the same vendor is used, others answer meanwhile.
S16: 429, 529 and other 5xx in turns, with a `Retry-After` of days and with nonsense.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sim.draft import CallDraft, Draft, Knobs, Level, VendorDraft
from sim.faults.plan import Fault
from sim.journal.calls import Exchange
from sim.journal.journal import Journal
from sim.scenarios.showing import SOON_S, Story, stories
from sim.scenarios.targets.worlds import TAIL_S, VENDOR, Cast, Flow, at_both_levels, calls, world
from sim.seed import Chance, Seed

DEFAULT_S = 5.0
"""The rest after a 429 that says nothing that could be meant."""

MAX_S = 300.0

BREAKER_ROW = 5
"""So many failures in a row would open a breaker."""

DAYS_S = (86_400.0, 1_000_000.0)
NONSENSE = -1.0


@dataclass(frozen=True, slots=True)
class Told:
    """One 429 of a vendor: who said it to whom, about which key, until when that key must rest."""

    gateway: str
    target: str
    key: str
    at: float
    rest_s: float

    @property
    def until(self) -> float:
        """When the key may be used again; a date has whole seconds only, so it may be up to one earlier."""
        return self.at + self.rest_s


def _cast(chance: Chance, keys: int) -> Cast:
    victim = VendorDraft(VENDOR, azure=chance.happens(0.3), first_token_s=0.1, token_s=0.005, keys=keys)
    helper = VendorDraft("cloud-b", first_token_s=0.1, token_s=0.005)
    return Cast(VENDOR, (victim, helper), (), chance.pick((1, 1, 2)))


def told_to_wait(seed: Seed, level: Level) -> Draft:
    """Draw one long rest that a single call meets, then so many short ones that failures would open a breaker."""
    chance = seed.chance("draft")
    who = _cast(chance, chance.between(1, 2))
    rest_s = chance.pick((8.0, 14.0, 25.0, 0.0, NONSENSE))
    gateways = tuple(range(who.replicas))
    at_s = round(chance.uniform(2.0, 5.0), 3)
    lasts_s = 0.4 * who.replicas
    made = calls(chance, at_s + 0.1, at_s + 0.1 + lasts_s - 0.35, Flow(0.25, (2, 12), gateways=gateways))
    after_s = at_s + max(rest_s, DEFAULT_S) + 3.0
    made += calls(
        chance, at_s + lasts_s + 0.5, after_s + 3.0, Flow(0.8 / who.replicas, (2, 12), gateways=gateways)
    )
    again_s = after_s + 6.0
    busy = Flow(0.4 / who.replicas, (2, 12), gateways=gateways)
    made += calls(chance, again_s, again_s + 20.0, busy)
    plan = (
        Fault("rate_limited", VENDOR, at_s, round(lasts_s, 3), rest_s),
        Fault("rate_limited", VENDOR, again_s, 15.0, 1.0),
    )
    return world(chance, level, who, made, plan)


def absurd(seed: Seed, level: Level) -> Draft:
    """Draw 529 and other 5xx, nonsense, and a rest of days, one after the other, each met by a call or two."""
    chance = seed.chance("draft")
    who = replace(_cast(chance, chance.between(1, 2)), replicas=1)
    first = [("status", 529.0), ("status", chance.pick((500.0, 502.0, 504.0))), ("rate_limited", NONSENSE)]
    first = chance.some(first, 3) if chance.happens(0.5) else [*reversed(first)]
    plan: list[Fault] = []
    made: list[CallDraft] = []
    at_s = 2.0
    for kind, amount in (*first, ("rate_limited", chance.pick(DAYS_S))):
        plan.append(Fault(kind, VENDOR, round(at_s, 3), 3.0, amount))
        made += calls(chance, at_s + 0.2, at_s + 2.0, Flow(1.5, (2, 10)))
        at_s += 3.0 + DEFAULT_S + chance.uniform(1.0, 4.0)
    made += calls(chance, at_s, at_s + MAX_S, Flow(chance.pick((4.0, 9.0)), (2, 6)))
    made += calls(chance, at_s + MAX_S, at_s + MAX_S + 8.0, Flow(1.0, (2, 6)))
    return replace(
        world(chance, level, who, tuple(made), tuple(plan), Knobs()), runs_s=at_s + MAX_S + 8.0 + TAIL_S
    )


# What is seen


def exactly_that_rests(journal: Journal) -> Iterator[str]:
    """Show FV7: each key rested as long as it was told, was used again, and no breaker opened."""
    told = stories(journal)
    rests = _rests(told)
    rows = {rest.gateway: sum(one.gateway == rest.gateway for one in rests) for rest in rests}
    many = bool(rows) and max(rows.values()) >= BREAKER_ROW
    if many and all(_is_kept(told, rest) for rest in rests) and _stays_closed(journal):
        yield "FV7"


def struck_all(journal: Journal) -> Iterator[str]:
    """Say S16 where a 429 for days, a senseless one, a 529 and another 5xx were all answered."""
    told = stories(journal)
    statuses = {one.status for story in told for one in story.asked}
    rests = {rest.rest_s for rest in _rests(told)}
    if 529 in statuses and statuses & {500, 502, 504} and {MAX_S, DEFAULT_S} <= rests:
        yield "S16"


def capped(journal: Journal) -> Iterator[str]:
    """Show S16: rests are kept and capped, a failing vendor is asked once a call, every call is answered."""
    told = stories(journal)
    rests = _rests(told)
    failed = [story for story in told for one in story.asked if one.status >= 500]
    moved_on = bool(failed) and all(story.moved_on_from(VENDOR) for story in failed)
    answered = all(story.answered_by != "" for story in told)
    if rests and moved_on and answered and all(_is_kept(told, rest) for rest in rests):
        yield "S16"


def _rests(told: list[Story]) -> list[Told]:
    """Find every 429; how long it counts for is read from what the target says it told."""
    return [
        Told(one.gateway, one.target, str(one.asked.members["key"]), one.told_at, _counts_for(one))
        for story in told
        for one in story.asked
        if one.status == 429 and one.how == "whole"
    ]


def _counts_for(exchange: Exchange) -> float:
    assert exchange.told is not None, "it was answered"
    told_s = exchange.told.members["retry_after_s"]
    return min(float(told_s), MAX_S) if isinstance(told_s, int | float) else DEFAULT_S


def _is_kept(told: list[Story], rest: Told) -> bool:
    """Whether the call went on, calls that came meanwhile did without that key, and the vendor was asked later."""
    own = [story for story in told if story.call.gateway == rest.gateway]
    hit = [story for story in own if any(one.told_at == rest.at for one in story.asked)]
    during = [
        story for story in own if rest.at + SOON_S < story.call.sent_at < rest.until - SOON_S and story not in hit
    ]
    after = [story for story in own if story.call.sent_at > rest.until + SOON_S]
    went_on = all(story.moved_on_from(rest.target) for story in hit)
    spared = all(not _uses(story, rest) and _does_well(story, rest) for story in during)
    return went_on and spared and any(rest.target in story.targets for story in after)


def _uses(story: Story, rest: Told) -> bool:
    return any(one.target == rest.target and one.asked.members["key"] == rest.key for one in story.asked)


def _does_well(story: Story, rest: Told) -> bool:
    """Whether a call used another key of that vendor, or passed it over because all of them rest."""
    exchange = story.exchange(rest.target)
    if exchange is not None:
        return exchange.asked.members["key"] != rest.key and story.answered_by != ""
    return story.passed_over(rest.target, "resting") and story.answered_by not in ("", rest.target)


def _stays_closed(journal: Journal) -> bool:
    return not any(
        fact.members["name"] == "breaker_state" and fact.text("label") == VENDOR and fact.number("value") > 0
        for fact in journal.of("gauge")
    )


RESTS = (
    *at_both_levels("FV7", "a 429 rests exactly the key that was used", told_to_wait, exactly_that_rests),
    *at_both_levels("S16", "429, 529 and 5xx in turns, for days and with nonsense", absurd, capped, struck_all),
)
