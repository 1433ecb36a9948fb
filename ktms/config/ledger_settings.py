"""Environment -> settings of the accounting service (`ktms ledger`).

Names that it shares with the gateway mean the same; `KTMS_LEDGER_ADDR` is where it listens.
"""

from collections.abc import MutableMapping
from dataclasses import dataclass

from ktms.config.address import Address
from ktms.config.environment import process_environment
from ktms.config.port_tls import PortTls, read_port_tls
from ktms.config.secret_file import ReadFile, read_secret_file
from ktms.config.settings import DATABASE_POOL_MAX, POSTGRES_SCHEMES, LogFormat, LogLevel
from ktms.config.variables import Variables
from ktms.domain.access.secret import Secret

LEDGER_ADDR = Address("127.0.0.1", 9191)
"""Loopback: without TLS nobody else may reach it."""


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    """What the environment says. `migrate_url` leads to the server itself, `database_url` perhaps to a pooler."""

    database_url: Secret
    migrate_url: Secret
    addr: Address = LEDGER_ADDR
    tls: PortTls | None = None
    allow_plaintext: bool = False
    connections_max: int = DATABASE_POOL_MAX
    log_level: LogLevel = LogLevel.INFO
    log_format: LogFormat = LogFormat.JSON


def read_ledger_settings(environ: MutableMapping[str, str], read_file: ReadFile) -> LedgerSettings:
    """Read the settings and remove the secrets from `environ`.

    Raises:
        SettingsInvalid: with one line per mistake.
    """
    read = Variables(environ, read_file)
    ordinary, direct = (read.url(name, POSTGRES_SCHEMES) for name in ("DATABASE_URL", "DATABASE_DIRECT_URL"))
    if ordinary is None and not read.has_refused("DATABASE_URL"):
        read.refuse("DATABASE_URL", "not set: where is the ledger's Postgres?")
    settings = LedgerSettings(
        database_url=ordinary or Secret(""),
        migrate_url=direct or ordinary or Secret(""),
        addr=read.address("LEDGER_ADDR") or LEDGER_ADDR,
        tls=read_port_tls(read, "LEDGER"),
        allow_plaintext=read.flag("LEDGER_ALLOW_PLAINTEXT"),
        connections_max=read.whole(
            "DATABASE_POOL_MAX", DATABASE_POOL_MAX, low=1, high=DATABASE_POOL_MAX, unit="connections"
        ),
        log_level=read.choice("LOG_LEVEL", LogLevel.INFO),
        log_format=read.choice("LOG_FORMAT", LogFormat.JSON),
    )
    read.done()
    return settings


def ledger_settings_from_environment() -> LedgerSettings:
    """Read the settings of this process.

    Raises:
        SettingsInvalid: with one line per mistake.
    """
    return read_ledger_settings(process_environment(), read_secret_file)
