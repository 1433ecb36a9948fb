"""What replicas say that they have lost becomes facts."""

from dataclasses import dataclass
from typing import cast

from chaos.stand.run_journal import RunJournal
from chaos.stand.stand import Stand
from chaos.traffic.lost import DROPPED, note_lost


@dataclass(frozen=True)
class Replica:
    """One that counts so many; None: it says nothing of it."""

    name: str
    counts: float | None

    async def metric(self, name: str) -> float | None:
        assert name == DROPPED
        return self.counts


@dataclass(frozen=True)
class Replicas:
    """All of a stand that is asked."""

    gateways: tuple[Replica, ...]
    journal: RunJournal


async def test_only_who_has_counted_some_has_lost_any() -> None:
    running = Replicas((Replica("gw1", 7.0), Replica("gw2", 0.0), Replica("gw3", None)), RunJournal())
    await note_lost(cast("Stand", running))
    assert [(fact.host, fact.number("amount")) for fact in running.journal.of("usage_lost")] == [("gw1", 7.0)]
