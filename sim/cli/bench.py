"""`ktms-sim bench`: how fast worlds are on this machine."""

import click

from sim.bench import BenchBroken, Report, measure
from sim.cli.example import example
from sim.cli.screen import put, put_json, put_table, say
from sim.cli.verdict import BROKEN

ROUNDS = 3


@click.command(epilog=example("ktms-sim bench", "ktms-sim bench --rounds 5 --json"))
@click.option("--rounds", type=click.IntRange(1), default=ROUNDS, show_default=True, help="Best of so many.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.pass_context
def bench(ctx: click.Context, *, rounds: int, as_json: bool) -> None:
    """Measure how fast worlds are, against the bars that are set.

    A figure is compared as it would be where the yardstick, a fixed loop, runs at its reference speed. Exit code 1
    when a bar is not reached.
    """
    try:
        report = measure(rounds, say)
    except BenchBroken as error:
        say(f"a world of the benchmark is not sound: {error}", "red")
        ctx.exit(BROKEN)
    if as_json:
        put_json(_row(report))
    else:
        _put(report)
    ctx.exit(0 if all(figure.reached for figure in report.figures) else 1)


def _put(report: Report) -> None:
    put(f"yardstick: {report.yardstick / 1e6:.2f} million steps per CPU second")
    rows = (
        (
            figure.name,
            f"{figure.value:,.0f}",
            f"{figure.adjusted:,.0f}",
            f"{figure.bar:,.0f}" if figure.bar else "-",
            "yes" if figure.reached else "NO",
            figure.unit,
        )
        for figure in report.figures
    )
    put_table(("what", "measured", "at reference speed", "bar", "reached", "unit"), rows)


def _row(report: Report) -> dict[str, object]:
    return {
        "yardstick_steps_per_cpu_s": round(report.yardstick),
        "figures": [
            {
                "name": figure.name,
                "unit": figure.unit,
                "value": round(figure.value, 2),
                "at_reference_speed": round(figure.adjusted, 2),
                "bar": figure.bar or None,
                "reached": figure.reached,
            }
            for figure in report.figures
        ],
    }
