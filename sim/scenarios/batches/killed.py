"""S46: replicas are killed while they run lines. Others run these again; nothing is lost or booked twice."""

from collections.abc import Iterator

from sim.draft import BatchDraft, CallDraft, Draft, Knobs, Level, NodeDraft, VendorDraft
from sim.faults.plan import Fault
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import watch_of
from sim.scenarios.batches.reading import ended, whole
from sim.scenarios.scenario import Scenario
from sim.seed import Seed

RUNS_S = 240.0
"""A killed replica's lines come back after a minute."""


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = chance.between(2, 3)
    on_nodes = chance.happens(0.5)
    placement = chance.pick(("nodes_only", "nodes_first")) if on_nodes else None
    batches = [
        BatchDraft(
            at_s=round(chance.uniform(0.5, 4.0), 3),
            lines=chance.between(80, 160),
            tokens=chance.between(100, 200),
            placement=placement,
        )
        for _ in range(chance.between(1, 2))
    ]
    crashes = [
        Fault("crash", f"gw{chance.between(1, replicas)}", round(chance.uniform(8.0, 14.0), 3), 15.0),
        Fault("crash", f"gw{chance.between(1, replicas)}", round(chance.uniform(30.0, 60.0), 3), 15.0),
    ]
    return Draft(
        level=Level.PORTS,
        replicas=replicas,
        vendors=(VendorDraft("cloud-a", token_s=0.05), VendorDraft("cloud-b", token_s=0.05)),
        nodes=(NodeDraft("node-1", slots=chance.between(6, 12), window=None),) if on_nodes else (),
        spool=True,
        knobs=Knobs(noise=chance.pick((0.0, 0.2))),
        calls=tuple(CallDraft(at_s=float(at), gateway=at % replicas) for at in range(1, 120, 9)),
        batches=tuple(batches),
        faults=tuple(crashes),
        runs_s=RUNS_S,
    )


def _active(journal: Journal) -> Iterator[str]:
    if _claimed_again(journal):
        yield "S46"


def _seen(journal: Journal) -> Iterator[str]:
    over = ended(journal)
    if over and all(whole(journal, one) for one in over) and _claimed_again(journal):
        yield "S46"


def _claimed_again(journal: Journal) -> bool:
    """Whether a line was claimed again because its replica had died with it."""
    watch, claims = watch_of(journal), dict[tuple[str, float], Fact]()
    for fact in journal.of("line_claimed"):
        line = fact.text("batch"), fact.number("line")
        before = claims.get(line)
        if before is not None and watch.host(before.host).crashed(before.at, fact.at):
            return True
        claims[line] = fact
    return False


KILLED = (
    Scenario(
        "s46-batch-killed",
        "replicas are killed while they run lines of a batch",
        ("S46",),
        _draft,
        _seen,
        _active,
    ),
)
