from dataclasses import replace
from pathlib import Path

import pytest

from ktms.app.doctor.environment import FILES_MIN, environment_findings, is_far, keyring_or_none
from ktms.app.doctor.finding import Finding, Verdict
from ktms.config.address import Address
from ktms.config.port_tls import PortTls
from ktms.config.settings import LogLevel, Settings
from ktms.domain.access.secret import Secret

CANARY = "canary"
ANY_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
SOUND = Settings(
    database_url=Secret("postgresql://u@127.0.0.1/x"),
    encryption_keys=Secret(f"key-1:{ANY_KEY}"),
    spool_dir=Path("spool"),
    snapshot_file=Path("snapshot"),
)


def found(settings: Settings, files_max: int = FILES_MIN) -> list[Finding]:
    return list(environment_findings(settings, files_max))


def bad(settings: Settings, files_max: int = FILES_MIN) -> list[tuple[Verdict, str]]:
    findings = found(settings, files_max)
    return [(each.verdict, each.text) for each in findings if each.verdict is not Verdict.OK]


def test_settings_that_lack_nothing_are_fine() -> None:
    assert [(each.verdict, each.subject) for each in found(SOUND)] == [
        (Verdict.OK, "environment"),
        (Verdict.OK, "admin port"),
    ]


def test_what_serve_would_refuse_is_an_error_each() -> None:
    findings = bad(Settings(workers=2, spool_dir=Path("spool"), snapshot_file=Path("snapshot")))
    assert [verdict for verdict, _ in findings] == [Verdict.ERROR] * 3
    assert [text.split()[0].rstrip(":") for _, text in findings] == [
        "KTMS_DATABASE_URL",
        "KTMS_ENCRYPTION_KEYS",
        "KTMS_WORKERS",
    ]


def test_a_keyring_that_is_none_is_told_without_its_text() -> None:
    [(verdict, text)] = bad(replace(SOUND, encryption_keys=Secret(CANARY)))
    assert verdict is Verdict.ERROR
    assert text.startswith("KTMS_ENCRYPTION_KEYS: key 1")
    assert CANARY not in text


def test_a_setting_that_nobody_reads_is_a_warning() -> None:
    assert bad(replace(SOUND, unknown_names=("KTMS_FOO: not a setting",))) == [
        (Verdict.WARNING, "KTMS_FOO: not a setting")
    ]


def test_without_a_file_for_the_snapshot_a_start_without_postgres_waits() -> None:
    assert bad(replace(SOUND, snapshot_file=None)) == [
        (Verdict.WARNING, "a start while Postgres is away waits for it")
    ]


def test_debug_logging_events_in_memory_and_few_files_are_warnings() -> None:
    findings = bad(replace(SOUND, log_level=LogLevel.DEBUG, spool_dir=None), files_max=1024)
    assert [verdict for verdict, _ in findings] == [Verdict.WARNING] * 3


@pytest.mark.parametrize(("allowed", "verdict"), [(False, Verdict.ERROR), (True, Verdict.WARNING)])
def test_an_admin_port_that_is_exposed_in_plain_text_is_told(allowed: bool, verdict: Verdict) -> None:
    exposed = replace(SOUND, admin_addr=Address("10.0.0.7", 9090), admin_allow_plaintext=allowed)
    assert [each for each, _ in bad(exposed)] == [verdict]


def test_a_certificate_that_is_not_there_is_named() -> None:
    tls = PortTls(Path("/none/cert"), Path("/none/key"))
    [(verdict, text)] = bad(replace(SOUND, admin_tls=tls))
    assert (verdict, text[:17]) == (Verdict.ERROR, "cannot read /none")


def test_a_keyring_is_given_where_it_can_be_read() -> None:
    unreadable = replace(SOUND, encryption_keys=Secret("x"))
    assert keyring_or_none(Settings()) is keyring_or_none(unreadable) is None
    assert keyring_or_none(SOUND) is not None


@pytest.mark.parametrize(
    ("url", "far"),
    [
        ("postgresql://u:p@db.example.com/x", True),
        ("redis://[::1]:6379/0", False),
        ("postgresql:///x?host=/run/postgresql", False),
        ("redis://[::1", False),
    ],
)
def test_an_address_on_another_machine_is_known(url: str, far: bool) -> None:
    assert is_far(url) is far
