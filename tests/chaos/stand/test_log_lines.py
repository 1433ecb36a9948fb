"""What gateways logged, as facts."""

import json
from pathlib import Path

import pytest

from chaos.stand.log_lines import attempts_text, note_log
from chaos.stand.run_journal import RunJournal
from sim.journal.calls import Attempt, attempts_of

CALL = {
    "time": "2026-11-30T09:15:00.042Z",
    "level": "info",
    "event": "call",
    "request_id": "r1",
    "route": "/chat/completions",
    "status": 200,
    "total_ms": 12.5,
    "upstream_ms": 11.0,
    "queue_ms": 500.0,
    "attempts": "local/node-0:busy, cloud-a:ok",
}
TURNED = {"time": "2026-11-30T09:15:00.042Z", "level": "warning", "event": "breaker_turned"}


def noted(folder: Path, *lines: object) -> RunJournal:
    path = folder / "gw1-1.out"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    journal = RunJournal()
    note_log(journal, "gw1", [path], {"in a batch"})
    return journal


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ("", ""),
        ("cloud-a:ok", "cloud-a/=ok"),
        ("local/node-0:busy, cloud-a:http_503", "local/node-0=busy|cloud-a/=http_503"),
    ],
)
def test_attempts_are_spelled_as_judges_read_them(told: str, text: str) -> None:
    assert attempts_text(told) == text


def test_a_call_becomes_a_record_at_its_own_moment(tmp_path: Path) -> None:
    journal = noted(tmp_path, CALL)
    (record,) = journal.of("record")
    assert record.at == pytest.approx(journal.of_wall(1_796_030_100.042))
    assert attempts_of(record) == (Attempt("node-0", "busy"), Attempt("cloud-a", "ok"))
    assert (record.members["status"], record.members["code"], record.members["queue_s"]) == (200, None, 0.5)


def test_a_line_of_a_batch_is_no_call_of_a_client(tmp_path: Path) -> None:
    journal = noted(tmp_path, {**CALL, "request_id": "in a batch"}, {**CALL, "route": "/batches"})
    assert [fact.kind for fact in journal.facts] == ["line_record", "shelf_record"]


def test_a_breaker_that_opens_does_so_after_what_opened_it(tmp_path: Path) -> None:
    journal = noted(tmp_path, {**TURNED, "target": "cloud-a", "state": "open"})
    (log,), (gauge,) = journal.of("log"), journal.of("gauge")
    assert gauge.at > log.at
    assert (gauge.members["label"], gauge.members["value"]) == ("cloud-a", 2)


def test_an_event_is_told_in_words(tmp_path: Path) -> None:
    journal = noted(tmp_path, {**TURNED, "event": "internal_error", "kind": "KeyError", "where": "door"})
    (log,) = journal.of("log")
    assert log.members["text"] == "kind=KeyError where=door"


def test_what_is_no_line_is_passed_over(tmp_path: Path) -> None:
    assert noted(tmp_path, "Traceback", '{"time": "2026-1', "[]", '{"other": 1}').facts == []
