"""`ktms-node verify`: the gateway dials back with a real call for one token, and says whether that worked.

What the running agent announced last is announced again, word for word and with its epoch, so the agent stays the
one that is served. Not here: why it does not work (`doctor/`).
"""

import argparse
import asyncio
import sys

from ktms.node.announcer import Announced, Announcer
from ktms.node.commands.options import at_home, home_of
from ktms.node.far import far_session
from ktms.node.said_again import said_again
from ktms.node.settings import NodeSettings
from ktms.node.settings_file import SettingsUnusable, read_settings
from ktms.node.state import EngineState, NodeState
from ktms.node.status import read_status

EXIT_WELL, EXIT_NOT, EXIT_UNUSABLE = 0, 1, 2


def add(parser: argparse.ArgumentParser) -> None:
    """Give it its options."""
    at_home(parser)


def main(options: argparse.Namespace) -> int:
    """Ask the gateway; 0 where it reaches this node and gets a token."""
    home = home_of(options)
    try:
        settings = read_settings(home.settings)
    except SettingsUnusable as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_UNUSABLE
    said = said_again(settings, read_status(home.status))
    if isinstance(said, str):
        sys.stderr.write(f"{said}; `ktms-node doctor` says why\n")
        return EXIT_NOT
    answer = asyncio.run(_ask(settings, said))
    code, line = verdict(answer)
    (sys.stdout if code == EXIT_WELL else sys.stderr).write(line + "\n")
    return code


def verdict(answer: Announced) -> tuple[int, str]:
    """Say what the gateway's answer means, with the exit code."""
    if answer.status != 200:
        why = answer.message or f"it answers {answer.status}"
        return EXIT_NOT, f"the gateway did not look: {why}"
    if answer.verified:
        return EXIT_WELL, f"the gateway reached this node and got a token; served: {', '.join(answer.accepted)}"
    reason = answer.reason or "it does not say why"
    return EXIT_NOT, f"the gateway cannot use this node: {reason}; `ktms-node doctor` says what helps"


async def _ask(settings: NodeSettings, said: dict[str, object]) -> Announced:
    async with far_session() as session:
        state = NodeState(EngineState(settings.engine))
        announcer = Announcer(settings, state, lambda: None, session, epoch_ms=0, told=lambda *_: None)
        return await announcer.ask(said, verify=True)
