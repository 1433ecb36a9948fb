from collections.abc import Callable
from pathlib import Path

import pytest

from ktms.config.address import Address
from ktms.config.command_settings import debugging, read_command_settings, read_migration_url
from ktms.config.secret_file import ReadFile, read_secret_file
from ktms.config.variables import SettingsInvalid

Files = Callable[..., ReadFile]


def test_address_and_key_of_the_admin_plane_are_read_and_the_key_leaves() -> None:
    environ = {"KTMS_ADMIN_ADDR": "gw:9090", "KTMS_ADMIN_KEY": "k", "HOME": "/home/u"}
    settings = read_command_settings(environ, read_secret_file)
    assert settings.admin_addr == Address("gw", 9090)
    assert settings.admin_key is not None
    assert "KTMS_ADMIN_KEY" not in environ


def test_an_admin_key_file_open_to_others_is_refused(files: Files) -> None:
    with pytest.raises(SettingsInvalid, match="KTMS_ADMIN_KEY_FILE: /k is open to others"):
        read_command_settings({"KTMS_ADMIN_KEY_FILE": "/k"}, files(k=("x", 0o644)))


def test_a_wrong_server_setting_is_nobody_s_business_here() -> None:
    environ = {"KTMS_WORKERS": "many", "HOME": "/home/u"}
    assert read_command_settings(environ, read_secret_file).config_home == Path("/home/u/.config/ktms")


def test_the_direct_address_of_the_database_is_preferred() -> None:
    environ = {"KTMS_DATABASE_URL": "postgresql://pooler/x", "KTMS_DATABASE_DIRECT_URL": "postgresql://db/x"}
    url = read_migration_url(environ, read_secret_file)
    assert url is not None
    assert url.reveal() == "postgresql://db/x"


def test_the_ordinary_address_serves_where_there_is_no_direct_one() -> None:
    url = read_migration_url({"KTMS_DATABASE_URL": "postgresql://pooler/x"}, read_secret_file)
    assert url is not None
    assert url.reveal() == "postgresql://pooler/x"


def test_without_any_address_there_is_nothing_to_migrate() -> None:
    assert read_migration_url({}, read_secret_file) is None


@pytest.mark.parametrize(("environ", "asked"), [({}, False), ({"KTMS_LOG_LEVEL": "DEBUG"}, True)])
def test_tracebacks_are_asked_for_by_the_log_level(environ: dict[str, str], asked: bool) -> None:
    assert debugging(environ) is asked
