"""What every migration file must keep, beyond running."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ktms.adapters.postgres.migration_files import Migration, read_migrations, shipped_folder

FILES = read_migrations(shipped_folder())

FORBIDDEN = re.compile(
    r"\b(drop|truncate|delete\s+from|update\s+\w+\s+set|rename|alter\s+column|set\s+not\s+null|do\s+\$|grant|revoke)\b",
    re.IGNORECASE,
)
"""Not additive: an older gateway still runs on the schema. A linter lets several of these through."""


def bare(migration: Migration) -> str:
    """The statements without comments."""
    return re.sub(r"--[^\n]*", "", migration.sql)


@pytest.mark.parametrize("migration", FILES, ids=lambda migration: migration.name)
def test_a_file_only_adds(migration: Migration) -> None:
    assert not FORBIDDEN.findall(bare(migration))


@pytest.mark.parametrize("migration", FILES, ids=lambda migration: migration.name)
def test_a_file_says_in_its_head_what_it_is_for(migration: Migration) -> None:
    first = next(line for line in migration.sql.splitlines() if not line.startswith(("-- ktms:", "-- squawk")))
    assert first.startswith("-- ")


@pytest.mark.parametrize("migration", FILES, ids=lambda migration: migration.name)
def test_indexes_on_older_tables_are_built_concurrently_and_outside(migration: Migration) -> None:
    made_here = set(re.findall(r"create table (\w+)", bare(migration)))
    for concurrently, table in re.findall(
        r"create (?:unique )?index (concurrently )?(?:if not exists )?\w+ on (\w+)", bare(migration)
    ):
        assert table in made_here or (concurrently and migration.outside)


@pytest.mark.parametrize("migration", FILES, ids=lambda migration: migration.name)
def test_whatever_may_not_run_in_a_transaction_is_marked(migration: Migration) -> None:
    assert ("concurrently" in bare(migration)) == migration.outside


def test_the_linter_has_no_complaint() -> None:
    linter = shutil.which("squawk", path=str(Path(sys.executable).parent))
    assert linter, "squawk-cli is a development dependency"
    done = subprocess.run(
        [linter, *map(str, sorted(shipped_folder().glob("*.sql")))], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout.decode()
