"""Stores that can be watched and held up: a real store behind a door that the test opens."""

import asyncio
from collections.abc import Collection, Mapping, Sequence

from ktms.adapters.memory.key_store import MemoryKeyStore
from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.adapters.memory.store import MemoryStore
from ktms.domain.access.client_key import ClientKey
from ktms.domain.ids import KeyId, LeaseId
from ktms.ports.lease_store import Grant, Lease, LeaseStoreAway, Renewed, SlotWish


class WatchedKeys:
    """Implements `KeyStore`; `asked` are the questions so far. Closed, it answers when it is opened."""

    def __init__(self, store: MemoryStore) -> None:
        self.asked: list[tuple[KeyId, ...]] = []
        self.door = asyncio.Event()
        self.door.set()
        self._keys = MemoryKeyStore(store)

    async def find(self, ids: Collection[KeyId]) -> Mapping[KeyId, ClientKey]:
        self.asked.append(tuple(ids))
        found = await self._keys.find(ids)
        await self.door.wait()
        return found


class YieldingKeys:
    """Implements `KeyStore`; every question takes a turn of the loop, as a real one does."""

    def __init__(self, store: MemoryStore) -> None:
        self._keys = MemoryKeyStore(store)

    async def find(self, ids: Collection[KeyId]) -> Mapping[KeyId, ClientKey]:
        await asyncio.sleep(0)
        return await self._keys.find(ids)


class YieldingLeases:
    """Implements `LeaseStore`; every wish takes a turn of the loop, as a real one does."""

    def __init__(self, slots: MemoryLeaseStore) -> None:
        self._slots = slots

    async def take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Grant:
        await asyncio.sleep(0)
        return await self._slots.take(wishes, lease_id)

    def release(self, lease: Lease, *, drain_s: float = 0.0) -> None:
        self._slots.release(lease, drain_s=drain_s)

    async def renew(self) -> Renewed:
        await asyncio.sleep(0)
        return await self._slots.renew()


class AbsentLeases(MemoryLeaseStore):
    """A lease store that cannot be asked."""

    async def take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Grant:
        raise LeaseStoreAway("timeout") from KeyError(lease_id, *wishes)
