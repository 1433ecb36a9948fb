"""The command `ktms doctor`; what it finds is tested in tests/app/doctor."""

import asyncio
import json

from click.testing import CliRunner, Result

from ktms.app.cli.root import ktms
from ktms.config.environment import process_environment

ANY_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
NAMES = ("DATABASE_URL", "DATABASE_DIRECT_URL", "ENCRYPTION_KEYS", "REDIS_URL", "LEDGER_ADDR", "ADMIN_ADDR")


def doctor(*args: str, **variables: str) -> Result:
    inherited = [name for name in process_environment() if name.startswith("KTMS_")]
    env = dict.fromkeys(inherited) | {f"KTMS_{name}": variables.get(name) for name in NAMES}
    return CliRunner().invoke(ktms, ["doctor", *args], env=env)


def test_each_finding_is_a_line_and_errors_end_with_1() -> None:
    result = doctor()
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0].startswith("error    environment        KTMS_DATABASE_URL is not set")
    assert result.stderr == "2 errors, 3 warnings.\n"


def test_a_setting_that_cannot_be_read_is_the_only_finding() -> None:
    result = doctor(ADMIN_ADDR="9090")
    assert result.exit_code == 1
    assert result.stdout == (
        "error    environment        KTMS_ADMIN_ADDR: expected host:port, such as 127.0.0.1:9090, got '9090'\n"
    )


def test_a_program_is_given_json() -> None:
    result = doctor("--json")
    first = json.loads(result.stdout)[0]
    assert (first["verdict"], first["subject"], first["remedy"]) == ("error", "environment", "")


async def test_a_database_that_is_fit_ends_with_0(bare_dsn: str) -> None:
    result = await asyncio.to_thread(doctor, DATABASE_URL=bare_dsn, ENCRYPTION_KEYS=f"key-1:{ANY_KEY}")
    assert result.exit_code == 0, result.stdout
    assert "warning  schema" in result.stdout
