"""How a start or a command says that it did not work: lines for a person, exit code 1."""


class StartFailed(Exception):
    """The gateway cannot start; `lines` say why and what to do. They never hold a secret."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
