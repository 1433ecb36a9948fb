"""The command where its packages are missing, as in a Python without ours."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def bare(folder: Path) -> str:
    code = "import sys; sys.modules['aiohttp'] = None; from sim.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    ).stderr


def test_a_missing_package_says_what_to_install(tmp_path: Path) -> None:
    assert bare(tmp_path) == "ktms-sim: the command needs the package aiohttp: run pip install 'ktms[server]'\n"


def test_an_environment_that_stands_here_is_named_instead(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    assert bare(tmp_path).endswith(": run .venv/bin/python -m sim, or first . .venv/bin/activate\n")


def test_an_environment_that_runs_already_lacks_the_package(tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(sys.prefix)
    assert bare(tmp_path).endswith(": run pip install 'ktms[server]'\n")
