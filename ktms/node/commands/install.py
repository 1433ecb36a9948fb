"""`ktms-node install` and `ktms-node uninstall`: change how this machine is a node, or end that.

The agent itself is replaced by the gateway's script alone, which knows the hash of the new one. Not here: what is
done (`ktms/node/install/`).
"""

import argparse

from ktms.node.install import options as install_options
from ktms.node.install.running import install, uninstall

__all__ = ["add", "install", "uninstall"]


def add(parser: argparse.ArgumentParser) -> None:
    """Give it its options: those of the script."""
    install_options.add(parser)
