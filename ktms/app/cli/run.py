"""`ktms up` and `ktms serve`: read the options; the work is in `ktms/app/lifecycle.py`."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path

import click
import uvloop

from ktms.app.cli.example import example
from ktms.app.cli.failed import CommandFailed
from ktms.app.failed import StartFailed
from ktms.app.lifecycle import run_serve, run_up
from ktms.app.options import ServeOptions, UpOptions
from ktms.config.address import PORT_MAX
from ktms.config.settings import WORKERS_MAX


@click.command(epilog=example("# with a configuration of your own", "ktms up --config gateway.yaml"))
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="Where databases live [default: $XDG_DATA_HOME/ktms; for root, where that is not set, /var/lib/ktms].",
)
@click.option(
    "--port", type=click.IntRange(1, PORT_MAX), help="Port of the API [default: 8080, or the next free one]."
)
@click.option("--config", type=click.Path(path_type=Path), help="gateway.yaml to serve [default: what is stored].")
@click.option("--no-demo", is_flag=True, help="Start no demo node when no engine is found.")
def up(*, data_dir: Path | None, port: int | None, config: Path | None, no_demo: bool) -> None:
    """Run a whole gateway on this machine, databases included.

    Bound to 127.0.0.1. Finds the engines that run here, or starts a small demo node, and prints what to try first.
    """
    _run(run_up(UpOptions(data_dir=data_dir, port=port, config=config, demo=not no_demo)))


@click.command(
    epilog=example(
        "KTMS_DATABASE_URL_FILE=/run/secrets/db KTMS_REDIS_URL=redis://redis:6379/0 \\",
        "KTMS_ENCRYPTION_KEYS_FILE=/run/secrets/keys ktms serve",
    )
)
@click.option(
    "--workers", type=click.IntRange(1, WORKERS_MAX), help="Processes that share the port [env KTMS_WORKERS]."
)
def serve(*, workers: int | None) -> None:
    """Run a gateway in production, as the KTMS_ environment says."""
    _run(run_serve(ServeOptions(workers=workers)))


def _run(gateway: Coroutine[None, None, None]) -> None:
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(gateway)
    except StartFailed as error:
        raise CommandFailed(*error.lines) from error
