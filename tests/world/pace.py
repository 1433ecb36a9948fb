"""How long the times of a case are: as it prints them, or shortened, where they have to pass on a real clock."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """Chooses between the printed time and the short one that stands for it; all are seconds."""

    printed: bool

    def __call__(self, printed_s: float, short_s: float) -> float:
        """Give the time to configure, to pause for, or to expect."""
        return printed_s if self.printed else short_s


SHORTENED = Pace(printed=False)
PRINTED = Pace(printed=True)
"""For a world whose time costs nothing."""
