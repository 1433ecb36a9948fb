from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from ktms.adapters.files.private_file import PrivateFileUnusable, write_private
from ktms.adapters.files.user_config import UserConfig, read_user_config, write_user_config
from ktms.domain.access.secret import Secret

texts = some.text(some.characters(codec="utf-8"), min_size=1, max_size=20)
configs = some.builds(
    UserConfig,
    some.none() | texts,
    some.none() | texts.map(Secret),
    some.booleans(),
    some.none() | texts.filter(lambda text: "\0" not in text).map(Path),
    some.booleans(),
)


@given(config=configs)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_reads_back_the_same(tmp_path: Path, config: UserConfig) -> None:
    write_user_config(tmp_path / "config.toml", config)
    assert read_user_config(tmp_path / "config.toml") == config


def test_a_missing_file_says_nothing(tmp_path: Path) -> None:
    assert read_user_config(tmp_path / "gone.toml") == UserConfig()


def test_a_key_is_not_in_the_configuration_as_it_prints(tmp_path: Path) -> None:
    write_private(tmp_path / "config.toml", '[admin]\nkey = "canary"\n')
    assert "canary" not in repr(read_user_config(tmp_path / "config.toml"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[admin", "is not valid TOML"),
        ("[server]\n", r"expected one table \[admin\]"),
        ("admin = 1\n", r"expected one table \[admin\]"),
        ('[admin]\nadress = "x"\n', "admin.adress: unknown field; known are addr, key, tls, ca, plaintext"),
        ("[admin]\naddr = 9090\n", "admin.addr: expected text"),
        ('[admin]\ntls = "yes"\n', "admin.tls: expected true or false"),
    ],
)
def test_a_wrong_file_is_refused_with_the_field(tmp_path: Path, text: str, said: str) -> None:
    write_private(tmp_path / "config.toml", text)
    with pytest.raises(PrivateFileUnusable, match=said):
        read_user_config(tmp_path / "config.toml")


def test_a_file_open_to_others_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[admin]\naddr = "127.0.0.1:9090"\n')
    path.chmod(0o644)
    with pytest.raises(PrivateFileUnusable, match="chmod 600"):
        read_user_config(path)
