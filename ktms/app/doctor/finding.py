"""What the doctor says of one thing: a line with a verdict, and what to do where there is something to do."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """An error keeps a gateway from starting, or from doing what it was told to; a warning is a risk."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """`text` never holds a secret; `remedy` is empty where nothing is to be done."""

    verdict: Verdict
    subject: str
    text: str
    remedy: str = ""


def fine(subject: str, text: str) -> Finding:
    """Say that something is as it should be."""
    return Finding(Verdict.OK, subject, text)


def warning(subject: str, text: str, remedy: str = "") -> Finding:
    """Name a risk."""
    return Finding(Verdict.WARNING, subject, text, remedy)


def error(subject: str, text: str, remedy: str = "") -> Finding:
    """Name what does not work."""
    return Finding(Verdict.ERROR, subject, text, remedy)
