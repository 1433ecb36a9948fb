"""Numbers that a fault measures while it is on, as facts of the run: written by faults, read by what they expect.

Not here: metrics that every run looks at (`chaos/stand/looks.py`).
"""

from chaos.experiments.experiment import Broken
from chaos.stand.stand import Stand


def note_gauge(stand: Stand, host: str, name: str, value: float, label: str = "") -> None:
    """Note one number."""
    stand.journal.note("gauge", host, name=name, label=label, value=value)


def gauges(broken: Broken, name: str, *, host: str = "", label: str = "") -> list[float]:
    """Give all numbers of this name in order: of one host and one label, or of all."""
    return [
        fact.number("value")
        for fact in broken.journal.of("gauge")
        if fact.members["name"] == name and host in ("", fact.host) and label in ("", fact.members["label"])
    ]
