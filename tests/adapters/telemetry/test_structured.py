from collections.abc import Callable
from typing import Any

import pytest

from ktms.adapters.telemetry.access_line import LogFormat


def test_an_event_is_one_json_line_with_its_facts(bench: Any) -> None:
    bench.telemetry.event("warning", "vendor_key_rests", vendor="openai", rest_s=20.0, node=None)
    assert bench.lines() == [
        {
            "time": "2026-09-21T14:13:20.250Z",
            "vendor": "openai",
            "rest_s": 20.0,
            "node": None,
            "event": "vendor_key_rests",
            "level": "warning",
        }
    ]


@pytest.mark.parametrize(
    ("level", "written"),
    [("debug", ["d", "i", "w", "e"]), ("info", ["i", "w", "e"]), ("warning", ["w", "e"]), ("error", ["e"])],
)
def test_events_below_the_level_are_not_written(
    make_bench: Callable[..., Any], level: str, written: list[str]
) -> None:
    bench = make_bench(level=level)
    for name, event_level in (("d", "debug"), ("i", "info"), ("w", "warning"), ("e", "error")):
        bench.telemetry.event(event_level, name)
    assert [line["event"] for line in bench.lines()] == written


def test_the_console_format_is_plain_text_without_colours(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(log_format=LogFormat.CONSOLE)
    bench.telemetry.event("error", "ledger_away", operation="flush")
    text = bench.written()
    assert "ledger_away" in text
    assert "operation=flush" in text
    assert "\x1b" not in text


def test_a_fact_named_like_a_field_of_the_line_gets_another_name(bench: Any) -> None:
    bench.telemetry.event("info", "odd", event="mine", level="high", time="noon")
    line = bench.lines()[0]
    assert (line["event"], line["event_"], line["level_"], line["time_"]) == ("odd", "mine", "high", "noon")


def test_a_value_of_an_unexpected_type_does_not_raise(bench: Any) -> None:
    bench.telemetry.event("info", "odd", what=object)
    assert bench.lines()[0]["what"] == "<class 'object'>"


def test_a_newline_in_a_fact_cannot_forge_a_line(bench: Any) -> None:
    bench.telemetry.event("info", "odd", name="a\n{}")
    assert len(bench.written().splitlines()) == 1


@pytest.mark.parametrize("log_format", list(LogFormat))
def test_a_name_that_is_not_utf_8_does_not_raise(make_bench: Callable[..., Any], log_format: LogFormat) -> None:
    bench = make_bench(log_format=log_format)
    bench.telemetry.event("warning", "snapshot_not_saved", reason="cannot write /srv/\udcff: disk full")
    assert "\\udcff" in bench.written()
