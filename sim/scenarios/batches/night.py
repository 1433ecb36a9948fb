"""S47: idle machines do lines of a batch; people who come in numbers have the machines back, line by line."""

from collections.abc import Iterator

from sim.draft import BatchDraft, CallDraft, Draft, Engine, KeyDraft, Knobs, Level, NodeDraft, VendorDraft
from sim.journal.journal import Journal
from sim.journal.watch import watch_of
from sim.scenarios.batches.reading import ended, lines_asked, whole
from sim.scenarios.fleet.nodes.reading import waits
from sim.scenarios.scenario import Scenario
from sim.seed import Seed

MORNING_S = 40.0
"""Until then nobody calls; then all come at once."""

CALLS = 40
NIGHT_LINES_MIN = 5
LATE_S = 1.3
"""What other replicas wait for is seen once a second."""


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = chance.between(1, 2)
    nodes = tuple(
        NodeDraft(f"node-{number}", Engine.VLLM, slots=chance.between(1, 3), token_s=0.04)
        for number in range(1, chance.between(1, 2) + 1)
    )
    calls = [
        CallDraft(
            at_s=round(MORNING_S + chance.uniform(0.0, 8.0), 3),
            key="person" if chance.happens(0.5) else "app",
            gateway=chance.between(0, replicas - 1),
            tokens=chance.between(20, 60),
            streamed=chance.happens(0.6),
        )
        for _ in range(CALLS)
    ]
    return Draft(
        level=Level.PORTS,
        replicas=replicas,
        vendors=(VendorDraft("cloud-a"),),
        nodes=nodes,
        keys=(KeyDraft("app"), KeyDraft("person", interactive=True)),
        queue_timeout_ms=4000,
        knobs=Knobs(noise=chance.pick((0.0, 0.2))),
        calls=tuple(sorted(calls, key=lambda call: call.at_s)),
        batches=(
            BatchDraft(
                at_s=0.5,
                lines=chance.between(80, 140),
                tokens=chance.between(20, 60),
                placement=chance.pick(("nodes_only", "nodes_first")),
            ),
        ),
        runs_s=MORNING_S + 120.0,
    )


def _active(journal: Journal) -> Iterator[str]:
    begins = [exchanges[0].asked.at for exchanges in lines_asked(journal).values()]
    people = [fact.at for fact in journal.of("call_sent")]
    if people and sum(at < min(people) for at in begins) >= NIGHT_LINES_MIN and waits(journal):
        yield "S47"


def _seen(journal: Journal) -> Iterator[str]:
    """Show S47: no line begins while somebody has waited for a while, all are done, and none went to the cloud."""
    over = ended(journal)
    asked = [exchange for exchanges in lines_asked(journal).values() for exchange in exchanges]
    if (
        over
        and all(whole(journal, one) for one in over)
        and waits(journal)
        and asked
        and all(exchange.target.startswith("node-") for exchange in asked)
        and not any(_somebody_waited(journal, exchange.asked.at) for exchange in asked)
    ):
        yield "S47"


def _somebody_waited(journal: Journal, at: float) -> bool:
    """Whether a call had stood in line for longer than it takes to be seen, and went on doing so."""
    since: dict[str, float] = {}
    for fact in journal.of("waiter_joined", "waiter_left"):
        if fact.at > at:
            break
        if fact.kind == "waiter_joined":
            since[fact.text("waiter")] = fact.at
        else:
            since.pop(fact.text("waiter"), None)
    ends = {
        fact.text("waiter"): fact.at
        for fact in journal.of("waiter_left")
        if fact.at > at and fact.text("waiter") in since
    }
    watch = watch_of(journal)
    return any(
        at - joined > LATE_S and ends.get(waiter, watch.ends_at) - at > LATE_S for waiter, joined in since.items()
    )


NIGHT = (
    Scenario(
        "s47-night-shift",
        "idle machines do lines of a batch until people come",
        ("S47",),
        _draft,
        _seen,
        _active,
    ),
)
