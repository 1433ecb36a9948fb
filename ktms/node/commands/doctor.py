"""`ktms-node doctor`: why this node does not serve, and what mends it."""

import argparse
import asyncio
import sys
import time

from ktms.node.commands.options import at_home, home_of
from ktms.node.doctor.gather import Asked, gather
from ktms.node.doctor.judge import exit_code, judge, not_seen
from ktms.node.doctor.report import as_json, lines
from ktms.node.this_machine import ThisMachine

EPILOG = """\
exit codes:
  0  nothing is wrong; what is told is worth knowing
  1  something keeps the node from serving, or it must not serve as it is
  2  it serves, worse than it could: slowly, with a small window, or not after the next restart

Each line is one cause and its remedy; what only follows from it is not told. Nothing is repaired, restarted,
loaded or written. The gateway is asked to dial this node back, which takes two minutes where a model has to be
loaded for it first.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Give it its options."""
    at_home(parser)
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter


def main(options: argparse.Namespace) -> int:
    """Look at everything, and tell causes; gives the exit code."""
    asked = Asked(
        home_of(options),
        ThisMachine(),
        time.time,  # noqa: TID251 - is compared with the gateway's clock
    )
    facts = asyncio.run(gather(asked))
    findings, unknown = judge(facts), not_seen(facts)
    text = as_json(findings, unknown) if options.json else "\n".join(lines(findings, unknown))
    sys.stdout.write(text + "\n")
    return exit_code(findings)
