"""`python -m chaos.stand.unguarded GUARD [WORD]...`: the product's command, with one of its guards taken away.

A program and no module: whatever it loads of the product stays in its own process. Not here: which guards there
are (`guards.py`), why one is taken away (`chaos/experiments`).
"""

import pkgutil
import sys

from chaos.stand.guards import GUARDS
from sim.planted.bug import altered

COMMAND = "ktms.app.cli:main"
"""What the product's own program calls."""


def main(guard: str, *words: str) -> None:
    """Run the product's command with these words until it ends."""
    taken = GUARDS[guard]
    command = pkgutil.resolve_name(COMMAND)
    with altered(taken.id, pkgutil.resolve_name(taken.place), taken.old, taken.new):
        sys.argv = ["ktms", *words]
        command()


if __name__ == "__main__":
    main(*sys.argv[1:])
