"""Calls and their keys in memory, as one database would hold them."""

from dataclasses import dataclass

from ktms.adapters.memory.clock import LoopClock
from ktms.adapters.memory.store import MemoryStore
from ktms.domain.ids import KeyId
from ktms.ports.clock import Clock
from ktms.ports.repeats import KEPT_S, Begun, Kept, OtherBody, Repeatable, Running


@dataclass(slots=True)
class _Row:
    call: Repeatable
    until: float
    answered: bool = False
    answer: bytes | None = None


class MemoryRepeats:
    """Implements `Repeats`; several replicas share one. `store` says whether it can be asked."""

    def __init__(self, store: MemoryStore, clock: Clock | None = None) -> None:
        self._store = store
        self._clock = clock or LoopClock()
        self._rows: dict[tuple[KeyId, str], _Row] = {}

    def __len__(self) -> int:
        """How many rows there are, old ones included."""
        return len(self._rows)

    async def begin(self, call: Repeatable) -> Begun | Running | OtherBody | Kept:
        """Begin a call, or say what is known of the first of its key."""
        self._store.check_here()
        name, now = (call.owner, call.key), self._clock.monotonic()
        row = self._rows.get(name)
        if row is None or row.until <= now:
            self._rows[name] = _Row(call, now + call.runs_s)
            return Begun()
        if row.call.body_digest != call.body_digest:
            return OtherBody()
        return Kept(row.call.request, row.answer) if row.answered else Running()

    async def keep(self, call: Repeatable, answer: bytes | None) -> None:
        """Keep the answer of the call that began."""
        self._store.check_here()
        row = self._own(call)
        if row is not None and not row.answered:
            row.answered, row.answer, row.until = True, answer, self._clock.monotonic() + KEPT_S

    async def give_up(self, call: Repeatable) -> None:
        """Forget the call that began."""
        self._store.check_here()
        row = self._own(call)
        if row is not None and not row.answered:
            del self._rows[call.owner, call.key]

    async def forget_old(self) -> bool:
        """Remove all that is over."""
        self._store.check_here()
        now = self._clock.monotonic()
        self._rows = {name: row for name, row in self._rows.items() if row.until > now}
        return False

    def _own(self, call: Repeatable) -> _Row | None:
        row = self._rows.get((call.owner, call.key))
        return row if row is not None and row.call.request == call.request else None
