"""How fast a swarm goes: a bar where there is a terminal, a line now and then where there is none."""

import sys
import time
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from sim.cli.screen import console, say
from sim.swarm import Bounds, Tally

LINE_EVERY_S = 30.0
"""How often a line is written into a log: often enough to see that it lives."""


class Pace:
    """Shows a tally as it grows."""

    def __init__(self, tally: Tally, bounds: Bounds) -> None:
        self._tally = tally
        self._bounds = bounds
        self._began = self._told = time.perf_counter()
        self._live = sys.stderr.isatty()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console(stderr=True),
            transient=True,
            disable=not self._live,
        )
        self._task = self._bar.add_task("starting", total=1.0)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def moved(self) -> None:
        """Show that one more world has ended."""
        now = time.perf_counter()
        self._bar.update(self._task, completed=self._share(now - self._began), description=self._words(now))
        if not self._live and now - self._told >= LINE_EVERY_S:
            self._told = now
            say(self._words(now))

    def _words(self, now: float) -> str:
        tally, wall_s = self._tally, max(now - self._began, 1e-9)
        failed = f", {len(tally.failures)} failed" if tally.failures else ""
        return (
            f"{tally.worlds} worlds, {tally.worlds / wall_s:.1f}/s, "
            f"{tally.simulated_s / wall_s:.0f} simulated s per s{failed}"
        )

    def _share(self, wall_s: float) -> float:
        by_time = wall_s / self._bounds.seconds if self._bounds.seconds else 0.0
        by_worlds = self._tally.worlds / self._bounds.worlds if self._bounds.worlds else 0.0
        return min(1.0, max(by_time, by_worlds))
