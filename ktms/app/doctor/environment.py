"""What the environment alone tells: what is missing, exposed, in plain text, or meant for another day.

Not here: values that cannot be read, which no settings come from (`config/settings.py`).
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from ktms.api.admin_grpc.exposure import Refused, Warned, exposure, is_loopback
from ktms.api.admin_grpc.tls import TlsUnusable, server_credentials
from ktms.app.doctor.finding import Finding, error, fine, warning
from ktms.app.failed import StartFailed
from ktms.app.serve import keyring_of, missing_settings
from ktms.config.settings import LogLevel, Settings
from ktms.domain.access.keyring import Keyring

FILES_MIN = 4096
"""A call under way holds two connections; a thousand of them, and what else is open, fit well below."""

ENVIRONMENT, ADMIN, SPOOL, FILES = "environment", "admin port", "usage", "open files"
SNAPSHOT = "saved snapshot"


def environment_findings(settings: Settings, files_max: int) -> Iterator[Finding]:
    """Look at the settings; `files_max` is how many files a process may open here."""
    lines = [*_lacks(settings), *settings.unknown_names]
    yield from (error(ENVIRONMENT, text) for text in _lacks(settings))
    yield from (warning(ENVIRONMENT, line) for line in settings.unknown_names)
    if not lines:
        yield fine(ENVIRONMENT, "every KTMS_ variable can be read, none is missing")
    if settings.log_level is LogLevel.DEBUG:
        yield warning(ENVIRONMENT, "KTMS_LOG_LEVEL is debug, which writes much", "info is enough in production")
    yield _admin_port(settings)
    if settings.spool_dir is None:
        yield warning(
            SPOOL, "events wait in memory, a process that is killed loses them", "set KTMS_SPOOL_DIR to a folder"
        )
    if settings.snapshot_file is None:
        yield warning(
            SNAPSHOT, "a start while Postgres is away waits for it", "set KTMS_SNAPSHOT_FILE, one file per replica"
        )
    if files_max < FILES_MIN:
        yield warning(FILES, f"a process may open {files_max} files, two for each call", "ulimit -n 65536")


def keyring_or_none(settings: Settings) -> Keyring | None:
    """Give the keyring where there is one."""
    try:
        return None if settings.encryption_keys is None else keyring_of(settings.encryption_keys)
    except StartFailed:
        return None


def is_far(url: str) -> bool:
    """Whether a URL leads to another machine."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return False
    return host is not None and not is_loopback(host)


def _lacks(settings: Settings) -> Iterator[str]:
    """Say what keeps `ktms serve` from starting."""
    yield from missing_settings(settings)
    if settings.workers > 1:
        yield "KTMS_WORKERS: this release runs one worker per process; start several behind a balancer"
    if settings.encryption_keys is not None:
        try:
            keyring_of(settings.encryption_keys)
        except StartFailed as failed:
            yield from failed.lines


def _admin_port(settings: Settings) -> Finding:
    address, tls = settings.admin_addr, settings.admin_tls
    try:
        if tls is not None:
            server_credentials(tls.cert, tls.key, tls.client_ca)
    except TlsUnusable as unusable:
        return error(ADMIN, str(unusable))
    match exposure(address.host, tls=tls is not None, allow_plaintext=settings.admin_allow_plaintext):
        case Refused(reason):
            return error(ADMIN, reason)
        case Warned(reason):
            return warning(ADMIN, reason, "set KTMS_ADMIN_TLS_CERT and KTMS_ADMIN_TLS_KEY")
        case _:
            return fine(ADMIN, f"{address}, {'plain text on this machine alone' if tls is None else 'TLS'}")
