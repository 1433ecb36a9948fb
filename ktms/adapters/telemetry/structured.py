"""Log events other than calls, through structlog: rare, so their cost does not matter.

No global of structlog or logging is configured: each telemetry has a logger of its own; importing does nothing.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import msgspec
import structlog

from ktms.adapters.telemetry.access_line import LogFormat
from ktms.adapters.telemetry.line_writer import LineWriter
from ktms.adapters.telemetry.stamp import Stamp
from ktms.ports.clock import Clock

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
"""Names of levels and their order."""

_RESERVED = frozenset({"event", "level", "time"})


class EventLog(Protocol):
    """Logs one event at a level; what lies below the level in force is dropped early."""

    def __call__(self, level: int, name: str, facts: Mapping[str, str | float | None]) -> None:
        """Log it."""
        ...


def event_log(writer: LineWriter, clock: Clock, log_format: LogFormat, level: int) -> EventLog:
    """Make a log of this format whose lines go to `writer`."""
    logger = structlog.wrap_logger(
        _Lines(writer),
        processors=[structlog.stdlib.add_log_level, partial(_add_time, clock, Stamp()), _renderer(log_format)],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )

    def log(level: int, name: str, facts: Mapping[str, str | float | None]) -> None:
        logger.log(level, name, **{f"{key}_" if key in _RESERVED else key: fact for key, fact in facts.items()})

    return log


class _Lines:
    """Where structlog's rendered text ends: every level writes the same way."""

    def __init__(self, writer: LineWriter) -> None:
        self._writer = writer

    def debug(self, text: str) -> None:
        self._writer.put(text.encode(errors="backslashreplace") + b"\n")

    info = warning = error = debug


def _add_time(clock: Clock, stamp: Stamp, _logger: object, _method: str, facts: Any) -> Any:
    return {"time": stamp(clock.wall()), **facts}


def _renderer(log_format: LogFormat) -> Callable[..., str]:
    match log_format:
        case LogFormat.JSON:
            return structlog.processors.JSONRenderer(serializer=_json)  # type: ignore[return-value]  # str: see _json
        case LogFormat.CONSOLE:
            return structlog.dev.ConsoleRenderer(colors=False, timestamp_key="time")


def _json(facts: object, **_options: object) -> str:
    try:
        return msgspec.json.encode(facts, enc_hook=repr).decode()
    except UnicodeEncodeError:  # a lone surrogate, as the system makes them of names that are not UTF-8
        return json.dumps(facts, default=repr)
