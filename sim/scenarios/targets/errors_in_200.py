"""FV8: an error object inside a 200, before anything visible, is treated by its real meaning.

A rate limit rests the key and the next target answers; a context that is too long is the client's to know and
nobody else is asked; a server's failure counts as one, and the next target answers.
"""

from collections.abc import Iterator

from sim.draft import Draft, Level
from sim.faults.plan import Fault
from sim.journal.calls import BUSY
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.scenarios.showing import SOON_S, Story, stories, suffered
from sim.scenarios.targets.worlds import Flow, at_both_levels, calls, cast, one_after_another, world
from sim.seed import Seed

RATE_LIMIT, TOO_LONG = 429, 400
FAILINGS = (500, 502, 503, 504)

REST_S = 5.0
"""How long a key rests that was refused without a word about how long."""


def erring(seed: Seed, level: Level) -> Draft:
    """Draw a victim whose 200s mean three different things, one after the other."""
    chance = seed.chance("draft")
    who = cast(chance, first_token_s=0.1, token_s=0.01)
    meanings = [float(RATE_LIMIT), float(TOO_LONG), float(chance.pick(FAILINGS))]
    first = chance.between(0, 2)
    ordered = [*meanings[first:], *meanings[:first]]
    plan, ends_s = one_after_another(
        [Fault("meaning_in_200", who.victim, 0.0, 2.0, amount) for amount in ordered],
        starts_s=round(chance.uniform(2.0, 5.0), 3),
        pause_s=round(REST_S + chance.uniform(2.0, 5.0), 3),
    )
    flow = Flow(chance.pick((0.9, 1.2)), (2, 20), gateways=tuple(range(who.replicas)))
    return world(chance, level, who, calls(chance, 0.0, ends_s + 10.0, flow), plan)


def meaning_counts(journal: Journal) -> Iterator[str]:
    """Show FV8: every one of the three meanings was met, and each call went as its meaning says."""
    told = stories(journal)
    by_call = {story.call.name: story for story in told}
    met = [(by_call[str(fact.members["call"])], fact) for fact in suffered(journal, "FV8")]
    meant = {_meant(fact) for _, fact in met}
    if {RATE_LIMIT, TOO_LONG} <= meant and meant & set(FAILINGS) and all(_is_right(told, *one) for one in met):
        yield "FV8"


def _meant(fact: Fact) -> int:
    return int(fact.number("meant"))


def _is_right(told: list[Story], story: Story, fact: Fact) -> bool:
    target, meant = fact.text("target"), _meant(fact)
    dial, exchange = story.dial(target), story.exchange(target)
    if dial is None or exchange is None or exchange.status != 200 or exchange.says("visible"):
        return False
    if not _is_understood(meant, dial.word, cloud=exchange.asked.has("cloud")):
        return False
    if meant == TOO_LONG:
        return _is_passed_on(story)
    if meant == RATE_LIMIT and exchange.asked.has("cloud") and not _rests(told, story, fact):
        return False
    return story.moved_on_from(target)


def _is_understood(meant: int, word: str, *, cloud: bool) -> bool:
    """Whether the meaning was read; which 5xx it is words do not say, and not every engine has one for busy."""
    if not cloud and word == BUSY and meant != TOO_LONG:
        return True
    server_failed = word.isdigit() and int(word) in range(500, 600)
    return word == str(meant) or (server_failed and (meant in FAILINGS or (meant == RATE_LIMIT and not cloud)))


def _is_passed_on(story: Story) -> bool:
    call = story.call
    refused = (call.outcome, call.status, call.code) == ("error", 400, "context_length_exceeded")
    return refused and len(story.asked) == 1 and len(story.dials) == 1 and story.dials[0].status == "refused"


def _rests(told: list[Story], hit: Story, fact: Fact) -> bool:
    """Whether the key that was used was left alone for as long as one rests that is not told how long."""
    exchange = hit.exchange(fact.text("target"))
    assert exchange is not None, "it suffered"
    return not any(
        one.target == exchange.target
        and one.gateway == exchange.gateway
        and one.asked.members["key"] == exchange.asked.members["key"]
        and fact.at + SOON_S < one.asked.at < fact.at + REST_S - SOON_S
        for story in told
        for one in story.asked
    )


ERRORS_IN_200 = at_both_levels("FV8", "an error inside a 200 is treated by its meaning", erring, meaning_counts)
