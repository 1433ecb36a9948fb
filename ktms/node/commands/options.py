"""Options that several commands have."""

import argparse
from pathlib import Path

from ktms.node.home import FOLDER, NodeHome


def at_home(parser: argparse.ArgumentParser) -> None:
    """Add where the agent keeps things."""
    parser.add_argument("--home", type=Path, help=f"the agent's folder (default: ~/{FOLDER})")


def home_of(options: argparse.Namespace) -> NodeHome:
    """Give that folder."""
    return NodeHome(options.home or Path.home() / FOLDER)
