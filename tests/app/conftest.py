"""The real world on a database of the test's own, with a log that can be read."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ktms.adapters.telemetry.gateway_telemetry import LogSettings
from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.app.production import Production, World, production
from ktms.domain.access.keyring import Keyring
from ktms.domain.access.secret import Secret


@dataclass(frozen=True)
class Log:
    """A log file; `text` is what was written so far."""

    path: Path
    fd: int

    @property
    def text(self) -> str:
        return self.path.read_text()


CONNECTIONS_MAX = 5
"""Of the real world in these tests."""


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    path = tmp_path / "log"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    yield Log(path, fd)
    os.close(fd)


@pytest.fixture
def world_of(log: Log, keyring: Keyring) -> Callable[[str], World]:
    """Give the world whose database has this address."""

    def make(dsn: str) -> World:
        return World(
            database_url=Secret(dsn),
            migrate_url=Secret(dsn),
            keyring=keyring,
            connections_max=CONNECTIONS_MAX,
            address_rules=AddressRules(loopback_nodes=True),
            log=LogSettings(fd=log.fd),
        )

    return make


@pytest.fixture
async def real(world_of: Callable[[str], World], bare_dsn: str) -> AsyncIterator[Production]:
    """The real world on a database that was empty before."""
    async with production(world_of(bare_dsn)) as opened:
        await opened.prepare_database()
        yield opened
