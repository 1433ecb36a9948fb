"""Answers that are kept for all replicas: one store of a world, and each replica's view of it, as facts.

Not here: what is kept (production's memory adapter), the bytes of Redis (`fakes/redis`).
"""

from ktms.ports.answer_cache import AnswerCache, CacheAway
from ktms.ports.lease_store import LeaseStoreAway
from sim.fakes.shared_store import TIMEOUT_S, SharedStore, StoreWay
from sim.journal.journal import Journal

NAME_CHARS = 12
"""Of a digest, in facts: enough to tell the questions of a world apart."""


class AnswersLine:
    """One process's way to the answers of a `SharedStore`."""

    def __init__(self, shared: SharedStore) -> None:
        self._shared = shared
        self._way = StoreWay(shared)  # a connection of its own, as in production

    async def get(self, key: bytes) -> bytes | None:
        """Give what was kept."""
        try:
            return await self._way.ask(lambda: self._shared.answers.get(key))
        except LeaseStoreAway as away:
            raise CacheAway(away.kind) from away

    def put(self, key: bytes, answer: bytes, ttl_s: float) -> None:
        """Keep an answer, unless the store is not there: nobody tells it later."""
        if not self._way.silenced and self._shared.store.away is None and self._shared.slow_s < TIMEOUT_S:
            self._shared.answers.put(key, answer, ttl_s)


class JournalAnswers:
    """Implements the `AnswerCache` port for one replica around whatever does the work."""

    def __init__(self, host: str, journal: Journal, cache: AnswerCache) -> None:
        self._host = host
        self._journal = journal
        self._cache = cache

    async def get(self, key: bytes) -> bytes | None:
        """Give what was kept, and note what was found: hit, miss, or why nobody can tell."""
        try:
            kept = await self._cache.get(key)
        except CacheAway as away:
            self._note("answer_looked", key, found=away.kind)
            raise
        self._note("answer_looked", key, found="miss" if kept is None else "hit")
        return kept

    def put(self, key: bytes, answer: bytes, ttl_s: float) -> None:
        """Hand an answer on."""
        self._note("answer_offered", key, ttl_s=ttl_s)
        self._cache.put(key, answer, ttl_s)

    def _note(self, kind: str, key: bytes, **members: str | float) -> None:
        self._journal.note(kind, self._host, question=key.hex()[:NAME_CHARS], **members)
