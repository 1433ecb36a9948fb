"""What was booked, as facts."""

from typing import Any

import pytest

from chaos.stand.run_journal import RunJournal
from chaos.traffic.usage_rows import NOBODY, Booked, note_usage
from sim.journal.fact import Value

SENT: dict[str, Value] = {
    "gateway": "gw2",
    "key": "app-1",
    "model": "house",
    "route": "chat",
    "streamed": True,
    "placement": None,
}


def row(journal: RunJournal, request_id: str, at: float, **more: object) -> dict[str, Any]:
    members = {"prompt_tokens": 1, "completion_tokens": 2, "estimated": False, "status": "ok", "batch": None}
    return {
        "id": f"event-{request_id}",
        "request_id": request_id,
        "started_at": journal.began_wall_s + at,
        "duration_s": 0.5,
        "vendor": "cloud-a",
        "node": None,
        "key_id": "id-1",
        "batch_line": None,
        **members,
        **more,
    }


def test_a_row_is_booked_when_its_attempt_was_over() -> None:
    journal = RunJournal()
    note_usage(journal, Booked((row(journal, "r1", 2.0, vendor="local", node="node-1"),), 1, 1))
    (usage,) = journal.of("usage")
    assert usage.at == pytest.approx(2.5)
    assert (usage.members["target"], usage.members["event_id"]) == ("node-1", "event-r1")


def test_a_row_is_of_the_gateway_that_its_client_called() -> None:
    journal = RunJournal()
    journal.note("call_sent", "client", call="1", **SENT)
    journal.note("call_begun", "client", call="1", status=200, request_id="r1")
    note_usage(journal, Booked((row(journal, "r1", 0.0),), 1, 1))
    assert [usage.host for usage in journal.of("usage")] == ["gw2"]


def test_a_row_of_a_call_that_nobody_knows_is_laid_to_who_was_killed_next() -> None:
    journal = RunJournal()
    journal.note_at(5.0, "host_crashed", "gw3")
    rows = (row(journal, "r1", 2.0), row(journal, "r2", 6.0))
    note_usage(journal, Booked(rows, 2, 2))
    assert [usage.host for usage in journal.of("usage")] == ["gw3", NOBODY]


def test_rows_and_their_sums_are_told_both() -> None:
    journal = RunJournal()
    note_usage(journal, Booked((row(journal, "r1", 0.0),), 1, 2))
    assert [fact.members["rows"] for fact in journal.of("usage_kept")] == [1, 2]


def test_lines_of_batches_are_known_by_their_rows() -> None:
    journal = RunJournal()
    rows = (row(journal, "r1", 0.0), row(journal, "r2", 0.0, batch="batch_1", batch_line=1))
    assert Booked(rows, 2, 2).batch_lines == {"r2"}
