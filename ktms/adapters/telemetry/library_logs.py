"""What libraries say through `logging`, without what they quote.

asyncio and aiohttp format requests, addresses and exception texts into their messages; any of these may hold a
prompt or a credential. So only the kind of exception, the place and the unformatted message go on, and the latter
only where it cannot have anything formatted into it yet.
"""

import logging

from ktms.ports.telemetry import Telemetry

MESSAGE_LENGTH_MAX = 120
"""Long enough for a library's sentence."""


class LibraryLogs(logging.Handler):
    """Hands log records on as `library` events. Attach it to the root logger in the composition root."""

    def __init__(self, telemetry: Telemetry) -> None:
        super().__init__(logging.WARNING)
        self._telemetry = telemetry

    def emit(self, record: logging.LogRecord) -> None:
        """Log the event; arguments and exception texts are left behind."""
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        self._telemetry.event(
            "error" if record.levelno >= logging.ERROR else "warning",
            "library",
            logger=record.name,
            message=_template(record),
            exception=kind,
            place=f"{record.module}:{record.lineno}",
        )


def _template(record: logging.LogRecord) -> str | None:
    """Give the constant part: a message whose arguments are still apart, or first lines of asyncio."""
    if not record.args and record.name != "asyncio":
        return None
    return str(record.msg).partition("\n")[0][:MESSAGE_LENGTH_MAX]
