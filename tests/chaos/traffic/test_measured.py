"""What a run was like for its clients."""

import pytest

from chaos.stand.client_keys import STRANGER
from chaos.stand.run_journal import RunJournal
from chaos.traffic.measured import measured
from sim.journal.fact import Value


def call(
    journal: RunJournal, name: str, at: float, took_s: float, outcome: str, *, key: str = "app-1", code: str = ""
) -> None:
    sent: dict[str, Value] = {
        "gateway": "gw1",
        "key": key,
        "model": "house",
        "route": "chat",
        "streamed": True,
        "placement": None,
    }
    status = 0 if outcome == "refused" else 503 if outcome == "error" else 200
    journal.note_at(at, "call_sent", "client", call=name, **sent)
    if outcome == "done":
        journal.note_at(at + took_s / 2, "call_visible", "client", call=name)
    members: dict[str, Value] = {
        "outcome": outcome,
        "status": status,
        "code": code,
        "text": "",
        "events": 1,
        "request_id": name,
    }
    journal.note_at(at + took_s, "call_ended", "client", call=name, **members)


def served(journal: RunJournal, name: str, exchange: int, at: float, took_s: float) -> None:
    asked: dict[str, Value] = {
        "exchange": exchange,
        "target": "cloud-a",
        "cloud": True,
        "model": "m",
        "gateway": "gw1",
    }
    journal.note_at(at, "asked", "cloud-a", call=name, **asked)
    told: dict[str, Value] = {
        "exchange": exchange,
        "target": "cloud-a",
        "how": "whole",
        "status": 200,
        "text": "",
        "visible": True,
    }
    journal.note_at(at + took_s, "told", "cloud-a", call=name, finished=True, **told)


def test_what_targets_took_is_not_added() -> None:
    journal = RunJournal()
    call(journal, "1", 0.0, 1.0, "done")
    served(journal, "1", 1, 0.1, 0.2)
    served(journal, "1", 2, 0.4, 0.5)
    found = measured(journal.settled())
    assert found.worst_added_s == pytest.approx(0.3)
    assert found.first_share_s(0.5) == pytest.approx(0.5)


def test_failures_are_counted_by_second_and_by_their_kind() -> None:
    journal = RunJournal()
    call(journal, "1", 3.1, 0.1, "error", code="no_node_available")
    call(journal, "2", 3.9, 0.4, "refused")
    call(journal, "3", 5.0, 0.1, "done")
    found = measured(journal.settled())
    assert (found.calls, found.good, found.failed) == (3, 1, 2)
    assert found.failed_by_second == {3: 2}
    assert found.endings == {"error 503 no_node_available": 1, "refused": 1, "done 200": 1}
    assert found.last_failed_at == pytest.approx(4.3)


def test_strangers_and_stale_connections_are_not_the_services_failures() -> None:
    journal = RunJournal()
    call(journal, "1", 0.0, 0.1, "error", key=STRANGER)
    call(journal, "2", 0.0, 0.1, "refused", code="stale")
    assert measured(journal.settled()).calls == 0


def test_only_calls_of_the_span_are_measured() -> None:
    journal = RunJournal()
    for second in range(5):
        call(journal, str(second), float(second), 0.1, "done")
    assert measured(journal.settled(), since=1.0, until=3.0).calls == 3
