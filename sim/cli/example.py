"""Examples at the end of a help text, line by line as they are written, and the name our command is called by."""

import sys
from pathlib import Path

PROGRAM = "ktms-sim"
"""The command an installation brings."""

MODULE = "python -m sim"
"""The same without one."""


def program() -> str:
    """Give the command as it was typed, for texts that tell what to type next."""
    return MODULE if Path(sys.argv[0]).parts[-2:] == ("sim", "__main__.py") else PROGRAM


def example(*lines: str) -> str:
    """Make the epilog of a command; click keeps the lines of a paragraph that begins with a backspace."""
    typed = (line.replace(f"{PROGRAM} ", f"{program()} ") for line in lines)
    return "\n".join(("\b", "Example:", *(f"  {line}" for line in typed)))
