import logging
import sys
from collections.abc import Iterator

import pytest

from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.telemetry.library_logs import LibraryLogs

CANARY = "my-secret-prompt"


@pytest.fixture
def telemetry() -> MemoryTelemetry:
    return MemoryTelemetry()


@pytest.fixture
def logger(telemetry: MemoryTelemetry) -> Iterator[logging.Logger]:
    handler = LibraryLogs(telemetry)
    named = logging.getLogger("asyncio")
    named.addHandler(handler)
    yield named
    named.removeHandler(handler)


def test_arguments_of_a_message_are_left_behind(telemetry: MemoryTelemetry, logger: logging.Logger) -> None:
    logger.error("bad request from %s", CANARY)
    assert telemetry.events[0].facts["message"] == "bad request from %s"


def test_the_text_of_an_exception_is_left_behind(telemetry: MemoryTelemetry, logger: logging.Logger) -> None:
    logger.error("failed", exc_info=ValueError(CANARY))
    assert telemetry.events[0].facts["exception"] == "ValueError"
    assert CANARY not in repr(telemetry.events)


def test_only_the_first_line_of_an_asyncio_report_goes_on(
    telemetry: MemoryTelemetry, logger: logging.Logger
) -> None:
    report = f"Task exception was never retrieved\nfuture: <Task exception=ValueError('{CANARY}')>"
    logger.error(report)
    assert telemetry.events[0].facts["message"] == "Task exception was never retrieved"


def test_a_ready_made_message_of_another_library_is_left_behind(telemetry: MemoryTelemetry) -> None:
    record = logging.LogRecord("aiohttp.server", logging.ERROR, __file__, 7, f"got {CANARY}", None, None)
    LibraryLogs(telemetry).handle(record)
    assert telemetry.events[0].facts == {
        "logger": "aiohttp.server",
        "message": None,
        "exception": None,
        "place": "test_library_logs:7",
    }


def test_a_warning_stays_a_warning_and_worse_is_an_error(
    telemetry: MemoryTelemetry, logger: logging.Logger
) -> None:
    logger.warning("slow")
    logger.critical("gone")
    assert [event.level for event in telemetry.events] == ["warning", "error"]


def test_info_of_libraries_is_not_for_our_log(telemetry: MemoryTelemetry, logger: logging.Logger) -> None:
    logger.setLevel(logging.INFO)
    logger.info("chatter")
    logger.setLevel(logging.NOTSET)
    assert telemetry.events == []


def test_an_empty_exception_triple_is_no_exception(telemetry: MemoryTelemetry) -> None:
    record = logging.LogRecord("x", logging.ERROR, __file__, 7, "a %s", ("b",), sys.exc_info())
    LibraryLogs(telemetry).handle(record)
    assert telemetry.events[0].facts["exception"] is None
