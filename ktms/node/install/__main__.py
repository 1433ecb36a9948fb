"""`python -m ktms.node.install`: what `install.sh` hands over to."""

import argparse
import sys
from collections.abc import Sequence

from ktms.node.install import options, running


def parser() -> argparse.ArgumentParser:
    """Make the parser: the options of the script."""
    made = argparse.ArgumentParser(prog="install.sh", description="Makes this machine a node of a KTMS gateway.")
    options.add(made)
    made.add_argument("--uninstall", action="store_true", help="remove all of it")
    made.add_argument("--doctor", action="store_true", help="say what is wrong with the node of this machine")
    return made


def main(words: Sequence[str] | None = None) -> int:
    """Install, or remove."""
    asked = parser().parse_args(words)
    return running.uninstall(asked) if asked.uninstall else running.install(asked)


if __name__ == "__main__":
    sys.exit(main())
