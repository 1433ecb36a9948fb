from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path

import pytest

from ktms.config.address import Address
from ktms.config.port_tls import PortTls
from ktms.config.secret_file import ReadFile, read_secret_file
from ktms.config.settings import LedgerTls, LogFormat, LogLevel, Settings, read_settings
from ktms.config.variables import SettingsInvalid
from ktms.domain.catalogue import DollarLimitMode

Files = Callable[..., ReadFile]


def mistakes(environ: dict[str, str], read_file: ReadFile = read_secret_file) -> list[str]:
    with pytest.raises(SettingsInvalid) as invalid:
        read_settings(environ, read_file)
    return list(invalid.value.lines)


def test_an_empty_environment_gives_the_defaults() -> None:
    assert read_settings({}, read_secret_file) == Settings()


def test_the_defaults_are_the_documented_ones() -> None:
    settings = Settings()
    assert settings.http_addr == Address("0.0.0.0", 8080)
    assert settings.admin_addr == Address("127.0.0.1", 9090)
    assert (settings.drain_delay_s, settings.shutdown_timeout_s, settings.redis_timeout_ms) == (5, 30, 100)
    assert (settings.key_window_s, settings.database_pool_max, settings.hold_status_s) == (300, 25, 10)
    assert settings.dollar_limit_mode is DollarLimitMode.OPEN


