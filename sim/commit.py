"""Which source this simulator runs: the commit of its tree, for the line that replays a failure.

A `+` says that `ktms/` or `sim/` differ from the commit, so nobody else can have the same tree. An installed wheel
has no commit; its release stands instead. Nothing here fails when git is missing.
"""

import functools
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version  # noqa: TID251 - reads a version, imports nothing
from pathlib import Path

PACKAGE = Path(__file__).parent

COMMIT_SIGNS = 12
"""Digits of a commit in a line."""

GIT_TIMEOUT_S = 10.0
"""A git that hangs, on a share that is away, is as good as none."""

CHANGED = "+"
"""Stands behind a commit whose tree has changes."""

UNKNOWN = "unknown"
"""Neither a checkout nor an installed release."""


@functools.cache
def commit_here() -> str:
    """Give the commit of this tree, with `+` when it has changes, or `v<version>` of an installed release."""
    return commit_of(PACKAGE)


def commit_of(package: Path) -> str:
    """Do so for the folder of a package that lies at the top of its tree."""
    # An environment inside somebody's checkout is no checkout of ours: there the package lies deeper.
    if _git(package, "rev-parse", "--show-prefix") != f"{package.name}/":
        return _release()
    commit = _git(package, "rev-parse", f"--short={COMMIT_SIGNS}", "HEAD")
    if not commit:
        return _release()
    changes = _git(package, "status", "--porcelain", "--", ":/ktms", ":/sim")
    return commit + CHANGED if changes else commit


def same_commit(one: str, other: str) -> bool:
    """Whether two trees are of one commit, whatever changes they have besides."""
    return one.removesuffix(CHANGED) == other.removesuffix(CHANGED)


def _release() -> str:
    try:
        return f"v{version('ktms')}"
    except PackageNotFoundError:
        return UNKNOWN


def _git(folder: Path, *words: str) -> str:
    """Give what git says, empty when it says nothing or cannot."""
    git = shutil.which("git")
    if git is None:
        return ""
    try:
        done = subprocess.run(  # noqa: S603 - fixed words, no shell
            [git, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=GIT_TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
