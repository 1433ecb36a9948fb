"""Examples at the end of a help text, line by line as they are written."""


def example(*lines: str) -> str:
    """Make the epilog of a command; click keeps the lines of a paragraph that begins with a backspace."""
    return "\n".join(("\b", "Example:", *(f"  {line}" for line in lines)))
