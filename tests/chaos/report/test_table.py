from dataclasses import replace
from pathlib import Path

from chaos.report.picture import draw
from chaos.report.rows import Row
from chaos.report.table import lines_of

ROW = Row(
    experiment="redis-down",
    title="it is down",
    ids=("FR1", "FR5"),
    shown=("FR1",),
    passed=False,
    requests=100,
    felt=90,
    failed=3,
    added_p99_s=0.1,
    worst_added_s=0.25,
    recovered_s=1.5,
    complaints=("FR5: 1 of 2",),
)


def test_what_was_not_proven_stands_in_brackets_and_is_explained() -> None:
    head, line, complaint, *_ = lines_of([ROW])
    assert head.split() == [
        "experiment",
        "proves",
        "requests",
        "failed",
        "p99",
        "added",
        "worst",
        "added",
        "recovered",
    ]
    assert line.split() == ["redis-down", "FR1", "(FR5)", "100", "3", "100", "ms", "250", "ms", "1.5", "s"]
    assert complaint == "  ! FR5: 1 of 2"


def test_the_end_says_what_failed_for_whoever_reads_only_the_end_of_a_log() -> None:
    passed = replace(ROW, experiment="redis-hung", passed=True, complaints=())
    told = replace(ROW, complaints=("FR5: 1 of 2", "FR1: late"))
    assert list(lines_of([told, passed]))[-2:] == [
        "1 of 2 experiments prove their ids",
        "FAILED redis-down: FR5: 1 of 2 (and 1 more, above)",
    ]


def test_a_picture_is_a_png(tmp_path: Path) -> None:
    draw(tmp_path / "rows.png", [ROW])
    assert (tmp_path / "rows.png").read_bytes().startswith(b"\x89PNG")
