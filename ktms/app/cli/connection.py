"""Which gateway a command talks to, and with which key: flag, then environment, then `config.toml`.

A key never stands on a command line, where every process of the machine could read it: flags name files.
Not here: the calls (`admin_client.py`).
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
import grpc

from ktms.adapters.files.private_file import PrivateFileUnusable, read_private
from ktms.adapters.files.user_config import FILE_NAME, UserConfig, read_user_config
from ktms.api.admin_grpc.exposure import Refused, Warned, exposure
from ktms.app.cli.admin_client import AdminClient
from ktms.app.cli.failed import CommandFailed
from ktms.app.cli.screen import say
from ktms.config.address import Address, read_address
from ktms.config.command_settings import CommandSettings, command_settings_from_environment
from ktms.config.settings import ADMIN_ADDR
from ktms.config.variables import SettingsInvalid
from ktms.domain.access.key_form import KeyKind, read_key
from ktms.domain.access.secret import Secret

ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what a server listens on is not dialled
"""Where to dial a server that listens everywhere: in a container both read the same variable."""


@dataclass(frozen=True, slots=True)
class AdminFlags:
    """What the command line said."""

    addr: str | None
    key_file: Path | None
    tls: bool
    ca: Path | None
    plaintext: bool


def with_admin(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of the admin connection and an open `AdminClient` as its first argument."""

    @click.option("--admin-addr", metavar="HOST:PORT", help="Admin address [env KTMS_ADMIN_ADDR].")
    @click.option(
        "--admin-key-file",
        type=click.Path(path_type=Path),
        help="File with the admin key, mode 0600 [env KTMS_ADMIN_KEY, KTMS_ADMIN_KEY_FILE].",
    )
    @click.option("--admin-tls", is_flag=True, help="Speak TLS, trusting the system's authorities.")
    @click.option("--admin-ca", type=click.Path(path_type=Path), help="Speak TLS, trusting this authority.")
    @click.option("--admin-plaintext", is_flag=True, help="Accept plain text to another machine.")
    @functools.wraps(function)
    def command(
        *args: object,
        admin_addr: str | None,
        admin_key_file: Path | None,
        admin_tls: bool,
        admin_ca: Path | None,
        admin_plaintext: bool,
        **kwargs: object,
    ) -> None:
        flags = AdminFlags(admin_addr, admin_key_file, admin_tls, admin_ca, admin_plaintext)
        with open_admin(flags) as admin:
            function(admin, *args, **kwargs)

    return command


def open_admin(flags: AdminFlags) -> AdminClient:
    """Open a connection.

    Raises:
        CommandFailed: no usable address or key, or plain text where it is not allowed.
    """
    settings = _settings()
    config = _user_config(settings.config_home / FILE_NAME)
    address = _address(flags, settings, config)
    ca = flags.ca or config.admin_ca
    tls = flags.tls or config.admin_tls or ca is not None
    allowed = flags.plaintext or settings.admin_allow_plaintext or config.admin_plaintext
    _check_exposure(address, tls=tls, allowed=allowed)
    key = _key(flags, settings, config)
    return AdminClient(str(address), key, _credentials(ca) if tls else None)


def _settings() -> CommandSettings:
    try:
        return command_settings_from_environment()
    except SettingsInvalid as error:
        raise CommandFailed(*error.lines) from error


def _user_config(path: Path) -> UserConfig:
    try:
        return read_user_config(path)
    except PrivateFileUnusable as error:
        raise CommandFailed(str(error)) from error


def _address(flags: AdminFlags, settings: CommandSettings, config: UserConfig) -> Address:
    if flags.addr is not None:
        found = _read("--admin-addr", flags.addr)
    elif settings.admin_addr is not None:
        found = settings.admin_addr
    elif config.admin_addr is not None:
        found = _read("admin.addr in config.toml", config.admin_addr)
    else:
        found = ADMIN_ADDR
    return Address(ANY_ADDRESS.get(found.host, found.host), found.port)


def _read(name: str, text: str) -> Address:
    address = read_address(text)
    if address is None:
        raise CommandFailed(f"{name}: expected host:port, such as 127.0.0.1:9090")
    return address


def _check_exposure(address: Address, *, tls: bool, allowed: bool) -> None:
    match exposure(address.host, tls=tls, allow_plaintext=allowed):
        case Refused():
            raise CommandFailed(
                f"the admin key would travel to {address} in plain text: use --admin-tls or --admin-ca, "
                "or accept the risk with --admin-plaintext"
            )
        case Warned(reason):
            say(f"warning: {reason}", "yellow")
        case _:
            pass


def _key(flags: AdminFlags, settings: CommandSettings, config: UserConfig) -> Secret:
    key = _key_of(flags.key_file) if flags.key_file is not None else settings.admin_key or config.admin_key
    if key is None:
        raise CommandFailed(
            "no admin key: set KTMS_ADMIN_KEY or KTMS_ADMIN_KEY_FILE, use --admin-key-file, "
            f"or write it to {settings.config_home / FILE_NAME}"
        )
    text = read_key(key.reveal())
    if text is None:
        raise CommandFailed("the admin key is not complete: expected ktms_adm_… with a right checksum")
    if text.kind is not KeyKind.ADMIN:
        raise CommandFailed(f"this is no admin key but a key that begins with {text.kind.value}_")
    return key


def _key_of(path: Path) -> Secret:
    try:
        text = read_private(path)
    except PrivateFileUnusable as error:
        raise CommandFailed(f"--admin-key-file: {error}") from error
    if text is None:
        raise CommandFailed(f"--admin-key-file: there is no file {path}")
    return Secret(text.strip())


def _credentials(ca: Path | None) -> grpc.ChannelCredentials:
    if ca is None:
        return grpc.ssl_channel_credentials()
    try:
        return grpc.ssl_channel_credentials(root_certificates=ca.read_bytes())
    except OSError as error:
        raise CommandFailed(f"--admin-ca: cannot read {ca}: {error.strerror or error}") from error
