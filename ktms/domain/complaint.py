"""One thing that is wrong with a catalogue, and where."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Path = tuple[str | int, ...]
"""Where in the catalogue: section, index, field, and so on, as in `("models", 0, "targets", 1, "vendor")`."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong at `path`; the message names what to do and never a secret."""

    path: Path
    message: str

    def __str__(self) -> str:
        return f"{'.'.join(str(part) for part in self.path)}: {self.message}"


def prefixed(at: Path, found: Iterable[Complaint]) -> Iterator[Complaint]:
    """Move complaints about an entry to where the entry stands."""
    for complaint in found:
        yield Complaint(at + complaint.path, complaint.message)


def repeated(values: Sequence[str]) -> Iterator[int]:
    """Give the positions whose value has occurred before."""
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield index
        seen.add(value)
