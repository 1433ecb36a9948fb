"""Stores of limits as `test_reservations.py` drives them: the one in memory, and the twins of the Lua scripts.

The twins are behind the adapter of the real store, over a link that answers in the same turn; nothing ever waits.
"""

from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypeVar, cast

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.adapters.memory.quotas import MemoryQuotas
from ktms.adapters.redis.keys import account_key
from ktms.adapters.redis.line import Words
from ktms.adapters.redis.link import RedisLink
from ktms.adapters.redis.lua import Script, read_scripts
from ktms.adapters.redis.quota import RedisQuotaStore
from ktms.adapters.redis.quota_words import unpack_counters
from ktms.domain.access.quota_counters import NEW, Counters, roll
from ktms.domain.units import US_PER_S
from ktms.ports.quota_store import QuotaStore
from sim.fakes.redis.keyspace import Keyspace
from sim.fakes.redis.quota_twins import register_quota_twins, wall_us
from sim.fakes.redis.scripts import Scripts as TwinScripts

Given = TypeVar("Given")


def at_once(asked: Coroutine[Any, Any, Given]) -> Given:
    """Run what never has to wait."""
    try:
        asked.send(None)
    except StopIteration as done:
        return cast("Given", done.value)
    raise AssertionError("it waited")


class Store(Protocol):
    """A store as this machine drives it."""

    def replica(self, name: str) -> QuotaStore: ...
    def counters(self, account: str) -> Counters: ...
    def now_us(self) -> int: ...
    def lose(self) -> None: ...


class InMemory:
    """The store of one process."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._quotas = MemoryQuotas(clock.wall)

    def replica(self, name: str) -> QuotaStore:
        return MemoryQuotaStore(self._quotas, name)

    def counters(self, account: str) -> Counters:
        return self._quotas.counters(account)

    def now_us(self) -> int:
        return round(self._clock.wall() * US_PER_S)

    def lose(self) -> None:
        self._quotas.lose()


class TwinLink:
    """A link whose other end is the twins, in the same turn."""

    def __init__(self, data: Keyspace) -> None:
        self.scripts = read_scripts()
        self._data = data
        self._twins = TwinScripts()
        register_quota_twins(self._twins)
        for script in self.scripts.all():
            self._twins.load(script.source.encode())

    async def ask(self, words: Words, *, script: Script, unheard: object) -> Any:
        del unheard
        return self._run(words, script)

    async def ask_all(self, many: Sequence[tuple[Words, Script]]) -> list[Any]:
        return [self._run(words, script) for words, script in many]

    def tell(self, words: Words, *, script: Script) -> None:
        self._run(words, script)

    def _run(self, words: Words, script: Script) -> Any:
        count, *rest = (word if isinstance(word, bytes) else str(word).encode() for word in words)
        keys, arguments = rest[: int(count)], rest[int(count) :]
        return self._twins.run(script.digest.encode(), self._data, keys, arguments)


class InRedis:
    """The scripts, by their twins, behind the adapter."""

    def __init__(self, clock: ManualClock) -> None:
        self._data = Keyspace(clock.monotonic)

    def replica(self, name: str) -> QuotaStore:
        return RedisQuotaStore(cast("RedisLink", TwinLink(self._data)), name)

    def counters(self, account: str) -> Counters:
        packed = self._data.get(account_key(account).encode())
        return roll(NEW if packed is None else unpack_counters(packed), self.now_us())

    def now_us(self) -> int:
        return wall_us(self._data)

    def lose(self) -> None:
        self._data.clear()
