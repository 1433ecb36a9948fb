"""Environment -> `Settings` of the server: every name of the public contract, its range and its default.

`read_settings` is a function of its arguments but for one thing: it removes the secrets it read from `environ`.
Not here: the forms of values (`variables.py`), settings of the command line (`command_settings.py`), the
declared catalogue (`gateway_file.py`). `OTEL_…` stays in the environment for the library that owns these names.
"""

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from ktms.config.address import Address
from ktms.config.batch_settings import BatchLimits, read_batch_limits
from ktms.config.environment import process_environment
from ktms.config.port_tls import PortTls, read_port_tls
from ktms.config.secret_file import ReadFile, read_secret_file
from ktms.config.variables import Network, Variables
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import DollarLimitMode

HTTP_ADDR = Address("0.0.0.0", 8080)  # noqa: S104 - the data plane is what clients reach
ADMIN_ADDR = Address("127.0.0.1", 9090)
"""Loopback: without TLS nobody else may reach the admin plane."""

WORKERS = 1
WORKERS_MAX = 25
"""More workers than database connections would leave one of them without any."""

DRAIN_DELAY_S = 5.0
"""A balancer that probes every second with a threshold of three has noticed by then."""

DRAIN_DELAY_MAX_S = 300.0
SHUTDOWN_TIMEOUT_S = 30.0
"""With the delay it stays under the 60 s that charts allow a pod."""

SHUTDOWN_TIMEOUT_MAX_S = 3600.0
REDIS_TIMEOUT_MS = 100
"""What one request pays, once, when Redis hangs."""

REDIS_TIMEOUT_MAX_MS = 5000
KEY_WINDOW_S = 300.0
"""How long a verified key works while Postgres is away; also the longest a revoked key could live."""

KEY_WINDOW_MIN_S = 10.0
"""Keys are verified again every 5 s: a shorter window would refuse good keys after one missed answer."""

KEY_WINDOW_MAX_S = 300.0
DATABASE_POOL_MAX = 25
"""Four replicas fit into the 100 connections Postgres allows by default."""

DATABASE_POOL_MIN = 2
"""One hears news, so that there is one for everything else."""

HOLD_STATUS_S = 10.0
"""Proxies cut a silent connection after 15 to 60 s."""

HOLD_STATUS_MAX_S = 600.0
"""As long as an attempt may take: the status is then held to its end."""

