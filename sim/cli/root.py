"""The root command: its commands, and the exit codes of all.

0: all is well; 1: an invariant is violated, or the coverage has a gap; 2: bad input; 3: a world broke, so nothing
can be said about it, a hung one among them. What Ctrl-C ends gives 130.
"""

import click

from sim.cli.bench import bench
from sim.cli.completion import completion
from sim.cli.coverage import coverage
from sim.cli.diverge import diverge
from sim.cli.example import example
from sim.cli.failures import failures
from sim.cli.hunt import hunting
from sim.cli.listing import listing
from sim.cli.replay import replay
from sim.cli.run import run
from sim.cli.screen import say
from sim.cli.shrink import shrink
from sim.cli.swarm import swarm
from sim.cli.verdict import INTERRUPTED
from sim.cli.worlds import worlds

COMMANDS = (run, swarm, replay, shrink, diverge, coverage, failures, listing, hunting, bench, completion, worlds)


class InOrder(click.Group):
    """Lists its commands as they are most likely needed; Ctrl-C ends each in one line."""

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("interrupted")
            ctx.exit(INTERRUPTED)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names."""
        del ctx
        return list(self.commands)


@click.group(
    cls=InOrder,
    commands={command.name or "": command for command in COMMANDS},
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=example(
        "# three minutes of random worlds; the line of one that fails, told as a story and made small",
        "ktms-sim swarm --minutes 3",
        "ktms-sim replay 'KTMS_SIM=… seed=… scenario=… plan=… hash=…'",
        "ktms-sim shrink 'KTMS_SIM=… seed=… scenario=… plan=… hash=…'",
    ),
)
def main() -> None:
    """Run the gateway in simulated worlds, in which one seed decides everything.

    Exit codes: 0 well, 1 an invariant violated or another run than the line tells of, 2 bad input, 3 a world that
    could not be judged, 130 Ctrl-C.
    """
