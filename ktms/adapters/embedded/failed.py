"""Why an embedded server does not run, in one line for the person at the terminal."""


class EmbeddedFailed(Exception):
    """The server cannot be started; the message says why and what to do, and never holds a password."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
