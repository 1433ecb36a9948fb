"""FL1 to FL6 with real processes: a ledger stopped, frozen and killed, a sender killed; judged by sets of ids.

The same story is told first to a ledger that knows no repeats: it must then have doubles, or the story proves
nothing.
"""

import asyncio
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from tests.e2e.conftest import NewDatabase, NewHome
from tests.e2e.ledger_process import FORGETFUL, KNOWING, LedgerProcess, ledger_service
from tests.e2e.program import Program, environment
from tests.e2e.usage_sender import NUMBER_BYTES
from tests.e2e.waiting import now, until
from tests.usage_events import usage_event

FROZEN_S = 5.6
"""Longer than a send may take, so that batches are given up which the frozen service then stores."""

SENT_WITHIN_S = 60.0


@dataclass
class Sender:
    """The sending process, and what it has recorded by its own account."""

    address: str
    folder: Path
    count: int
    per_s: float
    starts: int = 0

    @property
    def progress(self) -> Path:
        return self.folder / "progress"

    @property
    def recorded(self) -> int:
        """How many events were recorded: their numbers are told in order."""
        return self.progress.stat().st_size // NUMBER_BYTES if self.progress.exists() else 0

    def start(self) -> Program:
        self.starts += 1
        words = (self.address, self.folder / "spool", self.progress, self.recorded, self.count, self.per_s)
        command = (sys.executable, "-m", "tests.e2e.usage_sender", *map(str, words))
        return Program(command, environment(self.folder), self.folder, f"sender-{self.starts}").__enter__()

    def until(self, share: float) -> None:
        until(lambda: self.recorded >= share * self.count, f"{share:.0%} are recorded", SENT_WITHIN_S)


@dataclass(frozen=True)
class Kept:
    """What the ledger has in the end."""

    rows: int
    ids: set[str]
    summed: int


def storm(ledger: LedgerProcess, sender: Sender, *, frozen_s: float = FROZEN_S) -> None:
    """Tell the story: everything that can be stopped is stopped while events are recorded."""
    program = sender.start()
    sender.until(0.15)
    assert ledger.restart().code == 0
    sender.until(0.3)
    ledger.kill()
    sender.until(0.45)
    program.signal(signal.SIGKILL)
    program.ended()
    program = sender.start()
    sender.until(0.6)
    ledger.program.signal(signal.SIGSTOP)
    frozen_at = now()
    until(lambda: now() - frozen_at > frozen_s, "it stood still", 2 * frozen_s)
    ledger.program.signal(signal.SIGCONT)
    sender.until(0.8)
    ledger.kill()
    done = program.ended(SENT_WITHIN_S)
    assert done.code == 0, done.err


async def kept(database_url: str) -> Kept:
    connection = await asyncpg.connect(database_url)
    try:
        rows = await connection.fetch("select id::text from ledger.usage_event")
        summed = await connection.fetchval("select sum(attempts)::bigint from ledger.usage_day")
    finally:
        await connection.close()
    return Kept(len(rows), {row["id"] for row in rows}, summed)


async def forget_keys(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute("alter table ledger.usage_event drop constraint usage_event_pkey")
    finally:
        await connection.close()


def test_without_the_key_the_same_story_ends_in_doubled_events(
    new_home: NewHome, new_database: NewDatabase
) -> None:
    home, database_url = new_home().folder, new_database()
    with ledger_service(home, database_url, FORGETFUL) as ledger:
        asyncio.run(forget_keys(database_url))
        storm(ledger, Sender(ledger.address, home, 20_000, per_s=10_000), frozen_s=0.5)
    found = asyncio.run(kept(database_url))
    assert found.rows > len(found.ids)


def test_every_event_is_in_the_ledger_once_whoever_is_killed(new_home: NewHome, new_database: NewDatabase) -> None:
    count = 100_000
    home, database_url = new_home().folder, new_database()
    with ledger_service(home, database_url, KNOWING) as ledger:
        storm(ledger, Sender(ledger.address, home, count, per_s=15_000))
    found = asyncio.run(kept(database_url))
    assert found.ids == {usage_event(number).id for number in range(count)}
    assert (found.rows, found.summed) == (count, count)
