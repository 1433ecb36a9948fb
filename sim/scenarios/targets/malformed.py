"""FV9, S38: output that is no answer, or never ends, is bounded, has a typed end, and disturbs nobody else.

FV9: garbage, an event without end, a coding nobody asked for, a drip of single bytes. S38: letters cut in two, an
event of gigabytes, no usage, another model's name, a stream that goes on for ever.
"""

from collections.abc import Iterator
from dataclasses import replace

from sim.draft import MODEL, CallDraft, Draft, Engine, Knobs, Level, NodeDraft, VendorDraft
from sim.faults.plan import Fault
from sim.journal.calls import Exchange
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import watch_of
from sim.scenarios.scenario import Scenario
from sim.scenarios.showing import SOON_S, Story, all_show, spans, stories, suffered
from sim.scenarios.targets.worlds import VENDOR, Cast, Flow, calls, one_after_another, world
from sim.seed import Chance, Seed

KINDS = ("malformed", "endless", "compressed", "slow_drip")

NOT_ANSWERS = frozenset({"malformed", "too_large", "encoded", "closed", "first_token_timeout", "total_timeout"})

TYPED = frozenset({"upstream_error", "upstream_timeout", "stream_interrupted"})

ENDLESS_MAX_S = {True: 4.0, False: 14.0}
"""By streamed or not: at the five megabytes a second of an endless answer, 16 MiB are an event, 64 MiB a body."""

BUFFERED_MAX_BYTES = 4 << 20
"""More than this of answers that nobody has taken would be a queue without bound."""


def no_answers(seed: Seed) -> Draft:
    """Draw a vendor that sends things that are no answers, beside a node that works, at one gateway."""
    chance = seed.chance("draft")
    who = _beside_a_node(chance)
    faults = [_fault(kind, chance) for kind in chance.some(KINDS, chance.between(2, 3))]
    pause_s = 32.0  # a breaker that opened lets a trial pass by then
    plan, ends_s = one_after_another(faults, 3.0, pause_s)
    made: tuple[CallDraft, ...] = ()
    for fault in plan:
        streamed = {0: True, 1: False}.get(chance.between(0, 2))
        cloud = Flow(0.9, (5, 20), streamed, placement="cloud_only", gateways=tuple(range(who.replicas)))
        made += calls(chance, fault.at_s + 0.1, fault.at_s + 3.5, cloud)
    beside = Flow(0.8, (5, 30), placement="nodes_only", gateways=tuple(range(who.replicas)))
    made += calls(chance, 0.0, ends_s + 10.0, beside)
    knobs = Knobs(first_token_s=chance.pick((6.0, 12.0)), idle_s=15.0, call_total_s=chance.pick((60.0, 120.0)))
    return world(chance, Level.WIRE, who, made, plan, knobs)


def _beside_a_node(chance: Chance) -> Cast:
    victim = VendorDraft(VENDOR, azure=chance.happens(0.3), first_token_s=0.2, token_s=0.02)
    node = NodeDraft("node-0", chance.pick(tuple(Engine)), slots=16, first_token_s=0.2)
    return Cast(VENDOR, (victim, VendorDraft("cloud-b")), (node,), chance.pick((1, 1, 2)))


def _fault(kind: str, chance: Chance) -> Fault:
    amount = {"malformed": chance.pick((0.0, 0.0, 3.0)), "slow_drip": chance.pick((0.05, 0.5, 3.0))}.get(kind, 0.0)
    return Fault(kind, VENDOR, 0.0, 4.0, amount)


def bounded_and_typed(journal: Journal) -> Iterator[str]:
    """Show FV9: each such answer ended in time by a typed error or the next target; others noticed nothing."""
    told = stories(journal)
    by_call = {story.call.name: story for story in told}
    met = [(by_call[str(fact.members["call"])], fact) for fact in suffered(journal, "FV9")]
    samples_are_small = all(fact.number("buffered_bytes") < BUFFERED_MAX_BYTES for fact in journal.of("sample"))
    if met and all(_is_bounded(journal, *one) for one in met) and samples_are_small and _others_do_well(told, met):
        yield "FV9"


def _is_bounded(journal: Journal, story: Story, fact: Fact) -> bool:
    target, watch = fact.text("target"), watch_of(journal)
    dial, exchange = story.dial(target), story.exchange(target)
    if (
        dial is None
        or exchange is None
        or story.call.over_at > story.call.sent_at + watch.number("call_total_s", 0) + 1
    ):
        return False
    if any(span.overlaps(exchange.asked.at, exchange.asked.at) for span in spans(journal, "endless", target)):
        lasted_s = exchange.told_at - exchange.asked.at
        return (
            lasted_s < ENDLESS_MAX_S[story.call.streamed]
            and dial.word == "too_large"
            and story.moved_on_from(target)
        )
    return _typed_end(story, target) or (dial.word in NOT_ANSWERS and story.moved_on_from(target))


def _typed_end(story: Story, target: str) -> bool:
    """Whether a drip came to its end after all, a visible part was ended properly, or the time was used up."""
    call = story.call
    if story.answered_by == target or story.broke_at(target):
        return True
    return call.outcome == "error" and call.code in TYPED and call.status in (502, 504)