def test_every_name_is_read() -> None:
    environ = {
        "KTMS_HTTP_ADDR": "127.0.0.1:1",
        "KTMS_METRICS_ADDR": "127.0.0.1:2",
        "KTMS_ADMIN_ADDR": "127.0.0.1:3",
        "KTMS_ADMIN_TLS_CERT": "/tls/cert",
        "KTMS_ADMIN_TLS_KEY": "/tls/key",
        "KTMS_ADMIN_TLS_CLIENT_CA": "/tls/ca",
        "KTMS_ADMIN_ALLOW_PLAINTEXT": "1",
        "KTMS_BOOTSTRAP_ADMIN_KEY": "first",
        "KTMS_DATABASE_URL": "postgresql://u:p@db/ktms",
        "KTMS_DATABASE_DIRECT_URL": "postgres://u:p@db/ktms",
        "KTMS_DATABASE_POOL_MAX": "7",
        "KTMS_REDIS_URL": "rediss://r:6379/0",
        "KTMS_REDIS_TIMEOUT_MS": "50",
        "KTMS_LEDGER_ADDR": "ledger:4",
        "KTMS_LEDGER_TLS_CA": "/tls/ledger-ca",
        "KTMS_LEDGER_TLS_CERT": "/tls/cert",
        "KTMS_LEDGER_TLS_KEY": "/tls/key",
        "KTMS_LEDGER_ALLOW_PLAINTEXT": "1",
        "KTMS_FILE_MAX_MB": "20",
        "KTMS_FILES_PER_KEY_MB": "300",
        "KTMS_BATCH_LINES_MAX": "4",
        "KTMS_BATCH_KEEP_DAYS": "3",
        "KTMS_ENCRYPTION_KEYS": "a:b",
        "KTMS_SNAPSHOT_FILE": "/var/snapshot",
        "KTMS_SPOOL_DIR": "/var/spool",
        "KTMS_WORKERS": "2",
        "KTMS_DRAIN_DELAY_S": "0.5",
        "KTMS_SHUTDOWN_TIMEOUT_S": "60",
        "KTMS_KEY_WINDOW_S": "120",
        "KTMS_HOLD_STATUS_S": "0",
        "KTMS_DOLLAR_LIMIT_MODE": "Closed",
        "KTMS_LOG_LEVEL": "debug",
        "KTMS_LOG_FORMAT": "console",
        "KTMS_NODE_ALLOWED_CIDRS": "10.0.0.0/8, fd00::/8",
    }
    settings = read_settings(dict(environ), read_secret_file)
    defaults = Settings()
    assert settings.admin_tls == PortTls(Path("/tls/cert"), Path("/tls/key"), Path("/tls/ca"))
    assert settings.node_allowed_cidrs == (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))
    assert settings.ledger_addr == Address("ledger", 4)
    assert settings.ledger_tls == LedgerTls(Path("/tls/ledger-ca"), Path("/tls/cert"), Path("/tls/key"))
    assert (settings.log_level, settings.log_format) == (LogLevel.DEBUG, LogFormat.CONSOLE)
    same = [name for name in Settings.__dataclass_fields__ if getattr(settings, name) == getattr(defaults, name)]
    assert same == ["unknown_names"]


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("DRAIN_DELAY_S", "abc", "KTMS_DRAIN_DELAY_S: expected seconds between 0 and 300, got 'abc'"),
        ("DRAIN_DELAY_S", "nan", "KTMS_DRAIN_DELAY_S: expected seconds between 0 and 300, got 'nan'"),
        ("DRAIN_DELAY_S", "1_0", "KTMS_DRAIN_DELAY_S: expected seconds between 0 and 300, got '1_0'"),
        ("DRAIN_DELAY_S", "-1", "KTMS_DRAIN_DELAY_S: expected seconds between 0 and 300, got '-1'"),
        ("KEY_WINDOW_S", "301", "KTMS_KEY_WINDOW_S: expected seconds between 10 and 300, got '301'"),
        ("WORKERS", "0", "KTMS_WORKERS: expected workers between 1 and 25, got '0'"),
        ("WORKERS", "2.5", "KTMS_WORKERS: expected workers between 1 and 25, got '2.5'"),
        ("WORKERS", "9" * 5000, f"KTMS_WORKERS: expected workers between 1 and 25, got '{'9' * 60}…'"),
        ("DATABASE_POOL_MAX", "26", "KTMS_DATABASE_POOL_MAX: expected connections between 2 and 25, got '26'"),
        ("REDIS_TIMEOUT_MS", "x", "KTMS_REDIS_TIMEOUT_MS: expected milliseconds between 1 and 5000, got 'x'"),
        ("HTTP_ADDR", "8080", "KTMS_HTTP_ADDR: expected host:port, such as 127.0.0.1:9090, got '8080'"),
        ("LOG_LEVEL", "loud", "KTMS_LOG_LEVEL: expected one of debug, info, warning, error, got 'loud'"),
        ("DOLLAR_LIMIT_MODE", "shut", "KTMS_DOLLAR_LIMIT_MODE: expected one of open, closed, got 'shut'"),
        ("ADMIN_ALLOW_PLAINTEXT", "maybe", "KTMS_ADMIN_ALLOW_PLAINTEXT: expected 1 or 0, got 'maybe'"),
        ("NODE_ALLOWED_CIDRS", "10.0.0.1/8",
         "KTMS_NODE_ALLOWED_CIDRS: expected ranges such as 10.0.0.0/8,fd00::/8, got '10.0.0.1/8'"),
        ("ADMIN_TLS_CERT", "/c",
         "KTMS_ADMIN_TLS_KEY: not set; TLS needs KTMS_ADMIN_TLS_CERT and KTMS_ADMIN_TLS_KEY"),
        ("LEDGER_TLS_KEY", "/c", "KTMS_LEDGER_TLS_CERT: not set; a certificate needs its key"),
        ("FILE_MAX_MB", "0", "KTMS_FILE_MAX_MB: expected megabytes between 1 and 2000, got '0'"),
        ("ADMIN_TLS_CLIENT_CA", "/c",
         "KTMS_ADMIN_TLS_CERT: not set; TLS needs KTMS_ADMIN_TLS_CERT and KTMS_ADMIN_TLS_KEY"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_the_name_and_what_was_expected(name: str, value: str, line: str) -> None:
    assert mistakes({f"KTMS_{name}": value}) == [line]


def test_all_mistakes_are_shown_at_once() -> None:
    assert len(mistakes({"KTMS_WORKERS": "x", "KTMS_HTTP_ADDR": "x", "KTMS_LOG_FORMAT": "x"})) == 3


def test_an_empty_value_counts_as_not_set() -> None:
    assert read_settings({"KTMS_WORKERS": "", "KTMS_REDIS_URL": ""}, read_secret_file) == Settings()


def test_secrets_leave_the_environment_and_other_settings_stay() -> None:
    environ = {
        "KTMS_DATABASE_URL": "postgresql://u:p@db/x",
        "KTMS_ENCRYPTION_KEYS": "a:b",
        "KTMS_BOOTSTRAP_ADMIN_KEY": "k",
        "KTMS_REDIS_URL": "redis://:p@r/0",
        "KTMS_WORKERS": "2",
        "PATH": "/bin",
    }
    read_settings(environ, read_secret_file)
    assert environ == {"KTMS_WORKERS": "2", "PATH": "/bin"}


def test_secrets_leave_the_environment_even_when_it_is_refused() -> None:
    environ = {"KTMS_ENCRYPTION_KEYS": "canary", "KTMS_WORKERS": "x"}
    mistakes(environ)
    assert "KTMS_ENCRYPTION_KEYS" not in environ


def test_no_secret_is_in_the_settings_as_they_print() -> None:
    environ = {"KTMS_DATABASE_URL": "postgresql://u:canary@db/x", "KTMS_ENCRYPTION_KEYS": "canary"}
    assert "canary" not in repr(read_settings(environ, read_secret_file))


def test_a_wrong_url_is_refused_without_being_shown() -> None:
    lines = mistakes({"KTMS_DATABASE_URL": "mysql://u:canary@db/x", "KTMS_REDIS_URL": "canary"})
    assert lines[0] == "KTMS_DATABASE_URL: expected a URL that begins with postgresql:// or postgres://"
    assert "canary" not in "".join(lines)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:canary@db:99999/x",
        "postgresql://u:canary@db:0/x",
        "postgresql://u:canary@one:5432,two:canary/x",
        "postgresql://u:can/ary@db/x",
        "postgresql://u:canary@db/x\n127.0.0.1",
        "postgresql://u:canary@d b/x",
    ],
)
def test_a_url_that_no_driver_can_read_is_refused_without_being_shown(url: str) -> None:
    [line] = mistakes({"KTMS_DATABASE_URL": url})
    assert line.startswith("KTMS_DATABASE_URL: expected hosts with ports between 1 and 65535")
    assert "canary" not in line


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:p@ss@db:5432/x",
        "postgresql://one:5432,two:5433/x",
        "postgresql://[::1]:5432/x",
        "postgresql:///x?host=/run/postgresql",
        "postgresql://u:p@[::1]/x",
    ],
)
def test_a_url_with_sound_hosts_is_taken(url: str) -> None:
    settings = read_settings({"KTMS_DATABASE_URL": url}, read_secret_file)
    assert settings.database_url is not None
    assert settings.database_url.reveal() == url


