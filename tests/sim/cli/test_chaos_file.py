"""Rows of the chaos suite as the coverage reads them; what is wrong with a file is one line."""

import json
from pathlib import Path

import pytest

from sim.cli.chaos_file import FILE_BYTES_MAX, chaos_runs
from sim.cli.inputs import BadInput
from sim.registry.coverage import ChaosRan


def row(**members: object) -> dict[str, object]:
    return {"experiment": "redis-down", "title": "t", "shown": ["FR1"], "passed": True, "requests": 9} | members


def written(folder: Path, value: object, name: str = "chaos.json") -> Path:
    file = folder / name
    file.write_text(json.dumps(value))
    return file


def test_an_id_that_stands_in_shown_was_met_and_shown(tmp_path: Path) -> None:
    file = written(tmp_path, [row(ids=["FR1", "FR5"])])
    assert chaos_runs([file]) == [ChaosRan("redis-down", passed=True, active=["FR1"], seen=["FR1"])]


def test_rows_of_all_files_are_read_in_their_order(tmp_path: Path) -> None:
    files = [written(tmp_path, [row(experiment=name)], f"{name}.json") for name in ("b", "a")]
    assert [run.name for run in chaos_runs(files)] == ["b", "a"]


def test_a_row_that_did_not_pass_is_kept_as_such(tmp_path: Path) -> None:
    assert [run.passed for run in chaos_runs([written(tmp_path, [row(passed=False)])])] == [False]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"rows": []}, "holds no list of rows"),
        ([{"experiment": "x", "passed": True}], "row 1 lacks"),
        ([row(), row(passed="yes")], "row 2 lacks"),
        ([row(shown=[1])], "row 1 lacks"),
        ([row(shown=["FR99"])], "redis-down speaks of FR99, which no table has"),
    ],
)
def test_what_is_no_row_of_ours_is_one_line(tmp_path: Path, value: object, why: str) -> None:
    with pytest.raises(BadInput, match=why) as refused:
        chaos_runs([written(tmp_path, value)])
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.json cannot be read: No such file"):
        chaos_runs([tmp_path / "none.json"])


@pytest.mark.parametrize("text", [b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_is_named_so(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "x.json").write_bytes(text)
    with pytest.raises(BadInput, match=r"x\.json is no JSON"):
        chaos_runs([tmp_path / "x.json"])


def test_a_file_that_is_far_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "x.json").open("wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)
    with pytest.raises(BadInput, match="is larger than"):
        chaos_runs([tmp_path / "x.json"])
