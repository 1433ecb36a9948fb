"""`python -m tests.perf`: measure, prove, print; write JSON, picture and, when asked, the documented table."""

import argparse
import sys
from pathlib import Path

from tests.perf.bars import Verdict, bars
from tests.perf.child import ROOT
from tests.perf.contenders import line_up
from tests.perf.machine import look
from tests.perf.measure import run
from tests.perf.picture import draw
from tests.perf.plan import FULL, QUICK
from tests.perf.proof import Unproven, prove
from tests.perf.report import table, update_document, write_json

RESULTS = ROOT / "bench-results"
DOCUMENT = ROOT / "docs" / "performance.md"

INVALID = 2
"""Exit code of a run whose gateways did not do what they claim: it has no figures."""


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.perf", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute; figures to look at, not to quote")
    parser.add_argument("--no-gateway", action="store_true", help="measure the comparisons alone (calibration)")
    parser.add_argument("--litellm-venv", type=Path, help="an environment with LiteLLM, to compare with")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for JSON and picture")
    parser.add_argument("--document", action="store_true", help=f"update the table in docs/{DOCUMENT.name}")
    parser.add_argument("--strict", action="store_true", help="exit code 1 when a first bar is missed")
    return parser.parse_args()


def main() -> int:
    """Run the benchmark; give the exit code."""
    options = arguments()
    plan = QUICK if options.quick else FULL
    machine = look()
    with line_up(gateway=not options.no_gateway, litellm_venv=options.litellm_venv) as running:
        figures = run(running, plan)
        try:
            prove(running)
        except Unproven as unproven:
            sys.stderr.write(f"bench: not valid: {unproven}\n")
            return INVALID
        rows = bars(figures)
        text = table(running, figures, rows, machine)
        write_json(options.results / "bench.json", running, figures, rows, machine, plan.name)
        draw(options.results / "bench.png", running, figures)
    sys.stdout.write(f"{text}\n")
    if options.document and not update_document(DOCUMENT, text):
        sys.stderr.write(f"{DOCUMENT.name} has no markers for the table: not updated\n")
    missed = [bar.name for bar in rows if bar.verdict is Verdict.MISSED]
    return 1 if options.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