def test_a_secret_is_read_from_its_file(files: Files) -> None:
    read = files(keys=("a:b", 0o600))
    settings = read_settings({"KTMS_ENCRYPTION_KEYS_FILE": "/run/keys"}, read)
    assert settings.encryption_keys is not None
    assert settings.encryption_keys.reveal() == "a:b"


def test_a_secret_given_both_ways_is_refused(files: Files) -> None:
    environ = {"KTMS_ENCRYPTION_KEYS": "canary", "KTMS_ENCRYPTION_KEYS_FILE": "/run/keys"}
    line = "KTMS_ENCRYPTION_KEYS: set either it or KTMS_ENCRYPTION_KEYS_FILE, not both"
    assert mistakes(environ, files(keys=("a:b", 0o600))) == [line]


def test_a_key_file_open_to_others_is_refused_with_the_remedy(files: Files) -> None:
    lines = mistakes({"KTMS_ENCRYPTION_KEYS_FILE": "/run/keys"}, files(keys=("a:b", 0o640)))
    assert lines == [
        "KTMS_ENCRYPTION_KEYS_FILE: /run/keys is open to others (mode 0640); run: chmod 600 /run/keys"
    ]


def test_the_file_of_a_database_address_may_be_readable_by_a_group(files: Files) -> None:
    read = files(url=("postgresql://db/x", 0o440))
    assert read_settings({"KTMS_DATABASE_URL_FILE": "/run/url"}, read).database_url is not None


def test_a_missing_and_an_empty_secret_file_are_told(files: Files) -> None:
    lines = mistakes(
        {"KTMS_REDIS_URL_FILE": "/run/gone", "KTMS_ENCRYPTION_KEYS_FILE": "/run/none"}, files(none=("", 0o600))
    )
    assert lines == [
        "KTMS_REDIS_URL_FILE: cannot read /run/gone: No such file or directory",
        "KTMS_ENCRYPTION_KEYS_FILE: /run/none is empty",
    ]


def test_a_name_nobody_reads_is_told_with_the_nearest_one_and_refuses_nothing() -> None:
    settings = read_settings(
        {"KTMS_DRAIN_DELAY": "3", "KTMS_PORT": "tcp://10.0.0.1", "HOME": "/"}, read_secret_file
    )
    assert settings.unknown_names == (
        "KTMS_DRAIN_DELAY: not a setting (did you mean KTMS_DRAIN_DELAY_S?)",
        "KTMS_PORT: not a setting",
    )


def test_what_the_readme_has_callers_export_is_no_mistake() -> None:
    environ = {"KTMS_CLIENT_KEY": "x", "KTMS_URL": "http://127.0.0.1:8080/v1", "KTMS_MODEL": "demo"}
    assert read_settings(environ, read_secret_file).unknown_names == ()


def test_names_of_the_command_line_and_of_the_agent_are_known() -> None:
    environ = {"KTMS_ADMIN_KEY": "x", "KTMS_NODE_KEY_FILE": "x", "KTMS_GATEWAY_URL": "x", "KTMS_ENGINE": "x"}
    assert read_settings(environ, read_secret_file).unknown_names == ()
