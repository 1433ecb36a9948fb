from pathlib import Path

import pytest

from ktms.adapters.postgres.migration_files import MigrationFilesBroken, read_migrations, shipped_folder


def write(folder: Path, **files: str) -> Path:
    for name, sql in files.items():
        (folder / f"{name.removeprefix('n')}.sql").write_text(sql, encoding="utf-8")
    return folder


def test_the_shipped_files_are_found_and_sound() -> None:
    found = read_migrations(shipped_folder())
    assert found[0].name == "0001_create_foundation.sql"
    assert [migration.number for migration in found] == list(range(1, len(found) + 1))


def test_a_wheel_finds_its_files_inside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "ktms" / "adapters" / "postgres" / "migration_files.py"
    inside = tmp_path / "ktms" / "_migrations"
    monkeypatch.setattr("ktms.adapters.postgres.migration_files.__file__", str(module))
    assert shipped_folder() == tmp_path / "migrations"
    inside.mkdir(parents=True)
    assert shipped_folder() == inside


def test_head_comments_say_how_a_file_is_run(tmp_path: Path) -> None:
    write(
        tmp_path,
        n0001_make_this="select 1;",
        n0002_index_that=(
            "-- ktms: outside a transaction\n-- ktms: min_compatible 0002\nselect 1;\nselect 2 -- x;\n;"
        ),
    )
    first, second = read_migrations(tmp_path)
    assert (first.outside, first.min_compatible) == (False, 1)
    assert (second.outside, second.min_compatible) == (True, 2)
    assert second.statements == ("select 1", "select 2")


def test_the_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    write(tmp_path, n0001_make_this="select 1;")
    (one,) = read_migrations(tmp_path)
    assert one.sha256.hex() == "354b7196c9ba5fb4b21cf615bb6ec4cd5c07503c34229feef033fc081a8c03f4"


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({}, "there are no migrations"),
        ({"n0001_x": ""}, "0001_x.sql: not named NNNN_verb_noun.sql"),
        ({"n1_make_this": ""}, "not named"),
        ({"n0002_make_this": ""}, "number 0001 was expected"),
        ({"n0001_make_this": "", "n0003_make_that": ""}, "number 0002 was expected"),
        ({"n0001_make_this": "", "n0001_make_that": ""}, "number 0002 was expected"),
        ({"n0001_make_this": "-- ktms: outside\n"}, "unknown mark 'outside'"),
    ],
)
def test_wrong_files_are_told_by_name(tmp_path: Path, files: dict[str, str], complaint: str) -> None:
    with pytest.raises(MigrationFilesBroken, match=complaint):
        read_migrations(write(tmp_path, **files))


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(MigrationFilesBroken, match="cannot be read"):
        read_migrations(tmp_path / "none")
