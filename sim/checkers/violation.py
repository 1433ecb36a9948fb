"""What a checker says: one broken promise, in one line that names calls, hosts and times."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """`code` names the invariant, `at` is seconds of the run's clock, `call` is empty where it is about none."""

    code: str
    at: float
    what: str
    call: str = ""

    def __str__(self) -> str:
        about = f", call {self.call}" if self.call else ""
        return f"{self.code} at {self.at:.3f} s{about}: {self.what}"
