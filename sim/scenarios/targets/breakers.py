"""FV5, FV6: five failures in a row open the breaker of a vendor; after 30 s one trial decides.

Each replica has a breaker of its own. While it is open nothing is asked there although calls come; one trial at a
time passes, a lost one opens it again, a good one closes it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sim.draft import Draft, Knobs, Level
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.scenarios.showing import SOON_S, Dial, Story, all_show, dials_by_gateway, stories, victims
from sim.scenarios.targets.worlds import Flow, at_both_levels, calls, cast, with_resets, world
from sim.seed import Seed

FAILURES_MAX = 5
"""The documented number of failures in a row, written down here apart from the product that is judged."""
OPEN_S = 30.0

COUNTED = frozenset(
    {"refused", "closed", "malformed", "encoded", "connect_timeout", "first_token_timeout", "idle_timeout"}
)
"""Words of failures that are the target's own; so is every 5xx."""

CALLS_MIN = 3
"""Fewer calls in a time prove nothing about what is asked in it."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A breaker that was seen to open: `before` are the dials up to it, `after` those that ended later."""

    gateway: str
    target: str
    at: float
    before: tuple[Dial, ...]
    after: tuple[Dial, ...]


def always_failing(seed: Seed, level: Level) -> Draft:
    """Draw a victim that fails for a while, calls all the time, and mostly somebody who helps out."""
    chance = seed.chance("draft")
    who = cast(chance, nodes=False, helpers=1, first_token_s=0.1, token_s=0.005)
    kind, amount = chance.pick(
        (("refuse", 0.0), ("status", 500.0), ("status", 503.0), ("cut", 0.0), ("silent", 0.0))
    )
    at_s = round(chance.uniform(2.0, 8.0), 3)
    flow = Flow(chance.pick((0.8, 1.5)) / who.replicas, (2, 12), gateways=tuple(range(who.replicas)))
    lasts_s = round(chance.uniform(25.0, 45.0), 3)
    knobs = Knobs(first_token_s=chance.pick((1.5, 3.0)))
    made = calls(chance, 0.0, at_s + lasts_s + 5.0, flow)
    return world(chance, level, who, made, with_resets((Fault(kind, who.victim, at_s, lasts_s, amount),)), knobs)


def fails_then_mends(seed: Seed, level: Level) -> Draft:
    """Draw a victim that fails until its first trial is lost; it is slow, so calls come during a trial."""
    chance = seed.chance("draft")
    who = cast(chance, nodes=False, helpers=1, first_token_s=3.0, token_s=0.02)
    kind, amount = chance.pick((("refuse", 0.0), ("status", 500.0), ("status", 503.0), ("status", 529.0)))
    at_s = round(chance.uniform(1.0, 4.0), 3)
    flow = Flow(0.3 / who.replicas, (2, 12), gateways=tuple(range(who.replicas)))
    made = calls(chance, 0.0, at_s + 85.0, flow)
    fault = Fault(kind, who.victim, at_s, round(chance.uniform(48.0, 55.0), 3), amount)
    return world(chance, level, who, made, with_resets((fault,)), Knobs(first_token_s=20.0))


# What is seen


def left_alone(journal: Journal) -> Iterator[str]:
    """Show FV5: after the fifth failure in a row nothing was asked for 30 s, and calls went elsewhere at once."""
    told = stories(journal)
    opened = [one for victim in victims(journal) for one in _opened(told, victim)]
    if opened and all(_is_left_alone(told, one) for one in opened):
        yield "FV5"


def one_trial_decides(journal: Journal) -> Iterator[str]:
    """Show FV6: one trial after 30 s, alone; a lost one opened again, a good one closed."""
    told = stories(journal)
    opened = [one for victim in victims(journal) for one in _opened(told, victim)]
    if opened and all(_trials_are_right(told, one) for one in opened):
        yield "FV6"


