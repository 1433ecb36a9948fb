"""The databases of one stand: made empty, and dropped when it is over.

Names are of this run, so that runs on one server do not meet. Not here: their schemas (`ktms migrate`).
"""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import asyncpg

from chaos.services.service import Postgres

CONNECT_S = 5.0

DROP_S = 10.0
"""A server that was broken and is not back keeps its databases."""


@dataclass(frozen=True, slots=True)
class Databases:
    """Their names: the gateways' own, and the ledger's."""

    gateway: str
    ledger: str


@asynccontextmanager
async def databases(postgres: Postgres) -> AsyncIterator[Databases]:
    """Make them; they are there while the block runs."""
    run = secrets.token_hex(4)
    names = Databases(f"chaos_{run}", f"chaos_{run}_ledger")
    await _administer(postgres, [f'create database "{name}"' for name in (names.gateway, names.ledger)])
    try:
        yield names
    finally:
        drops = [f'drop database if exists "{name}" with (force)' for name in (names.gateway, names.ledger)]
        with suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            await _administer(postgres, drops)


async def _administer(postgres: Postgres, statements: list[str]) -> None:
    connection = await asyncpg.connect(postgres.url("postgres"), timeout=CONNECT_S, command_timeout=DROP_S)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close(timeout=CONNECT_S)
