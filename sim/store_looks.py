"""What the store of a world says of itself, noted now and then: slots in use, who waits, what accounts have used.

Rules: what stays empty is told once, but at the end, when all of it is told. Not here: what gateways believe
(`sim/fakes`), whether both agree (`sim/checkers`).
"""

from dataclasses import dataclass
from typing import Protocol

from sim.draft import MODEL
from sim.journal.journal import Journal

HOST = "world"


@dataclass(frozen=True, slots=True)
class Counted:
    """What the store counts of one account, in micro-dollars of the day that it is in."""

    running: int = 0
    settled: int = 0
    reserved: int = 0


class Counting(Protocol):
    """The machines of a world, as far as their store is looked at."""

    def slots_in_use(self) -> dict[str, int]:
        """Give what the store of leases counts on each node."""
        ...

    def waiting(self, model: str) -> int:
        """Give how many wait for a slot."""
        ...

    def counted(self, account: str) -> Counted | None:
        """Give what is counted of an account; None where there is no store for all."""
        ...


class StoreLooks:
    """Looks at the store of leases and limits. `accounts` are those that have limits."""

    def __init__(self, store: Counting, accounts: tuple[str, ...], journal: Journal) -> None:
        self._store = store
        self._accounts = accounts
        self._journal = journal
        self._told: dict[str, object] = {}

    def look(self, *, all_of_it: bool = False) -> None:
        """Note what the store says."""
        for node, busy in self._store.slots_in_use().items():
            if all_of_it or busy or self._told.get(node):
                self._told[node] = busy
                self._journal.note("slots_seen", HOST, node=node, busy=busy)
        for account in self._accounts:
            counted = self._store.counted(account)
            if counted is not None and (all_of_it or counted != self._told.get(account, Counted())):
                self._told[account] = counted
                self._journal.note(
                    "quota_seen",
                    HOST,
                    account=account,
                    running=counted.running,
                    settled=counted.settled,
                    reserved=counted.reserved,
                )
        if all_of_it:
            self._journal.note("waiters_seen", HOST, model=MODEL, waiting=self._store.waiting(MODEL))
