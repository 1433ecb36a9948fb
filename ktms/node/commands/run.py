"""`ktms-node run`: the agent itself, as the service of this machine runs it."""

import argparse
import asyncio
import os
import resource
import time
from datetime import UTC, datetime
from pathlib import Path

from ktms.node.agent import EXIT_OK, EXIT_SUPERSEDED, Agent, Means
from ktms.node.announcer import Superseded
from ktms.node.commands.options import at_home, home_of
from ktms.node.log import told_to
from ktms.node.release import release
from ktms.node.service.background import FILES_MAX
from ktms.node.settings_file import SettingsUnusable, read_settings
from ktms.node.this_machine import ThisMachine

EXIT_UNUSABLE = 2


def add(parser: argparse.ArgumentParser) -> None:
    """Give it its options."""
    at_home(parser)
    parser.add_argument("--log-file", type=Path, help="also write lines there; it is kept below some megabytes")
    parser.add_argument(
        "--superseded-is-success",
        action="store_true",
        help="end with 0 where another agent has this node's name: launchd would start this one again",
    )
    parser.add_argument("--cloudflared", default="cloudflared", help="the program of the tunnel")


def main(options: argparse.Namespace) -> int:
    """Run until told to leave; gives the exit code."""
    os.umask(0o077)  # whoever may write the status file chooses what `ktms-node verify` announces
    _have_files()
    home = home_of(options)
    told = told_to(options.log_file, _now_text)
    try:
        settings = read_settings(home.settings)
        means = Means(
            settings=settings,
            home=home,
            machine=ThisMachine(),
            told=told,
            now=time.time,  # noqa: TID251 - the one clock of the agent
            version=release(),
            cloudflared=options.cloudflared,
            keeps_awake=True,
        )
        return asyncio.run(_run(means))
    except SettingsUnusable as error:
        told("error", str(error))
        return EXIT_UNUSABLE
    except OSError as error:
        told("error", f"the filter cannot listen: {error.strerror or error}")
        return EXIT_UNUSABLE
    except Superseded as error:
        told("error", f"{error}")
        return EXIT_OK if options.superseded_is_success else EXIT_SUPERSEDED


async def _run(means: Means) -> int:
    try:
        return await Agent(means).run()
    except* Superseded as several:
        raise several.exceptions[0] from None


def _have_files() -> None:
    """Take as many descriptors as a service gets: shells and containers give fewer than there may be calls."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_MAX if hard == resource.RLIM_INFINITY else min(FILES_MAX, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _now_text() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
