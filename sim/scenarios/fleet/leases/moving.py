"""FN6: the address of a node changes, as a tunnel's does: its agent announces the new one, and calls use that.

The same agent speaks, so nobody is fenced off; what was known of the old address (that nobody answers there) does
not follow the node to the new one. Over HTTP.
"""

from collections.abc import Iterator
from dataclasses import replace

from sim.draft import AgentDraft, Draft, Engine, Knobs, NodeDraft
from sim.faults.plan import Fault
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import watch_of
from sim.scenarios.fleet.leases.worlds import When, calls_in, drawn, world_of
from sim.scenarios.scenario import Scenario
from sim.scenarios.showing import Story, stories
from sim.seed import Seed

NODE = "mac"

ONCE_S = 100_000.0
"""An address that is gone announces nothing any more."""

HEARD_S = 2.0
"""News of a change reach every replica within this; the snapshot is read anew at once."""

HOP_S = 0.1
"""A reset is told on both sides; a packet's way lies between."""


def _draft(seed: Seed) -> Draft:
    """Draw a node that gets another address in traffic, which its agent announces soon after."""
    chance = seed.chance("draft")
    replicas = chance.between(1, 3)
    ends_s = drawn(chance, 10.0, 14.0)
    moves_s = round(ends_s + drawn(chance, 0.5, 6.0), 3)
    began_s, at = drawn(chance, 0.0, 1.0), [chance.between(0, replicas - 1) for _ in range(2)]
    agent = AgentDraft(NODE, NODE, began_s, gateway=at[0], every_s=ONCE_S, by_address=True)
    moved = replace(agent, at_s=moves_s, gateway=at[1], every_s=30.0)
    late_s = moves_s + HEARD_S
    calls = [
        *calls_in(chance, replicas, When(5.0, ends_s + 3.0), 8),
        *calls_in(chance, replicas, When(late_s, late_s + 10.0), 8, "nodes_only"),
    ]
    node = NodeDraft(NODE, engine=Engine.AGENT, slots=4, window=None, joins=True)
    faults = (Fault("moved", NODE, ends_s),)
    draft = world_of(chance, replicas, (node,), calls, faults, runs_s=moves_s + 40.0)
    return replace(draft, agents=(agent, moved), knobs=Knobs())


def _announced(journal: Journal) -> list[Fact]:
    """Give the announcements that were taken; the first is of the old address, all others are of the new one."""
    return [fact for fact in journal.of("announced") if fact.members["status"] == 200]


def _moved_at(journal: Journal) -> float | None:
    return next((fact.at for fact in journal.of("fault") if fact.members["fault"] == "moved"), None)


def _active(journal: Journal) -> Iterator[str]:
    told, moved_at = _announced(journal), _moved_at(journal)
    if len(told) >= 2 and moved_at is not None and told[0].at < moved_at < told[1].at:
        yield "FN6"


def _seen(journal: Journal) -> Iterator[str]:
    """Show FN6: nobody was asked at the address that is gone, the new one answers, all calls were answered."""
    told, moved_at, all_of_them = _announced(journal), _moved_at(journal), stories(journal)
    if len(told) < 2 or moved_at is None:
        return
    known_at = told[1].at
    late = [story for story in all_of_them if story.call.sent_at > known_at + HEARD_S]
    asked = [one.asked.at for one in watch_of(journal).exchanges if one.call and one.target == NODE]
    if (
        late
        and any(at < moved_at for at in asked)
        and not any(moved_at + HOP_S < at < known_at - HOP_S for at in asked)
        and all(story.answered_by for story in all_of_them if not _was_cut(story, moved_at))
        and all(story.answered_by == NODE for story in late)
    ):
        yield "FN6"


def _was_cut(story: Story, at: float) -> bool:
    """Whether the node was writing its answer when it moved."""
    exchange = story.exchange(NODE)
    return exchange is not None and exchange.asked.at < at <= exchange.told_at + HOP_S


MOVING_SCENARIOS = (
    Scenario("fn6-moved", "the address of a node changes in traffic", ("FN6",), _draft, _seen, _active),
)
