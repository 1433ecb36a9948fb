"""The journal of a run on real time, in which a fact may be noted later than it happened.

What a process writes into its log and what the ledger holds is read at the end, and judges want all facts in the
order in which they happened: `settled` gives them so. Not here: what is noted.
"""

import time
from datetime import UTC, datetime

from sim.journal.fact import Fact, Value
from sim.journal.journal import Journal


class RunJournal(Journal):
    """Counts seconds since it was made, on the monotonic clock that all processes of this machine share."""

    def __init__(self) -> None:
        self._began_at = time.monotonic()  # noqa: TID251  # the suite stands outside of the product's clock port
        self._began_wall_s = datetime.now(UTC).timestamp()
        self._late_at: float | None = None
        super().__init__(self.moment)

    @property
    def now_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began_at  # noqa: TID251  # as above

    @property
    def began_wall_s(self) -> float:
        """When the run began, in seconds since 1970."""
        return self._began_wall_s

    def moment(self) -> float:
        """Give the moment of the fact that is being noted."""
        return self.now_s if self._late_at is None else self._late_at

    def of_wall(self, wall_s: float) -> float:
        """Turn seconds since 1970 into seconds of the run."""
        return wall_s - self._began_wall_s

    def note_at(self, at: float, kind: str, host: str, **members: Value) -> Fact:
        """Write one fact down that happened at another moment than now.

        Raises:
            UnknownFact: see `note`.
        """
        self._late_at = at
        try:
            return self.note(kind, host, **members)
        finally:
            self._late_at = None

    def settled(self) -> Journal:
        """Give a journal with the same facts in the order of their moments."""
        journal = Journal(self.moment)
        journal.facts = sorted(self.facts, key=lambda fact: fact.at)
        return journal
