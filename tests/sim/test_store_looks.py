"""What the store says of itself is noted when there is something to say, and all of it at the end."""

from sim.journal.journal import Journal
from sim.store_looks import Counted, StoreLooks


class Machines:
    """A store with one node and one account."""

    def __init__(self) -> None:
        self.busy = 0
        self.known: Counted | None = Counted()

    def slots_in_use(self) -> dict[str, int]:
        return {"node-1": self.busy}

    def waiting(self, model: str) -> int:
        return len(model) * 0

    def counted(self, account: str) -> Counted | None:
        return self.known if account else None


def looks(machines: Machines) -> tuple[StoreLooks, Journal]:
    journal = Journal(lambda: 0.0)
    return StoreLooks(machines, ("key:app",), journal), journal


def told(journal: Journal) -> list[str]:
    return [fact.kind for fact in journal.facts]


def test_an_empty_store_says_nothing() -> None:
    at, journal = looks(Machines())
    at.look()
    assert told(journal) == []


def test_what_changed_is_noted_and_that_it_is_over() -> None:
    machines = Machines()
    at, journal = looks(machines)
    machines.busy, machines.known = 1, Counted(1, 0, 5)
    at.look()
    machines.busy, machines.known = 0, Counted(0, 4, 0)
    at.look()
    at.look()
    assert told(journal) == ["slots_seen", "quota_seen"] * 2
    assert journal.facts[-1].members == {"account": "key:app", "running": 0, "settled": 4, "reserved": 0}


def test_in_the_end_all_of_it_is_noted() -> None:
    at, journal = looks(Machines())
    at.look(all_of_it=True)
    assert told(journal) == ["slots_seen", "quota_seen", "waiters_seen"]


def test_where_replicas_share_no_store_nothing_is_counted() -> None:
    machines = Machines()
    machines.known = None
    at, journal = looks(machines)
    at.look(all_of_it=True)
    assert told(journal) == ["slots_seen", "waiters_seen"]
