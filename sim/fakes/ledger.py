"""The far side of the Ledger port: one ledger for all replicas, each of which reaches it over a line that fails.

What it keeps is decided by production's memory adapter, each event once by its id. Faults: away refuses; hung
takes what is sent and answers nothing, and it takes effect when the fault ends; slow is late; refusing looks and
wants nothing; repeating delivers each batch twice, the second time later, behind what came meanwhile (S22, S23);
forgetful stores, and then the connection breaks before it has answered (FL5). Every batch that is stored is a
fact: the ids that came, and how many of them were new.
"""

import asyncio
from collections.abc import Sequence

from ktms.adapters.memory.ledger import MemoryLedger
from ktms.domain.access.quota import Spent
from ktms.domain.access.usage_event import UsageEvent
from ktms.domain.access.usage_report import UsageQuery, UsageRow
from ktms.ports.ledger import LedgerAway
from sim.fakes.clock import HostClock
from sim.journal.journal import Journal
from sim.seed import Chance
from sim.trace import Trace

HOST = "ledger"

LATENCY_MIN_S, LATENCY_MAX_S = 0.001, 0.01
"""One transaction on a sound database."""

REPEAT_MAX_S = 20.0
"""How much later a repeated batch comes at most."""

STUCK_MAX = 1_000
"""Batches that a hung ledger has taken: as many as fit into the buffers of its connections."""


class SimLedger:
    """The accounting service of a world."""

    def __init__(self, chance: Chance, journal: Journal, trace: Trace) -> None:
        self.trace = trace
        self.book = MemoryLedger(HostClock())
        self._chance = chance
        self._journal = journal
        self._on: dict[str, list[float]] = {
            kind: []
            for kind in (
                *("ledger_away", "ledger_hung", "ledger_slow"),
                *("ledger_refusing", "ledger_repeating", "ledger_forgetful"),
            )
        }
        self._stuck: list[tuple[str, Sequence[UsageEvent]]] = []
        self._known: set[str] = set()
        self.woken = asyncio.Event()

    def mode(self, kind: str, amount: float = 0.0, *, on: bool) -> None:
        """Begin or end a fault by its name in the plan; `amount` is seconds for a slow one."""
        (self._on[kind].append if on else self._on[kind].remove)(amount)
        if self.has("ledger_away"):
            self._stuck.clear()
        if not self.has("ledger_hung"):
            stuck, self._stuck = self._stuck, []
            for host, events in stuck:
                self.store(host, events)
        self.woken.set()

    def has(self, kind: str) -> bool:
        """Whether a fault is on."""
        return bool(self._on[kind])

    @property
    def latency_s(self) -> float:
        """How long the next answer takes."""
        return max(self._on["ledger_slow"], default=0.0) + self._chance.uniform(LATENCY_MIN_S, LATENCY_MAX_S)

    def keep_for_later(self, host: str, events: Sequence[UsageEvent]) -> None:
        """Take a batch while hung."""
        if len(self._stuck) < STUCK_MAX:
            self._stuck.append((host, events))

    def store(self, host: str, events: Sequence[UsageEvent]) -> None:
        """Store a batch: one transaction."""
        self.book.keep(events)
        fresh = [event.id for event in events if event.id not in self._known]
        self._known.update(fresh)
        ids = " ".join(event.id for event in events)
        self._journal.note(
            "usage_kept", HOST, sender=host, ids=ids, fresh=len(set(fresh)), rows=len(self.book.events)
        )
        if self.has("ledger_repeating"):
            later_s = self._chance.uniform(0.0, REPEAT_MAX_S)
            asyncio.get_running_loop().call_later(later_s, self._repeat, host, events)

    def _repeat(self, host: str, events: Sequence[UsageEvent]) -> None:
        shuffled = self._chance.some(list(events), len(events))
        self.book.keep(shuffled)
        ids = " ".join(event.id for event in shuffled)
        self._journal.note(
            "usage_kept", HOST, sender=host, ids=ids, fresh=0, rows=len(self.book.events), again=True
        )


class LedgerLine:
    """One replica's way to the ledger; implements the ports Ledger and UsageReports."""

    def __init__(self, host: str, ledger: SimLedger, journal: Journal) -> None:
        self._host = host
        self._ledger = ledger
        self._journal = journal

    async def send(self, events: Sequence[UsageEvent]) -> None:
        """Send a batch."""
        ledger = self._ledger
        self._journal.note("usage_sent", self._host, ids=" ".join(event.id for event in events))
        await self._reach(events)
        if ledger.has("ledger_refusing"):
            self._reply("send", "refused")
            raise LedgerAway("refused")
        ledger.store(self._host, events)
        if ledger.has("ledger_forgetful"):
            self._reply("send", "the connection broke")
            raise LedgerAway
        self._reply("send", str(len(events)))

    async def usage(self, query: UsageQuery) -> Sequence[UsageRow]:
        """Ask for sums."""
        await self._reach(())
        rows = await self._ledger.book.usage(query)
        self._reply("usage", str(len(rows)))
        return rows

    async def spent(self, accounts: Sequence[str]) -> Sequence[Spent]:
        """Ask what accounts have spent."""
        await self._reach(())
        found = await self._ledger.book.spent(accounts)
        self._reply("spent", " ".join(f"{one.account}={one.day_micros}/{one.month_micros}" for one in found))
        return found

    async def _reach(self, events: Sequence[UsageEvent]) -> None:
        """Go there; what a hung ledger took of us takes effect when it goes on, whether we wait or not."""
        ledger = self._ledger
        if ledger.has("ledger_away"):
            self._reply("reach", "refused")
            raise LedgerAway
        await asyncio.sleep(ledger.latency_s)
        if ledger.has("ledger_hung"):
            if events:
                ledger.keep_for_later(self._host, events)
            while ledger.has("ledger_hung"):
                ledger.woken.clear()
                await ledger.woken.wait()
        if ledger.has("ledger_away"):
            self._reply("reach", "broke")
            raise LedgerAway

    def _reply(self, method: str, text: str) -> None:
        self._ledger.trace.replied(asyncio.get_running_loop().time(), f"{self._host}/ledger", method, text)
