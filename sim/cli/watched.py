"""One world in this process, under a watch: where it takes too long, or Ctrl-C comes, it is told where it stood.

Either ends the process at once. Whatever runs in a world may catch what is thrown, and some of it does so on
purpose, so nothing is thrown. A call into C that never comes back hears of no signal; it is ended later, by
`faulthandler`, with its own exit code 1. Not here: worlds in other processes (`sim/interpreter.py`).
"""

import faulthandler
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import click

from sim import run as worlds
from sim.cli.inputs import Duration
from sim.cli.screen import put_json, say
from sim.cli.verdict import BROKEN, INTERRUPTED, put_outcome
from sim.commit import commit_here
from sim.edit import Edit
from sim.interpreter import GRACE_S, WORLD_WALL_MAX_S, Order, no_end, unjudged
from sim.outcome_row import row_of
from sim.scenarios.scenario import Scenario

FRAMES_MAX = 16
"""How many of the innermost calls are shown of a world that hangs: the loop around them is always the same."""

STDERR = 2
"""Its file descriptor: the object may have been replaced."""

WALL = click.option(
    "--wall",
    type=Duration(),
    metavar="SECONDS",
    default=WORLD_WALL_MAX_S,
    show_default=True,
    help="Real time after which a world counts as hung.",
)
"""The option of every command that runs worlds."""


def watched(scenario: Scenario, seed: int, edit: Edit, wall_max_s: float, *, as_json: bool) -> worlds.Run:
    """Run one world. Does not come back from one that hangs: the exit code is then 3, or 130 after Ctrl-C."""
    commit = commit_here()
    began = time.perf_counter()

    def hung(where: str) -> None:
        order = Order(scenario.id, seed, edit)
        why = f"{no_end(wall_max_s)}; it stood here, the last call last:\n{where}"
        outcome = unjudged(order, why, time.perf_counter() - began)
        if as_json:
            put_json(row_of(outcome, commit))
        else:
            put_outcome(outcome, commit)

    def interrupted(where: str) -> None:
        say(f"interrupted after {time.perf_counter() - began:.1f} s; it stood here, the last call last:\n{where}")

    with (
        _last_words(signal.SIGINT, interrupted, INTERRUPTED),
        _last_words(signal.SIGALRM, hung, BROKEN),
        _alarm(wall_max_s),
    ):
        return worlds.run(scenario, seed, edit)


@contextmanager
def _alarm(wall_max_s: float) -> Iterator[None]:
    faulthandler.dump_traceback_later(wall_max_s + GRACE_S, exit=True, file=STDERR)
    signal.setitimer(signal.ITIMER_REAL, wall_max_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()


@contextmanager
def _last_words(number: signal.Signals, tell: Callable[[str], None], code: int) -> Iterator[None]:
    """Let a signal end this process after it has told where it stood; one that was ignored is so further on."""

    def leave(_: int, frame: FrameType | None) -> None:
        try:
            tell(_where(frame))
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)

    before = signal.getsignal(number)
    if before is signal.SIG_IGN:
        yield
        return
    signal.signal(number, leave)
    try:
        yield
    finally:
        signal.signal(number, before)


def _where(frame: FrameType | None) -> str:
    """Give the calls of the world, the last one last, without those that led to it."""
    calls = traceback.extract_stack(frame)
    ours = [at for at, call in enumerate(calls) if call.filename == __file__]
    return "".join(traceback.format_list(calls[max(ours, default=-1) + 1 :][-FRAMES_MAX:])).rstrip()
