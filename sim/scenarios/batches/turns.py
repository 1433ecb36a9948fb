"""S41 for batches: one key sends dozens at once, another one later; that one is examined next, and done soon.

The database is slow, so that reading a file takes a while and the order of batches can be seen.
"""

from collections.abc import Iterator

from sim.draft import BatchDraft, Draft, KeyDraft, Level, VendorDraft
from sim.faults.plan import Fault
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.scenarios.batches.reading import ended, whole
from sim.scenarios.scenario import Scenario
from sim.seed import Seed

CROWD, LONE = "app", "other"
"""The key with dozens, and the one with a single batch."""

LEFT_MIN = 8
"""So many of the crowd still wait when the lone batch comes."""

RUNS_S = 150.0


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = chance.between(1, 2)
    slow_s = round(chance.uniform(0.1, 0.25), 3)
    batches = [
        BatchDraft(at_s=0.5, lines=chance.between(1, 4), makes_at_s=4.0, key=CROWD, poll_s=10.0)
        for _ in range(chance.between(25, 40) * replicas)
    ]
    lone = BatchDraft(at_s=0.5, lines=3, makes_at_s=round(chance.uniform(7.0, 9.0), 3), key=LONE, poll_s=1.0)
    return Draft(
        level=Level.PORTS,
        replicas=replicas,
        vendors=(VendorDraft("cloud-a"),),
        keys=(KeyDraft(CROWD), KeyDraft(LONE)),
        batches=(*batches, lone),
        faults=(Fault("postgres_slow", "", 0.1, RUNS_S - 1.0, slow_s),),
        runs_s=RUNS_S,
    )


def _examined(journal: Journal, key: str) -> list[Fact]:
    """Give the first examination of each batch of a key, in order."""
    mine = {fact.text("batch") for fact in journal.of("batch_made") if fact.members.get("key") == key}
    found = {fact.text("batch"): fact for fact in reversed([*journal.of("batch_examined")])}
    return sorted((fact for batch, fact in found.items() if batch in mine), key=lambda fact: fact.at)


def _made_at(journal: Journal) -> float:
    """Say when the lone batch was made; nobody can have been told before."""
    return next((fact.at for fact in journal.of("batch_made") if fact.members.get("key") == LONE), 0.0)


def _is_crowded(journal: Journal) -> bool:
    """Whether many of the crowd's batches still waited when the lone one was made."""
    made_at = _made_at(journal)
    return bool(made_at) and sum(fact.at > made_at for fact in _examined(journal, CROWD)) >= LEFT_MIN


def _active(journal: Journal) -> Iterator[str]:
    if _is_crowded(journal):
        yield "S41"


def _seen(journal: Journal) -> Iterator[str]:
    made_at, crowd, lone = _made_at(journal), _examined(journal, CROWD), _examined(journal, LONE)
    over = {fact.text("batch"): fact for fact in ended(journal)}
    replicas = len({fact.host for fact in journal.of("host_up")})
    if not _is_crowded(journal) or not lone or len(over) != len(crowd) + 1:
        return
    before = sum(made_at < fact.at < lone[0].at for fact in crowd)
    done = over[lone[0].text("batch")]
    in_time = sum(fact.at < done.at for name, fact in over.items() if name != done.text("batch")) < len(crowd)
    if before <= replicas and in_time and all(whole(journal, fact) for fact in over.values()):
        yield "S41"


TURN_SCENARIOS = (
    Scenario("s41-batches", "dozens of batches of one key, and one of another", ("S41",), _draft, _seen, _active),
)
