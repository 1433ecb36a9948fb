"""FN1: a machine loses its power under its streams.

Each client that has seen something gets one error event; every gateway that lost a stream there takes the
machine for suspect and asks it for nothing while others are free; its slots come back; once it is on again a token
heals it.
"""

from collections.abc import Iterator
from functools import partial

from sim.draft import Draft, Knobs, Level
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.fleet.nodes.reading import HEALTHY, asked_by_calls, health
from sim.scenarios.fleet.nodes.worlds import HEALED_S, VICTIM, cast, gateways, machines
from sim.scenarios.scenario import Scenario
from sim.scenarios.showing import SOON_S, Story, all_show, spans, stories
from sim.scenarios.targets.worlds import Flow, calls, world
from sim.seed import Seed

DRAINS_S = 10.0
"""An engine that may work on for nobody keeps its slot for so long."""


def draft(seed: Seed, level: Level) -> Draft:
    """Draw a fleet with many free slots, and long streams on all of its machines when one goes off."""
    chance = seed.chance("draft")
    who = cast(chance, machines(chance, chance.between(2, 4)))
    idle_s = chance.pick((3.0, 6.0))
    off_s = round(chance.uniform(8.0, 15.0), 3)
    lasts_s = round(idle_s + chance.uniform(15.0, 40.0), 3)
    everywhere = gateways(who)
    made = calls(chance, off_s - 2.5, off_s - 1.0, Flow(0.2, (80, 160), streamed=True, gateways=everywhere))
    made += calls(chance, off_s + 1.0, off_s + lasts_s, Flow(1.0, (5, 20), gateways=everywhere))
    back_s = off_s + lasts_s + HEALED_S
    made += calls(chance, back_s, back_s + 12.0, Flow(0.5, (5, 40), gateways=everywhere))
    knobs = Knobs(idle_s=idle_s, first_token_s=8.0)
    return world(chance, level, who, made, (Fault("power_off", VICTIM, off_s, lasts_s),), knobs)


def left_alone(journal: Journal) -> Iterator[str]:
    """Show FN1: the clients were told, the slots are free, nobody asked the machine until it was well again."""
    off = next(iter(spans(journal, "power_off", VICTIM)), None)
    if off is None:
        return
    told = stories(journal)
    broken = [story for story in told if _was_speaking(story, off)]
    hosts = {story.call.gateway for story in broken}
    back = [story for story in told if story.call.sent_at > off.end and story.answered_by == VICTIM]
    if (
        back
        and all_show(broken, partial(_told_and_freed, journal))
        and all(_not_asked(journal, host, min(_ends(broken, host))) for host in hosts)
    ):
        yield "FN1"


def _was_speaking(story: Story, off: Span) -> bool:
    exchange = story.exchange(VICTIM)
    return exchange is not None and story.visible_at < off.start < exchange.told_at


def _told_and_freed(journal: Journal, story: Story) -> bool:
    released = [
        fact
        for fact in journal.of("lease_released")
        if fact.host == story.call.gateway and fact.text("node") == VICTIM
    ]
    freed = any(
        abs(fact.at - story.call.over_at) < SOON_S and fact.number("drain_s") <= DRAINS_S for fact in released
    )
    return story.broke_at(VICTIM) and freed


def _ends(broken: list[Story], host: str) -> list[float]:
    return [story.call.over_at for story in broken if story.call.gateway == host]


def _not_asked(journal: Journal, host: str, broke_at: float) -> bool:
    """Whether a gateway took it for no better than suspect from then on, and asked it only when it was well."""
    bad = [span for span, value in health(journal, VICTIM)[host] if value > HEALTHY and span.end > broke_at]
    asked = [one.asked.at for one in asked_by_calls(journal, VICTIM) if one.gateway == host]
    return (
        bool(bad)
        and bad[0].start <= broke_at + SOON_S
        and not any(span.start + SOON_S < at < span.end for span in bad for at in asked)
    )


VANISHING = (
    Scenario(
        "fn1-power", "a machine goes off under its streams", ("FN1",), partial(draft, level=Level.WIRE), left_alone
    ),
    Scenario(
        "fn1-power-ports",
        "a machine goes off under its streams (ports)",
        ("FN1",),
        partial(draft, level=Level.PORTS),
        left_alone,
    ),
)
