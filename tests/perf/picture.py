"""Draws the contenders side by side: processor time per request and per chunk, latency alone."""

from pathlib import Path

from matplotlib.figure import Figure

from tests.perf.contenders import ALL_ON, BARE, COPY, DIRECT, GATEWAY, LEASED, LITELLM, NGINX, LineUp
from tests.perf.measure import ALONE, BUSY, STREAMS, Figures
from tests.perf.report import shown as written

PANELS = (
    ("CPU per request (us), 32 connections", BUSY, "cpu_us"),
    ("CPU per chunk (us), 200 streams", STREAMS, "cpu_us"),
    ("latency alone, p50 (ms)", ALONE, "p50_ms"),
)

COLOURS = {
    DIRECT: "tab:gray",
    GATEWAY: "tab:blue",
    LEASED: "tab:cyan",
    ALL_ON: "tab:purple",
    NGINX: "tab:green",
    BARE: "tab:orange",
    COPY: "tab:olive",
    LITELLM: "tab:red",
}


def draw(path: Path, line_up: LineUp, figures: Figures) -> None:
    """Write a PNG: a bar at the lower quartile, a dot for each window."""
    figure = Figure(figsize=(15, 4.2), layout="constrained")
    axes = figure.subplots(1, len(PANELS))
    for axis, (title, part, name) in zip(axes, PANELS, strict=True):
        names = [c.name for c in line_up.contenders if figures.of(part, c.name).figures.get(name)]
        for place, contender in enumerate(names):
            samples = figures.of(part, contender)
            low = samples.quartile(name) or 0
            axis.barh(place, low, color=COLOURS.get(contender, "tab:brown"), alpha=0.7)
            axis.plot(samples.figures[name], [place] * len(samples.figures[name]), "k.", markersize=4)
            axis.annotate(f" {written(low)}", (0, place), fontsize=9, va="center")
        axis.set_yticks(range(len(names)), names)
        axis.invert_yaxis()
        axis.set_title(title, fontsize=10)
        axis.grid(axis="x", alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
