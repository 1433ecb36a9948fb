"""A run told as a story, in colours."""

from collections.abc import Sequence

from rich.text import Text

from sim.cli.screen import clean, console
from sim.journal.journal import Journal
from sim.timeline import Tone, events

STYLES = {
    Tone.PHASE: "bold",
    Tone.CALL: "cyan",
    Tone.FAULT: "magenta",
    Tone.WRONG: "yellow",
    Tone.VIOLATED: "bold red",
    Tone.PLAIN: "",
}

HOST_COLUMNS = 9


def put_story(journal: Journal, violations: Sequence[str], *, everything: bool = False) -> None:
    """Write one line per event: seconds since the beginning, host, what."""
    screen = console(stderr=False)
    for event in events(journal.facts, violations, everything=everything):
        line = Text(f"{event.at_s:12.6f} {event.host:<{HOST_COLUMNS}} ", "dim")
        screen.print(line + clean(event.text.replace("\n", " "), STYLES[event.tone]), soft_wrap=True)
