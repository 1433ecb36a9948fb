"""Environment -> settings of the command line: where the admin plane is, which key opens it, where files lie.

Each command reads only what it needs: a wrong server variable never keeps an operator from `ktms export`.
Not here: the user's configuration file (`adapters/files/user_config.py`), flags (`app/cli`).
"""

from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path

from ktms.config.address import Address
from ktms.config.environment import process_environment
from ktms.config.places import config_home
from ktms.config.secret_file import ReadFile, read_secret_file
from ktms.config.settings import POSTGRES_SCHEMES, LogLevel
from ktms.config.variables import Variables
from ktms.domain.access.secret import Secret


@dataclass(frozen=True, slots=True)
class CommandSettings:
    """What commands take from the environment. `config_home` follows the XDG rules."""

    config_home: Path
    admin_addr: Address | None = None
    admin_key: Secret | None = None
    admin_allow_plaintext: bool = False
    log_level: LogLevel = LogLevel.INFO


def read_command_settings(environ: MutableMapping[str, str], read_file: ReadFile) -> CommandSettings:
    """Read the settings of a command that talks to the admin plane; the key leaves `environ`.

    Raises:
        SettingsInvalid: with one line per mistake.
    """
    read = Variables(environ, read_file)
    settings = CommandSettings(
        config_home=config_home(environ),
        admin_addr=read.address("ADMIN_ADDR"),
        admin_key=read.secret("ADMIN_KEY", private=True),
        admin_allow_plaintext=read.flag("ADMIN_ALLOW_PLAINTEXT"),
        log_level=read.choice("LOG_LEVEL", LogLevel.INFO),
    )
    read.done()
    return settings


def read_migration_url(environ: MutableMapping[str, str], read_file: ReadFile) -> Secret | None:
    """Read where to migrate: the direct address, which no pooler stands in front of, else the ordinary one.

    Raises:
        SettingsInvalid: with one line per mistake.
    """
    read = Variables(environ, read_file)
    ordinary, direct = (read.url(name, POSTGRES_SCHEMES) for name in ("DATABASE_URL", "DATABASE_DIRECT_URL"))
    read.done()
    return direct or ordinary


def debugging(environ: MutableMapping[str, str]) -> bool:
    """Whether whoever runs a command asked for tracebacks."""
    return environ.get("KTMS_LOG_LEVEL", "").lower() == LogLevel.DEBUG


def command_settings_from_environment() -> CommandSettings:
    """Read the settings of a command of this process.

    Raises:
        SettingsInvalid: with one line per mistake.
    """
    return read_command_settings(process_environment(), read_secret_file)


def migration_url_from_environment() -> Secret | None:
    """Read where this process should migrate.

    Raises:
        SettingsInvalid: with one line per mistake.
    """
    return read_migration_url(process_environment(), read_secret_file)
