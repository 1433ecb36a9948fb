import stat
from pathlib import Path

import pytest

from ktms.adapters.files.private_file import PRIVATE_MAX_BYTES, PrivateFileUnusable, read_private, write_private


def test_a_written_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "keys"
    write_private(path, "secret\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert read_private(path) == "secret\n"


def test_a_written_file_replaces_the_old_one_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    write_private(path, "old")
    write_private(path, "new")
    assert read_private(path) == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_open_to_others_becomes_private_when_it_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_missing_file_is_nothing(tmp_path: Path) -> None:
    assert read_private(tmp_path / "gone") is None


def test_a_file_open_to_others_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("canary")
    path.chmod(0o640)
    with pytest.raises(PrivateFileUnusable) as unusable:
        read_private(path)
    assert str(unusable.value) == f"{path} is open to others (mode 0640); run: chmod 600 {path}"


@pytest.mark.parametrize(
    ("content", "said"), [(b"x" * (PRIVATE_MAX_BYTES + 1), "is larger than"), (b"canary\xff", "is not UTF-8 text")]
)
def test_a_wrong_file_is_refused_without_its_content(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "keys"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(PrivateFileUnusable, match=said) as unusable:
        read_private(path)
    assert "canary" not in str(unusable.value)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(PrivateFileUnusable, match="cannot read"):
        read_private(tmp_path)


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    with pytest.raises(PrivateFileUnusable, match="cannot write"):
        write_private(tmp_path / "keys", "x")
    assert list(tmp_path.iterdir()) == [tmp_path / "keys"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PrivateFileUnusable, match=r"cannot write .*keys: "):
        write_private(tmp_path / "file" / "keys", "x")
