"""Whether the model of a target is in its memory, and how long it takes until it is.

No timers: a load is over when somebody looks after its time, since what asks for it may be gone by then.
"""

import asyncio
import math

from sim.fakes.dialect import Quirks
from sim.journal.journal import Journal


class Memory:
    """The memory of one machine; says what there is in `quirks`, and writes it down."""

    def __init__(self, name: str, quirks: Quirks, journal: Journal) -> None:
        self._name = name
        self._quirks = quirks
        self._journal = journal
        self._due = False
        self._loads_s = 0.0
        self._loaded_at = math.inf

    def evict(self, loads_s: float, *, idle: bool) -> None:
        """Drop the model as soon as nobody uses it; whoever asks for it then loads it, which takes so long."""
        self._due, self._loads_s = True, loads_s
        self._drop(idle=idle)

    def load(self) -> None:
        """Have the model in memory."""
        self._due = False
        if self._quirks.cold:
            self._quirks.cold = self._quirks.loading = False
            self._journal.note("model_loaded", self._name, node=self._name)

    def look(self, *, wanted: bool, idle: bool) -> None:
        """See whether the model has gone meanwhile or a load is over, and begin a load that is wanted."""
        self._drop(idle=idle)
        if not self._quirks.cold:
            return
        now = asyncio.get_running_loop().time()
        if self._loaded_at <= now:
            self.load()
        elif wanted and not self._quirks.loading:
            self._quirks.loading, self._loaded_at = True, now + self._loads_s

    def _drop(self, *, idle: bool) -> None:
        if self._due and idle:
            self._due = False
            self._quirks.cold, self._quirks.loading = True, False
            self._loaded_at = math.inf
            self._journal.note("model_gone", self._name, node=self._name)
