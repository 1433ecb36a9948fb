"""The command `ktms ledger`; what it runs is tested in tests/ledger and, as a process, in tests/e2e."""

from click.testing import CliRunner, Result

from ktms.app.cli.root import ktms

NAMES = ("DATABASE_URL", "DATABASE_DIRECT_URL", "LEDGER_ADDR", "LEDGER_TLS_CERT", "LEDGER_TLS_KEY", "LOG_LEVEL")


def ledger(**variables: str) -> Result:
    env = {f"KTMS_{name}": variables.get(name) for name in NAMES}
    return CliRunner().invoke(ktms, ["ledger"], env=env)


def test_without_a_database_it_says_what_is_missing() -> None:
    result = ledger()
    assert (result.exit_code, result.stderr) == (
        1,
        "ktms: KTMS_DATABASE_URL: not set: where is the ledger's Postgres?\n",
    )


def test_an_address_that_is_exposed_is_refused_in_one_line() -> None:
    result = ledger(DATABASE_URL="postgres://nobody@127.0.0.1:1/none", LEDGER_ADDR="0.0.0.0:0")
    assert result.exit_code == 1
    assert "KTMS_LEDGER_ALLOW_PLAINTEXT=1" in result.stderr
