"""Migrations as they lie on disk: `NNNN_verb_noun.sql`, in order, each with what its head comments say of it.

    -- ktms: outside a transaction      its statements run one by one (CREATE INDEX CONCURRENTLY)
    -- ktms: min_compatible 0007        a gateway that knows no later file than 0006 must not run on this schema

They lie at the top of a checkout and, in a wheel, inside the package. Not here: applying them.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_NAME = re.compile(r"(\d{4})_[a-z]+(?:_[a-z0-9]+)+\.sql")
_MARK = re.compile(r"^-- ktms: (.*)$", re.MULTILINE)
_MIN_COMPATIBLE = re.compile(r"min_compatible (\d{4})")
_OUTSIDE = "outside a transaction"

SHIPPED_INSIDE = "_migrations"
"""Folder of the wheel's package that holds the files (pyproject: force-include)."""


class MigrationFilesBroken(Exception):
    """The files themselves are wrong: a fault of the release, not of the database."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file. `min_compatible`: the lowest number a gateway's newest file may have to work on this schema."""

    number: int
    name: str
    sql: str
    sha256: bytes
    outside: bool
    min_compatible: int

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements of a file outside transactions, which holds no `;` inside of one."""
        bare = re.sub(r"--[^\n]*", "", self.sql)
        return tuple(part.strip() for part in bare.split(";") if part.strip())


def shipped_folder() -> Path:
    """Give the folder with the migrations of this very code."""
    package = Path(__file__).parents[2]
    inside = package / SHIPPED_INSIDE
    return inside if inside.is_dir() else package.parent / "migrations"


def ledger_folder() -> Path:
    """Give the folder with the migrations of the ledger's schema."""
    return shipped_folder() / "ledger"


def read_migrations(folder: Path) -> tuple[Migration, ...]:
    """Read all files, in order.

    Raises:
        MigrationFilesBroken: none there, a wrong name, a gap, a number twice, or an unknown mark.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix == ".sql")
    except OSError as error:
        raise MigrationFilesBroken(f"the migrations in {folder} cannot be read: {error.strerror}") from error
    found = tuple(_read(path) for path in files)
    if not found:
        raise MigrationFilesBroken(f"there are no migrations in {folder}")
    _check_numbers(found)
    return found


def _check_numbers(found: Sequence[Migration]) -> None:
    for wanted, migration in enumerate(found, start=1):
        if migration.number != wanted:
            raise MigrationFilesBroken(f"{migration.name}: number {wanted:04d} was expected here")


def _read(path: Path) -> Migration:
    named = _NAME.fullmatch(path.name)
    if named is None:
        raise MigrationFilesBroken(f"{path.name}: not named NNNN_verb_noun.sql")
    content = path.read_bytes()
    sql = content.decode()
    outside, min_compatible = False, 1
    for mark in _MARK.findall(sql):
        compatible = _MIN_COMPATIBLE.fullmatch(mark)
        if compatible:
            min_compatible = int(compatible[1])
        elif mark == _OUTSIDE:
            outside = True
        else:
            raise MigrationFilesBroken(f"{path.name}: unknown mark {mark!r}")
    return Migration(int(named[1]), path.name, sql, hashlib.sha256(content).digest(), outside, min_compatible)
