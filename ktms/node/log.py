"""Lines of the agent: a time, a level, what happened; on standard error and in a file that does not grow for ever.

No line holds a secret, a prompt or an answer: callers say what happened, not what was asked.
"""

import sys
from collections.abc import Callable
from logging import Handler, LogRecord, StreamHandler
from logging.handlers import RotatingFileHandler
from pathlib import Path

from ktms.node.announcer import Told

FILE_MAX_BYTES = 1_000_000
FILES_KEPT = 3
"""Some ten thousand lines: weeks of an agent to which nothing happens, hours of one in trouble."""


def told_to(path: Path | None, time_text: Callable[[], str]) -> Told:
    """Give what takes lines; `path` None: standard error alone, as under systemd, whose journal keeps them."""
    # Beside a file only a person wants to see them: what a service writes otherwise is kept by nobody in bounds.
    handlers: list[Handler] = [StreamHandler(sys.stderr)] if path is None or sys.stderr.isatty() else []
    if path is not None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handlers.append(RotatingFileHandler(path, maxBytes=FILE_MAX_BYTES, backupCount=FILES_KEPT))

    def told(level: str, line: str) -> None:
        record = LogRecord("ktms-node", 0, "", 0, f"{time_text()} {level:<7} {line}", None, None)
        for handler in handlers:
            handler.handle(record)

    return told