POSTGRES_SCHEMES = ("postgresql", "postgres")
REDIS_SCHEMES = ("redis", "rediss", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel")

COMMAND_NAMES = ("ADMIN_KEY", "ADMIN_KEY_FILE")
"""Read by the command line alone."""

LEDGER_NAMES = ("LEDGER_TLS_CLIENT_CA",)
"""Read by the accounting service alone."""

AGENT_NAMES = ("NODE_KEY", "NODE_KEY_FILE", "GATEWAY_URL", "ENGINE", "NODE_ADDR")
"""Read by the node agent alone, which imports nothing of the gateway."""

CALLER_NAMES = ("CLIENT_KEY", "MODEL", "URL")
"""What callers export to try a gateway, as the README shows; nothing of ours reads them."""


class LogLevel(StrEnum):
    """Least severe level that is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """One JSON object per line for machines, or coloured text for people."""

    JSON = "json"
    CONSOLE = "console"


@dataclass(frozen=True, slots=True)
class LedgerTls:
    """How the accounting service is reached over TLS: whose certificates are trusted, and which one is shown."""

    ca: Path
    cert: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says. None means not set; names are those of the variables without KTMS_."""

    http_addr: Address = HTTP_ADDR
    metrics_addr: Address | None = None
    admin_addr: Address = ADMIN_ADDR
    admin_tls: PortTls | None = None
    admin_allow_plaintext: bool = False
    bootstrap_admin_key: Secret | None = None
    database_url: Secret | None = None
    database_direct_url: Secret | None = None
    database_pool_max: int = DATABASE_POOL_MAX
    redis_url: Secret | None = None
    redis_timeout_ms: int = REDIS_TIMEOUT_MS
    ledger_addr: Address | None = None
    ledger_tls: LedgerTls | None = None
    ledger_allow_plaintext: bool = False
    encryption_keys: Secret | None = None
    snapshot_file: Path | None = None
    spool_dir: Path | None = None
    workers: int = WORKERS
    drain_delay_s: float = DRAIN_DELAY_S
    shutdown_timeout_s: float = SHUTDOWN_TIMEOUT_S
    key_window_s: float = KEY_WINDOW_S
    hold_status_s: float = HOLD_STATUS_S
    dollar_limit_mode: DollarLimitMode = DollarLimitMode.OPEN
    batches: BatchLimits = field(default_factory=BatchLimits)
    log_level: LogLevel = LogLevel.INFO
    log_format: LogFormat = LogFormat.JSON
    node_allowed_cidrs: tuple[Network, ...] | None = None
    unknown_names: tuple[str, ...] = ()  # one line each, for a warning


def read_settings(environ: MutableMapping[str, str], read_file: ReadFile) -> Settings:
    """Read the settings and remove the secrets from `environ`.

    Raises:
        SettingsInvalid: with one line per mistake.
    """
    read = Variables(environ, read_file)
    read.know(*COMMAND_NAMES, *LEDGER_NAMES, *AGENT_NAMES, *CALLER_NAMES)
    settings = Settings(
        http_addr=read.address("HTTP_ADDR") or HTTP_ADDR,
        metrics_addr=read.address("METRICS_ADDR"),
        admin_addr=read.address("ADMIN_ADDR") or ADMIN_ADDR,
        admin_tls=read_port_tls(read, "ADMIN"),
        admin_allow_plaintext=read.flag("ADMIN_ALLOW_PLAINTEXT"),
        bootstrap_admin_key=read.secret("BOOTSTRAP_ADMIN_KEY", private=True),
        database_url=read.url("DATABASE_URL", POSTGRES_SCHEMES),
        database_direct_url=read.url("DATABASE_DIRECT_URL", POSTGRES_SCHEMES),
        database_pool_max=read.whole(
            "DATABASE_POOL_MAX",
            DATABASE_POOL_MAX,
            low=DATABASE_POOL_MIN,
            high=DATABASE_POOL_MAX,
            unit="connections",
        ),
        redis_url=read.url("REDIS_URL", REDIS_SCHEMES),
        redis_timeout_ms=read.whole(
            "REDIS_TIMEOUT_MS", REDIS_TIMEOUT_MS, low=1, high=REDIS_TIMEOUT_MAX_MS, unit="milliseconds"
        ),
        ledger_addr=read.address("LEDGER_ADDR"),
        ledger_tls=_ledger_tls(read),
        ledger_allow_plaintext=read.flag("LEDGER_ALLOW_PLAINTEXT"),
        encryption_keys=read.secret("ENCRYPTION_KEYS", private=True),
        snapshot_file=read.path("SNAPSHOT_FILE"),
        spool_dir=read.path("SPOOL_DIR"),
        workers=read.whole("WORKERS", WORKERS, low=1, high=WORKERS_MAX, unit="workers"),
        drain_delay_s=read.seconds("DRAIN_DELAY_S", DRAIN_DELAY_S, low=0, high=DRAIN_DELAY_MAX_S),
        shutdown_timeout_s=read.seconds(
            "SHUTDOWN_TIMEOUT_S", SHUTDOWN_TIMEOUT_S, low=0, high=SHUTDOWN_TIMEOUT_MAX_S
        ),
        key_window_s=read.seconds("KEY_WINDOW_S", KEY_WINDOW_S, low=KEY_WINDOW_MIN_S, high=KEY_WINDOW_MAX_S),
        hold_status_s=read.seconds("HOLD_STATUS_S", HOLD_STATUS_S, low=0, high=HOLD_STATUS_MAX_S),
        dollar_limit_mode=read.choice("DOLLAR_LIMIT_MODE", DollarLimitMode.OPEN),
        batches=read_batch_limits(read),
        log_level=read.choice("LOG_LEVEL", LogLevel.INFO),
        log_format=read.choice("LOG_FORMAT", LogFormat.JSON),
        node_allowed_cidrs=read.networks("NODE_ALLOWED_CIDRS"),
        unknown_names=read.unknown(),
    )
    read.done()
    return settings


def from_environment() -> Settings:
    """Read the settings of this process.

    Raises:
        SettingsInvalid: with one line per mistake.
    """
    return read_settings(process_environment(), read_secret_file)


def _ledger_tls(read: Variables) -> LedgerTls | None:
    """An authority, and with it a certificate and its key, or neither."""
    ca, cert, key = (read.path(f"LEDGER_TLS_{part}") for part in ("CA", "CERT", "KEY"))
    if (cert is None) != (key is None):
        read.refuse(f"LEDGER_TLS_{'CERT' if cert is None else 'KEY'}", "not set; a certificate needs its key")
    elif cert is not None and ca is None:
        read.refuse("LEDGER_TLS_CA", "not set; whose certificate of the ledger is to be trusted?")
    return None if ca is None else LedgerTls(ca, cert, key)
