from pathlib import Path

import pytest

from ktms.config.secret_file import SECRET_FILE_MAX_BYTES, SecretFileUnreadable, read_secret_file


def test_the_line_end_of_the_last_line_is_no_part_of_a_secret(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("  a secret \r\n\n")
    assert read_secret_file(path).content.reveal() == "  a secret "


@pytest.mark.parametrize(("mode", "private"), [(0o600, True), (0o400, True), (0o640, False), (0o604, False)])
def test_a_file_is_private_when_only_its_owner_has_rights(tmp_path: Path, mode: int, private: bool) -> None:
    path = tmp_path / "key"
    path.write_text("x")
    path.chmod(mode)
    assert read_secret_file(path).private is private


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SecretFileUnreadable, match=r"cannot read .*gone: No such file"):
        read_secret_file(tmp_path / "gone")


def test_a_folder_is_no_secret(tmp_path: Path) -> None:
    with pytest.raises(SecretFileUnreadable, match="Is a directory"):
        read_secret_file(tmp_path)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "movie"
    path.write_bytes(b"x" * (SECRET_FILE_MAX_BYTES + 1))
    with pytest.raises(SecretFileUnreadable, match="larger than"):
        read_secret_file(path)


def test_bytes_that_are_no_text_are_refused_and_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"canary\xff")
    with pytest.raises(SecretFileUnreadable) as refused:
        read_secret_file(path)
    assert "canary" not in str(refused.value)