def _opened(told: list[Story], target: str) -> Iterator[Opened]:
    """Find the first opening of each gateway's breaker, by the attempts in the order in which they ended."""
    for gateway, dials in dials_by_gateway(told, target).items():
        row = 0
        for at, dial in enumerate(dials):
            row = row + 1 if _counts(dial) else 0
            if row == FAILURES_MAX:
                yield Opened(gateway, target, dial.ended_at, tuple(dials[: at + 1]), tuple(dials[at + 1 :]))
                break


def _counts(dial: Dial) -> bool:
    server_failed = dial.word.isdigit() and 500 <= int(dial.word) < 600
    return dial.status == "failed" and (dial.word in COUNTED or server_failed)


def _began_after(opened: Opened) -> list[Dial]:
    """Give the dials that began after it opened, in the order in which they began."""
    later = [dial for dial in opened.after if dial.began_at > opened.at]
    return sorted(later, key=lambda dial: dial.began_at)


def _is_left_alone(told: list[Story], opened: Opened) -> bool:
    until = opened.at + OPEN_S
    own = [story for story in told if story.call.gateway == opened.gateway]
    too_early = [
        story for story in own if story.passed_over(opened.target, "open") and story.call.over_at < opened.at
    ]
    dialled = [dial for dial in _began_after(opened) if dial.began_at < until - SOON_S]
    asked = [
        one
        for story in own
        for one in story.asked
        if one.target == opened.target and opened.at + 1.0 < one.asked.at < until - SOON_S and not one.is_repeat
    ]
    came = [story for story in own if opened.at + SOON_S < story.call.sent_at < until - SOON_S]
    passed = all_show(came, lambda story: story.passed_over(opened.target, "open") and story.answered_by != "")
    return passed and len(came) >= CALLS_MIN and not (too_early or dialled or asked)


def _trials_are_right(told: list[Story], opened: Opened) -> bool:
    """Follow the trials: each alone and in its time, until one is good; then calls go there at once."""
    may_begin_at = opened.at + OPEN_S
    own = [story for story in told if story.call.gateway == opened.gateway]
    later = _began_after(opened)
    for at, trial in enumerate(later):
        if trial.began_at < may_begin_at - SOON_S or not _is_alone(own, trial, later[at + 1 :]):
            return False
        if trial.status == "ok":
            return at > 0 and _is_closed(own, trial)
        may_begin_at = trial.ended_at + OPEN_S
    return False


def _is_alone(own: list[Story], trial: Dial, later: list[Dial]) -> bool:
    """Whether no other attempt began before a trial decided, and each call that came meanwhile went elsewhere."""
    others = [dial for dial in later if dial.began_at < trial.decided_at]
    came = [story for story in own if trial.began_at + SOON_S < story.call.sent_at < trial.decided_at - SOON_S]
    elsewhere = all(story.passed_over(trial.target, "open") and story.answered_by != "" for story in came)
    # A trial that is lost at once leaves no time for others to come; a good one takes its time.
    return not others and elsewhere and (len(came) > 0 or trial.status != "ok")


def _is_closed(own: list[Story], trial: Dial) -> bool:
    came = [story for story in own if story.call.sent_at > trial.decided_at + SOON_S]
    return len(came) >= CALLS_MIN and all_show(came, lambda story: story.answered_by == trial.target)


def failed_in_a_row(journal: Journal) -> Iterator[str]:
    """Say FV5 where a victim failed five times in a row for one gateway."""
    told = stories(journal)
    if any(True for victim in victims(journal) for _ in _opened(told, victim)):
        yield "FV5"


def failed_long_ago(journal: Journal) -> Iterator[str]:
    """Say FV6 where calls came more than 30 s after five failures in a row."""
    told = stories(journal)
    for victim in victims(journal):
        if any(told[-1].call.sent_at > opened.at + OPEN_S for opened in _opened(told, victim)):
            yield "FV6"


BREAKERS = (
    *at_both_levels(
        "FV5", "five failures in a row: nobody asks there for 30 s", always_failing, left_alone, failed_in_a_row
    ),
    *at_both_levels(
        "FV6", "after 30 s one trial decides, alone", fails_then_mends, one_trial_decides, failed_long_ago
    ),
)
