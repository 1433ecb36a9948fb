"""The `ktms` command. Not here: the commands (`root.py` finds them)."""

import sys

try:
    from ktms.app.cli.root import ktms
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] == "ktms":
        raise  # ours is missing: a broken release, not a missing extra
    MISSING = error.name
else:
    MISSING = None


def main() -> None:
    """Run the command line of this process."""
    if MISSING is not None:
        sys.exit(f"ktms: the command needs the package {MISSING}: run pip install 'ktms[server]'")
    ktms(prog_name="ktms")
