import stat
from pathlib import Path

import pytest

from ktms.adapters.memory.entropy import SeededEntropy
from ktms.app.failed import StartFailed
from ktms.app.home import Home
from ktms.domain.access.key_form import KeyKind, read_key


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "config" / "ktms", SeededEntropy("home"))


def again(home: Home) -> Home:
    """The same folder in a later start, whose chance is another."""
    return Home(home.folder, SeededEntropy("later"))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_keyring_is_made_once_and_kept(home: Home) -> None:
    made = home.keyring()
    assert made.ids == ("local-1",)
    assert again(home).keyring().key("local-1") == made.key("local-1")


def test_two_homes_have_different_keyrings(tmp_path: Path) -> None:
    keys = {Home(tmp_path / seed, SeededEntropy(seed)).keyring().key("local-1") for seed in "ab"}
    assert len(keys) == 2


def test_an_admin_key_is_made_once_and_kept(home: Home) -> None:
    made = home.admin_key()
    text = read_key(made.reveal())
    assert text is not None
    assert text.kind is KeyKind.ADMIN
    assert again(home).admin_key() == made


def test_the_admin_address_is_noted_beside_the_key_and_follows_it(home: Home) -> None:
    key = home.admin_key()
    for port in (9090, 9091):
        again(home).keep_admin_addr(f"127.0.0.1:{port}")
        assert f'addr = "127.0.0.1:{port}"' in home.config_file.read_text()
    assert again(home).admin_key() == key


def test_what_else_a_user_wrote_there_is_kept(home: Home) -> None:
    home.folder.mkdir(parents=True)
    home.config_file.write_text("[admin]\nplaintext = true\n")
    home.config_file.chmod(0o600)
    home.admin_key()
    home.keep_admin_addr("127.0.0.1:9090")
    assert "plaintext = true" in home.config_file.read_text()


def test_a_client_key_is_absent_until_it_is_kept(home: Home) -> None:
    assert home.client_key() is None
    home.keep_client_key("ktms_sk_x")
    kept = home.client_key()
    assert kept is not None
    assert kept.reveal() == "ktms_sk_x"


def test_everything_is_for_its_owner_alone(home: Home) -> None:
    home.keyring()
    home.admin_key()
    home.keep_client_key("ktms_sk_x")
    assert mode(home.folder) == 0o700
    assert {mode(path) for path in home.folder.iterdir()} == {0o600}


@pytest.mark.parametrize("name", ["keyring", "client-key", "config.toml"])
def test_a_file_open_to_others_is_refused_with_what_to_do(home: Home, name: str) -> None:
    home.folder.mkdir(parents=True)
    path = home.folder / name
    path.write_text("secret")
    path.chmod(0o644)
    with pytest.raises(StartFailed, match="chmod 600") as refused:
        (home.keyring, home.client_key, home.admin_key)[["keyring", "client-key", "config.toml"].index(name)]()
    assert "secret" not in str(refused.value)


def test_a_broken_keyring_is_named_and_not_shown(home: Home) -> None:
    home.folder.mkdir(parents=True)
    path = home.folder / "keyring"
    path.write_text("local-1:tooshort")
    path.chmod(0o600)
    with pytest.raises(StartFailed, match="keyring: key 1") as refused:
        home.keyring()
    assert "tooshort" not in str(refused.value)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    home = Home(tmp_path / "file" / "ktms", SeededEntropy("home"))
    with pytest.raises(StartFailed, match="cannot"):
        home.keep_client_key("ktms_sk_x")
