"""Where the slots of our machines are counted: in Redis for all replicas, or in this process where there is none.

Not here: the rules of granting (adapters), who asks (engine).
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from ktms.adapters.memory.answer_cache import MemoryAnswerCache
from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.adapters.redis.answer_cache import RedisAnswerCache
from ktms.adapters.redis.fleet import RedisFleet
from ktms.adapters.redis.fleet_board import RedisFleetBoard
from ktms.adapters.redis.link import RedisLink
from ktms.adapters.redis.quota import RedisQuotaStore
from ktms.app.beside import tell_fitness
from ktms.app.failed import StartFailed
from ktms.domain.access.secret import Secret
from ktms.ports.answer_cache import AnswerCache
from ktms.ports.entropy import Entropy
from ktms.ports.fleet_board import FleetBoard
from ktms.ports.lease_store import LeaseStore, LeaseStoreAway
from ktms.ports.quota_store import QuotaStore
from ktms.ports.telemetry import Dependency, Telemetry
from ktms.ports.waiting_room import WaitingRoom

REPLICA_BYTES = 8
"""Two lives of one replica never have one name."""

OPENINGS_MAX = 5
"""Half a second in all; after that the slots of a fresh Redis are free one renewal period later."""


@dataclass(frozen=True, slots=True)
class RedisAt:
    """Where Redis is. `ours`: this process has started it for itself, so nobody else can hold a slot there."""

    url: Secret
    timeout_s: float
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Slots:
    """The ports that lean on one store; `silenced` says whether it is left alone for now."""

    leases: LeaseStore
    room: WaitingRoom
    board: FleetBoard
    quotas: QuotaStore
    answers: AnswerCache
    silenced: Callable[[], bool]


@asynccontextmanager
async def open_slots(redis: RedisAt | None, entropy: Entropy, telemetry: Telemetry) -> AsyncIterator[Slots]:
    """Open the store, and close it in the same block; a Redis that is away keeps nobody from starting.

    Raises:
        StartFailed: the URL is of a kind that is not here yet.
    """
    if redis is None:
        alone = MemoryLeaseStore()
        yield Slots(alone, alone, alone, MemoryQuotaStore(), MemoryAnswerCache(), lambda: False)
        return
    async with _link(redis) as link, _link(redis) as wide:
        fleet = RedisFleet(link)
        if redis.ours:
            await _open(fleet, telemetry)
        await tell_fitness(link, telemetry)
        replica = entropy.token_bytes(REPLICA_BYTES).hex()
        board, quotas = RedisFleetBoard(link, replica), RedisQuotaStore(link, replica)
        yield Slots(fleet, fleet, board, quotas, RedisAnswerCache(wide, link), lambda: link.silenced)


def _link(redis: RedisAt) -> RedisLink:
    try:
        return RedisLink(redis.url.reveal(), timeout_s=redis.timeout_s)
    except ValueError as error:
        raise StartFailed("KTMS_REDIS_URL: this release speaks redis, rediss and redis+cluster") from error


async def _open(fleet: RedisFleet, telemetry: Telemetry) -> None:
    """Let our own Redis grant at once; on a busy machine it needs more than one timeout to connect."""
    for _ in range(OPENINGS_MAX):
        try:
            await fleet.open()
        except LeaseStoreAway as away:
            telemetry.dependency_failed(Dependency.REDIS, "open_leases", away.kind)
        else:
            return
