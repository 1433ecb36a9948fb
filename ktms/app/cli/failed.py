"""How a command says that it did not work: lines for a person, exit code 1."""


class CommandFailed(Exception):
    """Ends a command; `lines` go to standard error as they are. They never hold a secret."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
