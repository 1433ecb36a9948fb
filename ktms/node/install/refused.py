"""What stands in the way of an installation: what it is, and the one thing that helps."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """One obstacle. `remedy`: a command or an option, in one line."""

    what: str
    remedy: str

    @property
    def line(self) -> str:
        """Say both."""
        return f"{self.what}; {self.remedy}"


class Refused(Exception):
    """It cannot be done as asked; the message is the line of a `Refusal`."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(Refusal(what, remedy).line)
