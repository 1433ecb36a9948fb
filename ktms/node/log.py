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
    file = None if path is None else _file(path)
    # Beside a file only a person wants to see them: what a service writes otherwise is kept by nobody in bounds.
    handlers: list[Handler] = [StreamHandler(sys.stderr)] if file is None or sys.stderr.isatty() else []
    if file is not None:
        handlers.append(file)

    def told(level: str, line: str) -> None:
        record = LogRecord("ktms-node", 0, "", 0, f"{time_text()} {level:<7} {line}", None, None)
        for handler in handlers:
            handler.handle(record)

    return told


def _file(path: Path) -> Handler | None:
    """Open the file; None where it cannot be: an agent without a log serves, one that does not start does not."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return RotatingFileHandler(path, maxBytes=FILE_MAX_BYTES, backupCount=FILES_KEPT, encoding="utf-8")
    except OSError as error:
        sys.stderr.write(f"{path} cannot be written: {error.strerror or error}\n")
        return None
