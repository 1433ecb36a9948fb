"""`ktms-node status`: what the running agent knows, in a few lines or as JSON."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping

from ktms.node.commands.options import at_home, home_of
from ktms.node.status import read_status

EXIT_RUNS, EXIT_AWAY = 0, 1

PID_MAX = 2**31 - 1
"""What the system's type for them holds."""


def add(parser: argparse.ArgumentParser) -> None:
    """Give it its options."""
    at_home(parser)
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def main(options: argparse.Namespace) -> int:
    """Print it; 1 where no agent runs."""
    status = read_status(home_of(options).status)
    if status is None or not _runs(status):
        sys.stderr.write("no agent runs here; `ktms-node doctor` says why\n")
        return EXIT_AWAY
    text = json.dumps(status, indent=2) if options.json else "\n".join(lines(status))
    sys.stdout.write(text + "\n")
    return EXIT_RUNS


def lines(status: Mapping[str, object]) -> Iterator[str]:
    """Give the lines for a person, also of what an agent of another release wrote."""
    engine = _members(status.get("engine"))
    models = engine.get("models")
    yield f"agent    {status.get('version')}, process {status.get('pid')}, {status.get('state')}"
    announced = "announced" if status.get("announced") else status.get("problem")
    yield f"gateway  {status.get('gateway')}: {announced}"
    yield f"reached  {status.get('url') or 'nowhere yet'}"
    answers = "answers" if engine.get("answers") else "does not answer"
    known = (engine.get(name) or "?" for name in ("kind", "version", "slots"))
    yield "engine   {} {} {answers}, {} slots".format(*known, answers=answers)
    for model in map(_members, models if isinstance(models, list) else ()):
        yield f"  {model.get('name')}  {', '.join(_facts(model))}"


def _members(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _facts(model: Mapping[str, object]) -> Iterator[str]:
    loaded, on_gpu, speed = (model.get(name) for name in ("loaded", "on_gpu", "tokens_per_second"))
    yield "loaded or not: unknown" if loaded is None else "loaded" if loaded else "not loaded"
    if model.get("context_window") is not None:
        yield f"{model['context_window']} tokens"
    if isinstance(on_gpu, int | float):
        yield f"{100 * on_gpu:.0f} % on GPU"
    if isinstance(speed, int | float):
        yield f"{speed:.0f} tokens/s"


def _runs(status: Mapping[str, object]) -> bool:
    pid = status.get("pid")
    if not isinstance(pid, int) or not 0 < pid <= PID_MAX:  # other numbers stand for groups of processes
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
