"""The two ways to run a gateway, as the command line calls them: settings read, folders found, one start."""

import os

from ktms.adapters.system.entropy import SystemEntropy
from ktms.app.failed import StartFailed
from ktms.app.home import Home
from ktms.app.options import ServeOptions, UpOptions
from ktms.app.serve import serve
from ktms.app.up import up
from ktms.config.environment import process_environment
from ktms.config.places import config_home, data_home
from ktms.config.settings import Settings, from_environment
from ktms.config.variables import SettingsInvalid


async def run_up(options: UpOptions) -> None:
    """Run a whole gateway on this machine until a signal.

    Raises:
        StartFailed: with what is in the way.
    """
    settings = _settings()
    environ = process_environment()
    home = Home(config_home(environ), SystemEntropy())
    data_dir = options.data_dir or data_home(environ, as_root=os.geteuid() == 0)
    await up(options, settings, home, data_dir)


async def run_serve(options: ServeOptions) -> None:
    """Run a gateway in production until a signal.

    Raises:
        StartFailed: with what is missing or in the way.
    """
    settings = _settings()
    if options.workers is not None and options.workers > 1:
        raise StartFailed("--workers: this release runs one worker per process; start several behind a balancer")
    await serve(settings)


def _settings() -> Settings:
    try:
        return from_environment()
    except SettingsInvalid as error:
        raise StartFailed(*error.lines) from error
