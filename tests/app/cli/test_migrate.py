import asyncio
import json

import asyncpg
import pytest
from click.testing import CliRunner, Result

from ktms.app.cli.migrate import ProgressLines
from ktms.app.cli.root import ktms


def migrate(*args: str, **environment: str) -> Result:
    env: dict[str, str | None] = {"KTMS_DATABASE_URL": None, "KTMS_DATABASE_DIRECT_URL": None, **environment}
    return CliRunner().invoke(ktms, ["migrate", *args], env=env)


def test_without_an_address_the_variables_are_named() -> None:
    result = migrate()
    assert result.exit_code == 1
    assert "set KTMS_DATABASE_URL or KTMS_DATABASE_DIRECT_URL" in result.stderr


def test_a_wrong_address_is_refused_without_being_shown() -> None:
    result = migrate(KTMS_DATABASE_URL="mysql://u:canary@h/x")
    assert result.exit_code == 1
    assert "KTMS_DATABASE_URL: expected a URL that begins with postgresql://" in result.stderr
    assert "canary" not in result.output


def test_a_database_that_does_not_answer_is_told_without_its_address() -> None:
    result = migrate("--check", KTMS_DATABASE_URL="postgresql://u:canary@127.0.0.1:1/x")
    assert result.exit_code == 1
    assert result.stderr == "ktms: the database does not answer: nobody listens there\n"
    assert "canary" not in result.output


def test_progress_is_said_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressLines().event("info", "migration_begins", file="0001_create_foundation.sql")
    assert capsys.readouterr().err == "migration begins file=0001_create_foundation.sql\n"


async def test_a_database_is_brought_up_to_date_and_then_is(bare_dsn: str) -> None:
    before = await asyncio.to_thread(migrate, "--check", "--json", KTMS_DATABASE_URL=bare_dsn)
    applied = await asyncio.to_thread(migrate, "--json", KTMS_DATABASE_URL=bare_dsn)
    after = await asyncio.to_thread(migrate, "--check", KTMS_DATABASE_URL=bare_dsn)
    assert (before.exit_code, applied.exit_code, after.exit_code) == (1, 0, 0)
    assert json.loads(before.stdout)["missing"] == json.loads(applied.stdout)["applied"]
    assert after.stderr == "The schema is up to date.\n"


async def test_what_is_missing_is_named(bare_dsn: str) -> None:
    result = await asyncio.to_thread(migrate, "--check", KTMS_DATABASE_URL=bare_dsn)
    assert result.stderr.startswith("missing: 0001_")


async def test_a_database_of_another_release_is_refused_with_what_to_do(bare_dsn: str) -> None:
    await asyncio.to_thread(migrate, KTMS_DATABASE_URL=bare_dsn)
    connection = await asyncpg.connect(bare_dsn)
    await connection.execute("update ktms_migration set sha256 = 'x' where number = 1")
    await connection.close()
    result = await asyncio.to_thread(migrate, "--check", KTMS_DATABASE_URL=bare_dsn)
    assert result.exit_code == 1
    assert "was applied with another content" in result.stderr
