"""The `ktms-sim` command, also `python -m sim`. Not here: the commands (`root.py` lists them)."""

import sys
from collections.abc import Callable
from pathlib import Path

try:
    from sim.cli.root import main as group
except ModuleNotFoundError as error:
    MISSING = error.name or ""
    if MISSING.split(".")[0] in {"ktms", "sim"}:
        raise  # ours is missing: a broken release, not a missing extra

    def _main() -> None:
        sys.exit(f"ktms-sim: the command needs the package {MISSING}: {_remedy()}")

    def _remedy() -> str:
        here = Path(".venv")
        if here.is_dir() and here.resolve() != Path(sys.prefix).resolve():
            return "run .venv/bin/python -m sim, or first . .venv/bin/activate"
        return "run pip install 'ktms[server]'"

    main: Callable[[], object] = _main
else:
    main = group
