"""Draws the contenders side by side: processor time per request and per chunk, latency alone."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt  # the backend is chosen first

from tests.perf.contenders import DIRECT, LineUp  # after the backend
from tests.perf.measure import ALONE, BUSY, STREAMS, Figures  # after the backend

PANELS = (
    ("CPU per request (us), 32 connections", BUSY, "cpu_us"),
    ("CPU per chunk (us), 200 streams", STREAMS, "cpu_us"),
    ("latency alone, p50 (ms)", ALONE, "p50_ms"),
)


def draw(path: Path, line_up: LineUp, figures: Figures) -> None:
    """Write a PNG: a bar at the lower quartile, a dot for each window."""
    figure, axes = plt.subplots(1, len(PANELS), figsize=(15, 4.2), layout="constrained")
    for axis, (title, part, name) in zip(axes, PANELS, strict=True):
        shown = [c.name for c in line_up.contenders if figures.of(part, c.name).figures.get(name)]
        for place, contender in enumerate(shown):
            samples = figures.of(part, contender)
            colour = "tab:gray" if contender == DIRECT else f"C{place}"
            axis.barh(place, samples.quartile(name) or 0, color=colour, alpha=0.6)
            values = samples.figures[name]
            axis.plot(values, [place] * len(values), "k.", markersize=4)
        axis.set_yticks(range(len(shown)), shown)
        axis.invert_yaxis()
        axis.set_xscale("log")
        axis.set_title(title, fontsize=10)
        axis.grid(axis="x", alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
