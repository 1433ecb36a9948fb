"""What a look at a Postgres tells before it is used, and why one does not answer, in words for a person.

Not here: what of it is a mistake (`app/doctor`), the schema (`migrate.py`), the keyring (`encryption_state.py`).
"""

import ssl
from dataclasses import dataclass

import asyncpg

from ktms.adapters.postgres.pool import Database
from ktms.ports.catalogue import StoreAway

_FACTS = """
select current_setting('server_version') as version, current_setting('max_connections')::int as connections_max,
    current_setting('transaction_read_only') = 'on' as read_only,
    coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as encrypted,
    extract(epoch from clock_timestamp())::float8 as clock_s
"""

_WORDS: tuple[tuple[type[BaseException], str], ...] = (
    (asyncpg.InvalidAuthorizationSpecificationError, "it refuses this user or password"),
    (asyncpg.InvalidCatalogNameError, "it has no database of this name"),
    (asyncpg.TooManyConnectionsError, "it has no connection left"),
    (asyncpg.CannotConnectNowError, "it is starting or stopping"),
    (ssl.SSLError, "TLS fails"),
    (TimeoutError, "it takes the connection and says nothing, or packets are lost on the way"),
    (ConnectionRefusedError, "nobody listens there"),
    (OSError, "the name is unknown, or there is no way there"),
)
"""The first that fits; a subclass stands before what it is derived from."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """One moment of a server. `encrypted` is about its last connection: a pooler may stand between."""

    version: str
    connections_max: int
    read_only: bool
    encrypted: bool
    clock_s: float


async def read_facts(database: Database) -> ServerFacts:
    """Look once.

    Raises:
        StoreAway: the database did not answer in time; `why_away` says why.
    """
    async with database.session("server_facts") as connection:
        row = await connection.fetchrow(_FACTS)
    return ServerFacts(**dict(row))


def why_away(away: StoreAway) -> str:
    """Say in words why a database does not answer; never a part of its address."""
    cause = away.__cause__
    found = (words for kind, words in _WORDS if isinstance(cause, kind))
    return next(found, "it does not answer as it should" if cause is None else type(cause).__name__)
