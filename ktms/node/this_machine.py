"""The machine that this process runs on, as the port `Machine` wants it.

Rules: no shell, everything ends in time and is bounded, programs speak English whatever the user's language is.
Not here: what is asked (`install/`, `doctor/`, `engines/`).
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from ktms.node.machine import RUN_S, Ran

NO_SUCH_PROGRAM, NOT_IN_TIME, NOT_EXECUTABLE = 127, 124, 126
"""As shells and `timeout` say it."""

TEXT_MAX_BYTES = 4_000_000
"""More than any file or output that is looked at; a log that grew for years is cut, not loaded."""

FOLDER_MODE = 0o700


class ThisMachine:
    """Implements the `Machine` port with real commands and files."""

    @property
    def system(self) -> str:
        """Say what it runs, in lower case: `darwin`, `linux`."""
        return sys.platform

    @property
    def variables(self) -> Mapping[str, str]:
        """Give the environment."""
        return os.environ  # noqa: TID251 - this is the port through which the agent sees it

    def run(self, words: Sequence[str], within_s: float = RUN_S, stdin: str = "") -> Ran:
        """Run a command to its end; absolute paths or names found on PATH; never a shell."""
        try:
            done = subprocess.run(  # noqa: S603 - words of ours, no shell
                list(words),
                input=stdin.encode(),
                capture_output=True,
                check=False,
                timeout=within_s,
                env={**self.variables, "LC_ALL": "C"},
            )
        except FileNotFoundError:
            return Ran(NO_SUCH_PROGRAM, err=f"{words[0]}: not found\n")
        except subprocess.TimeoutExpired as error:
            return Ran(NOT_IN_TIME, _text(error.stdout), _text(error.stderr))
        except OSError as error:
            return Ran(NOT_EXECUTABLE, err=f"{words[0]}: {error.strerror}\n")
        return Ran(done.returncode, _text(done.stdout), _text(done.stderr))

    def read(self, path: Path) -> str | None:
        """Give the text of a file; None where there is none or it is not ours to read."""
        try:
            with path.open("rb") as file:
                return _text(file.read(TEXT_MAX_BYTES))
        except OSError:
            return None

    def write(self, path: Path, text: str, mode: int = 0o644) -> None:
        """Write a file whole or not at all, its folders before it.

        Raises:
            OSError: with the path.
        """
        path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{token_hex(4)}")
        try:
            # The mode is there before the content is: it may be a secret.
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor has no path
                os.fchmod(descriptor, mode)
                file.write(text)
                file.flush()
                os.fsync(descriptor)
            os.replace(beside, path)  # noqa: PTH105 - as the system call is named
        except OSError:
            with suppress(OSError):
                beside.unlink()
            raise


def _text(said: bytes | None) -> str:
    return (said or b"")[:TEXT_MAX_BYTES].decode(errors="replace")