def _others_do_well(told: list[Story], met: list[tuple[Story, Fact]]) -> bool:
    """Whether calls of the same gateways that ran beside were answered as fast as their target spoke."""
    beside = [
        story
        for story in told
        if story.call.sents[0].members["placement"] == "nodes_only"
        and any(
            one.call.gateway == story.call.gateway
            and one.call.sent_at < story.call.over_at
            and story.call.sent_at < one.call.over_at
            for one, _ in met
        )
    ]
    return all_show(beside, _undisturbed)


def _undisturbed(story: Story) -> bool:
    exchange = story.asked[0] if story.asked else None
    if exchange is None or story.answered_by == "":
        return False
    spoken_s = exchange.told_at - exchange.asked.at
    return story.call.over_at - story.call.sent_at < spoken_s + SOON_S


# S38


def strange_output(seed: Seed) -> Draft:
    """Draw a vendor that gives no usage, and what else the script names, one after the other."""
    chance = seed.chance("draft")
    who = Cast(VENDOR, (VendorDraft(VENDOR, first_token_s=0.2, gives_usage=False), VendorDraft("cloud-b")), (), 1)
    total_s = chance.pick((45.0, 80.0))
    steps = [
        [Fault("foreign_script", VENDOR, 0.0, 6.0), Fault("sliced", VENDOR, 0.0, 6.0, chance.between(1, 7))],
        [Fault("other_model", VENDOR, 0.0, 6.0)],
        [Fault("endless", VENDOR, 0.0, 6.0)],
    ]
    first = chance.between(0, 2)
    plan: list[Fault] = []
    made = calls(chance, 0.0, 3.0, Flow(1.0, (3, 20)))
    at_s = 4.0
    for step in (*steps[first:], *steps[:first]):
        plan += [replace(fault, at_s=round(at_s, 3)) for fault in step]
        streamed = True if step[0].kind == "endless" else None
        made += calls(chance, at_s + 0.2, at_s + 3.5, Flow(1.1, (5, 25), streamed))
        at_s += 8.0 + chance.uniform(0.0, 3.0)
    made += (CallDraft(at_s=round(at_s, 3), tokens=chance.between(20_000, 90_000), streamed=True),)
    return world(
        chance,
        Level.WIRE,
        who,
        made,
        tuple(plan),
        Knobs(call_total_s=total_s, hold_status_s=chance.pick((2.0, 10.0))),
    )


def struck_strangely(journal: Journal) -> Iterator[str]:
    """Say S38 where every part of its script struck a call."""
    told = stories(journal)
    if all(
        (
            _cut_letters(journal, told),
            _huge(journal, told),
            _without_usage(told),
            _misnamed(journal, told),
            _for_ever(told),
        )
    ):
        yield "S38"


def read_or_cut(journal: Journal) -> Iterator[str]:
    """Show S38: letters are whole, names are ours, counts are estimated and say so, what never ends is ended."""
    told = stories(journal)
    total_s = watch_of(journal).number("call_total_s", 660.0)
    shown = (
        all_show(
            _cut_letters(journal, told),
            lambda story: story.answered_by == VENDOR and not story.call.text.isascii(),
        ),
        all_show(_huge(journal, told), _too_large),
        all_show(_without_usage(told), _estimated),
        all_show(_misnamed(journal, told), lambda story: story.call.ends[0].members["models"] == MODEL),
        all_show(_for_ever(told), lambda story: _ended_at_last(story, total_s)),
    )
    if all(shown):
        yield "S38"


def _during(journal: Journal, told: list[Story], kind: str) -> list[Story]:
    on = spans(journal, kind, VENDOR)
    return [
        story
        for story in told
        for one in story.asked
        if one.target == VENDOR and any(span.start < one.asked.at and one.told_at < span.end for span in on)
    ]


def _cut_letters(journal: Journal, told: list[Story]) -> list[Story]:
    return _during(journal, told, "foreign_script")


def _misnamed(journal: Journal, told: list[Story]) -> list[Story]:
    return _during(journal, told, "other_model")


def _huge(journal: Journal, told: list[Story]) -> list[Story]:
    return _during(journal, told, "endless")


def _without_usage(told: list[Story]) -> list[Story]:
    return [story for story in told if story.answered_by == VENDOR and not story.asked[-1].says("usage_given")]


def _for_ever(told: list[Story]) -> list[Story]:
    """Give the calls that a vendor was still answering when it was left."""
    return [story for story in told if any(_was_left_speaking(one) for one in story.asked)]


def _was_left_speaking(exchange: Exchange) -> bool:
    return exchange.how == "left" and exchange.says("visible")


def _too_large(story: Story) -> bool:
    dial, exchange = story.dial(VENDOR), story.exchange(VENDOR)
    if dial is None or exchange is None:
        return False
    bounded = exchange.told_at - exchange.asked.at < ENDLESS_MAX_S[story.call.streamed]
    return dial.word == "too_large" and bounded and story.moved_on_from(VENDOR)


def _estimated(story: Story) -> bool:
    usage = story.dials[-1].usage
    return usage.has("estimated") and usage.number("prompt_tokens") > 0 and usage.number("completion_tokens") > 0


def _ended_at_last(story: Story, total_s: float) -> bool:
    lasted_s = story.call.over_at - story.call.sent_at
    return story.broke_at(VENDOR) and total_s - SOON_S < lasted_s < total_s + SOON_S


MALFORMED = (
    Scenario("FV9", "what is no answer is bounded and has a typed end", ("FV9",), no_answers, bounded_and_typed),
    Scenario("S38", "strange output is read or cut", ("S38",), strange_output, read_or_cut, struck_strangely),
)
