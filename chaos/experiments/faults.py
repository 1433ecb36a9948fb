"""Faults as blocks: what is broken when one is entered is whole again when it is left, and both are facts.

The names of faults are those of the simulator's plans, so that the same judges read them. Not here: for how long
(`conduct.py`), what must be seen.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from chaos.experiments.experiment import Breaks
from chaos.proxy.proxy import Proxy
from chaos.stand.stand import Stand

Harm = Callable[[Proxy], Awaitable[None]]


def of_proxy(service: str, kind: str, harm: Harm, *, amount: float = 0.0) -> Breaks:
    """Harm every way to a service; leaving the block heals it."""

    @asynccontextmanager
    async def broken(stand: Stand) -> AsyncIterator[None]:
        stand.fault(kind, on=True, amount=amount)
        for proxy in stand.ways.all_to(service):
            await harm(proxy)
        try:
            yield
        finally:
            for proxy in stand.ways.all_to(service):
                await proxy.heal()
            stand.fault(kind, on=False)

    return broken


def of_target(target: str, mode: str, *, amount: float = 0.0, every: int = 1) -> Breaks:
    """Let a target do something wrong; it notes that by itself."""

    @asynccontextmanager
    async def broken(stand: Stand) -> AsyncIterator[None]:
        await stand.targets[target].mode(mode, on=True, amount=amount, every=every)
        try:
            yield
        finally:
            await stand.targets[target].mode(mode, on=False)

    return broken


@asynccontextmanager
async def redis_restarts_empty(stand: Stand) -> AsyncIterator[None]:
    """Kill Redis, and let it come back at the end of the block without anything it had."""
    stand.fault("redis_away", on=True)
    await stand.services.redis.kill()
    try:
        yield
    finally:
        await stand.services.redis.start(empty=True)
        await stand.slots.make_old()
        stand.fault("redis_empty", on=True)
        stand.fault("redis_away", on=False)


@asynccontextmanager
async def redis_stands_still(stand: Stand) -> AsyncIterator[None]:
    """Stop the process of Redis (SIGSTOP): its kernel takes what is sent, and nobody answers."""
    stand.fault("redis_hung", on=True)
    await stand.services.redis.freeze()
    try:
        yield
    finally:
        await stand.services.redis.thaw()
        stand.fault("redis_hung", on=False)


@asynccontextmanager
async def ledger_is_killed(stand: Stand) -> AsyncIterator[None]:
    """Kill the accounting service; it is started again with the rest when the stand is healed."""
    stand.fault("ledger_away", on=True)
    await stand.ledger.process.kill()
    try:
        yield
    finally:
        await stand.ledger.start()
        stand.fault("ledger_away", on=False)


def replica_is_killed(name: str) -> Breaks:
    """Kill a replica (SIGKILL); it is started again when the stand is healed."""

    @asynccontextmanager
    async def broken(stand: Stand) -> AsyncIterator[None]:
        await stand.gateway(name).kill()
        yield

    return broken


def replica_leaves(name: str) -> Breaks:
    """Ask a replica to leave (SIGTERM), and wait until it has."""

    @asynccontextmanager
    async def broken(stand: Stand) -> AsyncIterator[None]:
        await stand.gateway(name).term()
        yield

    return broken
