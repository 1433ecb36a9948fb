from pathlib import Path

import pytest

from ktms.config.address import Address
from ktms.config.ledger_settings import LedgerSettings, read_ledger_settings
from ktms.config.port_tls import PortTls
from ktms.config.secret_file import read_secret_file
from ktms.config.settings import LedgerTls, LogFormat, LogLevel, read_settings
from ktms.config.variables import SettingsInvalid
from ktms.domain.access.secret import Secret

URL = "postgresql://u:p@db/ledger"


def read(**variables: str) -> LedgerSettings:
    return read_ledger_settings({f"KTMS_{name}": value for name, value in variables.items()}, read_secret_file)


def test_a_database_is_enough() -> None:
    settings = read(DATABASE_URL=URL)
    assert settings == LedgerSettings(Secret(URL), Secret(URL))
    assert settings.addr == Address("127.0.0.1", 9191)


def test_every_name_is_read() -> None:
    settings = read(
        DATABASE_URL=URL,
        DATABASE_DIRECT_URL=URL + "2",
        DATABASE_POOL_MAX="7",
        LEDGER_ADDR="0.0.0.0:1",
        LEDGER_TLS_CERT="/cert",
        LEDGER_TLS_KEY="/key",
        LEDGER_TLS_CLIENT_CA="/ca",
        LEDGER_ALLOW_PLAINTEXT="1",
        LOG_LEVEL="debug",
        LOG_FORMAT="console",
    )
    assert settings == LedgerSettings(
        Secret(URL),
        Secret(URL + "2"),
        Address("0.0.0.0", 1),
        PortTls(Path("/cert"), Path("/key"), Path("/ca")),
        allow_plaintext=True,
        connections_max=7,
        log_level=LogLevel.DEBUG,
        log_format=LogFormat.CONSOLE,
    )


def test_secrets_leave_the_environment() -> None:
    environ = {"KTMS_DATABASE_URL": URL}
    read_ledger_settings(environ, read_secret_file)
    assert environ == {}


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        ({}, "KTMS_DATABASE_URL: not set: where is the ledger's Postgres?"),
        (
            {"DATABASE_URL": URL, "LEDGER_TLS_KEY": "/key"},
            "KTMS_LEDGER_TLS_CERT: not set; TLS needs KTMS_LEDGER_TLS_CERT and KTMS_LEDGER_TLS_KEY",
        ),
    ],
    ids=["database", "half"],
)
def test_what_is_missing_is_named(variables: dict[str, str], line: str) -> None:
    with pytest.raises(SettingsInvalid) as invalid:
        read(**variables)
    assert invalid.value.lines == (line,)


def gateway(**variables: str) -> LedgerTls | None:
    environ = {f"KTMS_LEDGER_{name}": value for name, value in variables.items()}
    return read_settings(environ, read_secret_file).ledger_tls


def test_a_gateway_speaks_tls_where_it_has_an_authority_to_trust() -> None:
    assert gateway(ADDR="ledger:1") is None
    assert gateway(TLS_CA="/ca") == LedgerTls(Path("/ca"))
    assert gateway(TLS_CA="/ca", TLS_CERT="/c", TLS_KEY="/k") == LedgerTls(Path("/ca"), Path("/c"), Path("/k"))


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        ({"TLS_CA": "/ca", "TLS_CERT": "/c"}, "KTMS_LEDGER_TLS_KEY: not set; a certificate needs its key"),
        ({"TLS_KEY": "/k"}, "KTMS_LEDGER_TLS_CERT: not set; a certificate needs its key"),
        (
            {"TLS_CERT": "/c", "TLS_KEY": "/k"},
            "KTMS_LEDGER_TLS_CA: not set; whose certificate of the ledger is to be trusted?",
        ),
    ],
    ids=str,
)
def test_half_of_a_gateways_tls_is_refused(variables: dict[str, str], line: str) -> None:
    with pytest.raises(SettingsInvalid) as invalid:
        gateway(**variables)
    assert invalid.value.lines == (line,)


def test_a_database_whose_file_cannot_be_read_is_named_once() -> None:
    with pytest.raises(SettingsInvalid) as failed:
        read(DATABASE_URL_FILE="/none")
    assert [line.partition(":")[0] for line in failed.value.lines] == ["KTMS_DATABASE_URL_FILE"]
