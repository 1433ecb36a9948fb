"""The Valkey between replicas, as an operator sees it: stopped, hung, started again; and what lies in it."""

import asyncio
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import redis

from ktms.adapters.embedded.valkey_server import EmbeddedValkey
from ktms.adapters.redis import keys
from ktms.adapters.redis.quota_words import unpack_counters
from ktms.adapters.system.entropy import SystemEntropy
from ktms.domain.access.quota_counters import Counters
from ktms.domain.ids import ModelName, NodeName
from tests.e2e.ports import any_port

Leases = dict[str, dict[str, float]]
"""Node, lease, and the seconds it has left by the store's clock (those that have expired included)."""


class FleetStore:
    """Always on the same port with the same password. Use as `with`."""

    def __init__(self, folder: Path) -> None:
        self._runner = asyncio.Runner()
        self._folder = folder
        self._server = EmbeddedValkey(folder, entropy=SystemEntropy(), port=any_port())
        self._client: redis.Redis

    def __enter__(self) -> Self:
        self._runner.__enter__()
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._server.running:
            self.stop()
        self._runner.__exit__(None, None, None)

    @property
    def url(self) -> str:
        """Where it is, with the password."""
        return self._server.url

    def start(self) -> None:
        """Start it, with what was kept, or empty."""
        self._runner.run(self._server.__aenter__())
        self._client = redis.Redis.from_url(self._server.url, socket_timeout=1)

    def stop(self, *, keep: bool = False) -> None:
        """Stop it; what it holds is lost unless `keep`."""
        dump = self._folder / "valkey" / "dump.rdb"
        if keep:
            self._client.save()
        else:
            dump.unlink(missing_ok=True)
        self._client.close()
        self._runner.run(self._server.__aexit__(None, None, None))

    @contextmanager
    def hung(self) -> Iterator[None]:
        """SIGSTOP: connections are taken by the kernel and nobody answers."""
        os.kill(self._server.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._server.pid, signal.SIGCONT)

    def settle(self) -> None:
        """Make it a store that has been in use for long: one found empty grants nothing at first."""
        self._client.set(keys.EPOCH, 0)

    @property
    def now_s(self) -> float:
        """Its clock."""
        seconds, microseconds = self._client.time()
        return float(seconds) + float(microseconds) / 1e6

    @property
    def found_empty_at(self) -> float | None:
        """When a replica first found it empty, by its clock; None while nobody has."""
        found = self._client.get(keys.EPOCH)
        return None if found is None else float(found) / 1000

    def leases(self, nodes: Sequence[str]) -> Leases:
        """Give the leases of nodes, all seen at one instant."""
        with self._client.pipeline(transaction=True) as asked:
            asked.time()
            for node in nodes:
                asked.zrange(keys.leases_of(NodeName(node)), 0, -1, withscores=True)
            (seconds, microseconds), *found = asked.execute()
        now_ms = seconds * 1000 + microseconds / 1000
        return {
            node: {member.decode(): (score - now_ms) / 1000 for member, score in members}
            for node, members in zip(nodes, found, strict=True)
        }

    def counted(self, account: str) -> Counters | None:
        """What it counts of a key or team (`key:<id>`, `tenant:<name>`); None where it knows nothing."""
        packed = self._client.get(keys.account_key(account))
        return unpack_counters(packed) if isinstance(packed, bytes) else None

    def forget(self) -> None:
        """Lose all that it holds, with every connection open."""
        self._client.flushall()

    def waiters(self, model: str) -> int:
        """How many wait for a model."""
        return int(self._client.zcard(keys.waiters_of(ModelName(model))))


def members(leases: Leases) -> frozenset[str]:
    """Give all leases, whatever their node."""
    return frozenset(name for found in leases.values() for name in found)


def alive(leases: Leases) -> dict[str, int]:
    """Count the leases of each node that have not expired."""
    return {node: sum(left_s > 0 for left_s in found.values()) for node, found in leases.items()}
