"""`ktms-sim worlds`, hidden: the other end of `sim/interpreter.py`. An order per line in, an outcome per line out.

Standard output belongs to the outcomes; whatever else is printed goes to standard error.
"""

import contextlib
import faulthandler
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import click

from sim import run as one
from sim.commit import commit_here
from sim.divergence import write_records
from sim.interpreter import WORLD_WALL_MAX_S, Order, read_order
from sim.outcome_row import Told, faults_met, write_told
from sim.scenarios.catalogue import ALL_SCENARIOS

STDERR = 2
"""Its file descriptor: the object may have been replaced, and a hung world is told of without it."""


@click.command(hidden=True)
@click.option("--wall", type=float, default=WORLD_WALL_MAX_S, help="Seconds a world may take in real time.")
def worlds(*, wall: float) -> None:
    """Run worlds as standard input orders them, one line of JSON each."""
    # Ctrl-C is for the process that gives the orders; it ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    outcomes = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        serve(sys.stdin, outcomes, wall)


def serve(orders: Iterable[str], outcomes: IO[str], wall_max_s: float) -> None:
    """Run one world after the other; a world that takes too long ends the process, saying where it stood."""
    commit = commit_here()
    for text in orders:
        faulthandler.dump_traceback_later(wall_max_s, exit=True, file=STDERR)
        try:
            told = _carry_out(read_order(text))
        finally:
            faulthandler.cancel_dump_traceback_later()
        outcomes.write(write_told(told, commit) + "\n")
        outcomes.flush()


def _carry_out(order: Order) -> Told:
    done = one.run(ALL_SCENARIOS[order.scenario], order.seed, order.edit, keep_trace=bool(order.trace))
    if order.trace:
        write_records(Path(order.trace), done.trace.records)
    if order.journal:
        Path(order.journal).write_text("".join(f"{line}\n" for line in done.journal.lines()), encoding="utf-8")
    return Told(done.outcome, faults_met(done.journal.facts))
