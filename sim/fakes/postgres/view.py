"""What one replica sees of the database: the three ports, with every question about keys as a fact."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from functools import partial

from ktms.adapters.memory.catalogue_store import MemoryCatalogueStore
from ktms.adapters.memory.key_store import MemoryKeyStore
from ktms.domain.access.client_key import ClientKey
from ktms.domain.ids import KeyId
from ktms.domain.snapshot import Snapshot
from ktms.ports.catalogue import StoreAway
from ktms.ports.change_feed import KeyChanged, News
from ktms.ports.clock import Clock
from ktms.ports.entropy import Entropy
from sim.fakes.postgres.nodes import SimNodeRegistry
from sim.fakes.postgres.repeats import SimRepeats
from sim.fakes.postgres.server import FIND_KEYS, Heard, Line, SimPostgres, Unanswered
from sim.fakes.postgres.shelf import SimBatchStore, SimBatchUpkeep, SimFileStore, SimLineStore
from sim.journal.journal import Journal

SILENCE_MAX_S = 10.0
"""After this much silence a feed asks for a sign of life, as the real one does."""


class PostgresView:
    """The database as one replica has it; a replica that starts again takes a new one."""

    def __init__(self, server: SimPostgres, host: str, journal: Journal, entropy: Entropy, clock: Clock) -> None:
        line = server.line(host)
        line.on_full = partial(_note_full, line, journal)
        line.on_lost = partial(_note_lost, line, journal)
        self.nodes = SimNodeRegistry(line, entropy, clock)
        self.catalogue = SimCatalogueStore(line)
        self.keys = SimKeyStore(line, journal)
        self.changes = SimChangeFeed(line)
        self.files = SimFileStore(line)
        self.batches = SimBatchStore(line)
        self.lines = SimLineStore(line, journal)
        self.upkeep = SimBatchUpkeep(line, journal)
        self.repeats = SimRepeats(line, journal)


class SimCatalogueStore:
    """Implements the `CatalogueStore` port."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._stored = MemoryCatalogueStore(line.server.store)

    async def version(self) -> int:
        """Give the number of the newest version; 0 when nothing was ever applied."""
        return await self._line.ask("version", self._stored.version, str)

    async def snapshot(self) -> Snapshot:
        """Read and compile the newest version."""
        return await self._line.ask("snapshot", self._stored.snapshot, _version_of, early=False)


class SimKeyStore:
    """Implements the `KeyStore` port."""

    def __init__(self, line: Line, journal: Journal) -> None:
        self._line = line
        self._journal = journal
        self._stored = MemoryKeyStore(line.server.store)

    async def find(self, ids: Collection[KeyId]) -> Mapping[KeyId, ClientKey]:
        """Give the stored keys among `ids`, revoked ones included."""

        async def read() -> Mapping[KeyId, ClientKey]:
            return await self._stored.find(ids)

        try:
            found = await self._line.ask(FIND_KEYS, read, _found_text)
        except Unanswered:
            self._note(ids, "hung")
            raise
        except StoreAway:
            self._note(ids, "away")
            raise
        except asyncio.CancelledError:  # the caller's own limit is as short, or its client left
            if self._line.server.gives_no_answer:
                self._note(ids, "hung")
            raise
        self._note(ids, "found")
        return found

    def _note(self, ids: Collection[KeyId], answer: str) -> None:
        self._journal.note("keys_asked", self._line.host, ids=" ".join(ids), answer=answer)


class SimChangeFeed:
    """Implements the `ChangeFeed` port."""

    def __init__(self, line: Line) -> None:
        self._line = line

    async def listen(self) -> AsyncIterator[News]:
        """Yield news until the connection is lost, then end."""
        heard = await self._line.ask("listen", self._open, lambda _: "listening", early=False)
        try:
            while (news := await self._next(heard)) is not None:
                self._line.reply("news", news.key_id if isinstance(news, KeyChanged) else "catalogue")
                yield news
            self._line.reply("news", "lost")
        finally:
            self._line.server.stop_hearing(heard)

    async def _open(self) -> Heard:
        return self._line.server.hear(self._line.host)

    async def _next(self, heard: Heard) -> News | None:
        while True:
            try:
                async with asyncio.timeout(SILENCE_MAX_S):
                    return await heard.news.get()
            except TimeoutError:
                if not await self._alive():
                    return None

    async def _alive(self) -> bool:
        try:
            await self._line.ask("alive", _nothing, lambda _: "yes")
        except StoreAway:
            return False
        return True


def _note_full(line: Line, journal: Journal, method: str) -> None:
    journal.note("places_full", line.host, operation=method, in_use=line.in_use)


def _note_lost(line: Line, journal: Journal, method: str, took_effect: bool) -> None:
    journal.note("answer_lost", line.host, operation=method, took_effect=took_effect)


async def _nothing() -> bool:
    return True


def _version_of(snapshot: Snapshot) -> str:
    return str(snapshot.version)


def _found_text(found: Mapping[KeyId, ClientKey]) -> str:
    return " ".join(f"{key.id}{' revoked' if key.revoked else ''}" for key in found.values())
