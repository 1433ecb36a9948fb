"""A systemd of a user, for one test: a real one with a `/run` of its own, wherever tests run."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.program import Program, environment, run

SYSTEMD = Path("/usr/lib/systemd/systemd")
RUNTIME = f"/run/user/{os.getuid()}"

SCRIPT = f"""
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system {RUNTIME} && chmod 700 {RUNTIME} &&
echo ready && exec {SYSTEMD} --user --log-target=console
"""


class NoSystemd(Exception):
    """None can run here; the message says why."""


@dataclass(frozen=True, slots=True)
class OwnSystemd:
    """A running one. `inside`: words before a command that is to see it."""

    inside: tuple[str, ...]
    runtime: str = RUNTIME


@contextmanager
def own_systemd(home: Path) -> Iterator[OwnSystemd]:
    """Run one while the block runs.

    Raises:
        NoSystemd: see there.
    """
    for name in ("unshare", "nsenter", "systemctl"):
        if shutil.which(name) is None:
            raise NoSystemd(f"{name} is not on this machine")
    if not SYSTEMD.exists():
        raise NoSystemd("systemd is not on this machine")
    if subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode != 0:
        raise NoSystemd("this user may not have a namespace for mounts")
    env = environment(home, XDG_RUNTIME_DIR=RUNTIME)
    del env["XDG_CONFIG_HOME"]  # the systemd of a user is started by the system, which sets none
    with Program(["unshare", "-m", "sh", "-c", SCRIPT], env, home.parent, "systemd") as program:
        program.said("ready")
        inside = ("nsenter", f"--mount=/proc/{program.process.pid}/ns/mnt")
        asked = [*inside, "systemctl", "--user", "is-system-running"]
        program.until(lambda: run(asked, env).out.strip() in {"running", "degraded"}, "this user's systemd is up")
        yield OwnSystemd(inside)
