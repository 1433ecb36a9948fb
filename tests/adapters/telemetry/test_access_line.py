import json
from collections.abc import Callable
from typing import Any

from ktms.adapters.telemetry.access_line import LogFormat, access_format, level_of
from ktms.domain.ids import NodeName, VendorName
from ktms.ports.telemetry import AttemptRecord, CallRecord

AT = 1_790_000_000.25
ATTEMPTS = (
    AttemptRecord(VendorName("local"), NodeName("mac-1"), "busy"),
    AttemptRecord(VendorName("openai"), None, "ok"),
)


def json_line(record: CallRecord) -> Any:
    return json.loads(access_format(LogFormat.JSON)(AT, record))


def console_line(record: CallRecord) -> str:
    return access_format(LogFormat.CONSOLE)(AT, record).decode()


def test_a_line_ends_with_one_newline(make_record: Callable[..., CallRecord]) -> None:
    assert access_format(LogFormat.JSON)(AT, make_record()).count(b"\n") == 1


def test_a_line_says_when_and_what(make_record: Callable[..., CallRecord]) -> None:
    line = json_line(make_record())
    assert (line["time"], line["event"], line["status"]) == ("2026-09-21T14:13:20.250Z", "call", 200)


def test_durations_are_milliseconds_with_two_digits(make_record: Callable[..., CallRecord]) -> None:
    line = json_line(make_record(total_s=0.123456, first_token_s=0.0999))
    assert (line["total_ms"], line["first_token_ms"]) == (123.45, 99.9)


def test_absent_facts_are_left_out(make_record: Callable[..., CallRecord]) -> None:
    line = json_line(make_record(chain=None, node=None, first_token_s=None))
    assert {"chain", "node", "first_token_ms", "code", "attempts"}.isdisjoint(line)


def test_attempts_are_spelled_as_in_the_answer_header(make_record: Callable[..., CallRecord]) -> None:
    assert json_line(make_record(attempts=ATTEMPTS))["attempts"] == "local/mac-1:busy, openai:ok"


def test_text_in_a_name_cannot_break_the_line(make_record: Callable[..., CallRecord]) -> None:
    assert json_line(make_record(model='a"\n{b'))["model"] == 'a"\n{b'


def test_what_a_call_cost_is_in_its_line_where_it_cost_anything(make_record: Callable[..., CallRecord]) -> None:
    assert json_line(make_record(cost_micros=12))["cost_micros"] == 12
    assert "cost_micros" not in json_line(make_record(cost_micros=0))


def test_a_server_error_is_a_warning(make_record: Callable[..., CallRecord]) -> None:
    assert [level_of(make_record(status=status)) for status in (200, 429, 499, 500, 503)] == [
        "info",
        "info",
        "info",
        "warning",
        "warning",
    ]


def test_the_console_line_reads_from_left_to_right(make_record: Callable[..., CallRecord]) -> None:
    line = console_line(make_record(attempts=ATTEMPTS, first_token_s=0.1, prompt_tokens=7, completion_tokens=3))
    assert [part.strip() for part in line.split("  ") if part][1:-1] == [
        "info",
        "200",
        "/v1/chat/completions",
        "small",
        "local/mac-1:busy, openai:ok",
        "300.0 ms",
        "first token 100.0 ms",
        "7+3 tokens",
    ]


def test_the_console_line_of_a_refused_call_names_the_code(make_record: Callable[..., CallRecord]) -> None:
    line = console_line(make_record(status=404, model=None, code="model_not_found"))
    assert "  model_not_found  " in line


def test_an_answer_that_was_given_again_is_told(make_record: Callable[..., CallRecord]) -> None:
    assert "replayed" in console_line(make_record(replayed=True))
    assert json_line(make_record(replayed=True, cache="hit")).items() >= {"replayed": True, "cache": "hit"}.items()
    assert not {"replayed", "cache"} & json_line(make_record()).keys()


def test_the_console_line_says_when_the_client_left(make_record: Callable[..., CallRecord]) -> None:
    assert "client left" in console_line(make_record(cancelled=True))
