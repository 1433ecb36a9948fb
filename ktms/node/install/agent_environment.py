"""Makes the agent's Python environment: its packages by hash, ready-made ones only, then the agent itself.

Rules: nothing is built here, so nobody's build script runs; pip keeps no cache beside our folder; what is complete
is marked with the wheel's hash, so a run that was cut starts over. Not here: which Python (`install.sh`).
"""

import pkgutil

from ktms.node.install.actions import InstallAgent
from ktms.node.install.refused import Refused
from ktms.node.machine import Machine, Ran

INSTALL_S = 900.0
"""Ten packages over a slow line."""

PLAIN = ("env", "-u", "PIP_USER", "-u", "PIP_TARGET", "-u", "PIP_PREFIX", "-u", "PYTHONPATH")
"""These would put packages elsewhere; what else a person has set for pip (a mirror, a certificate) holds."""

PIP = ("-m", "pip", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "install", "--quiet")


def install_agent(machine: Machine, what: InstallAgent) -> None:
    """Do it.

    Raises:
        Refused: Python or pip cannot.
    """
    own = str(what.environment / "bin" / "python")
    what.mark.unlink(missing_ok=True)
    if machine.run((own, "-c", "import ssl, pip")).code != 0:
        words = (*PLAIN, what.python, "-m", "venv", "--clear", str(what.environment))
        _expect(machine.run(words, within_s=INSTALL_S), "no Python environment can be made")
    pinned = what.environment / "requirements.txt"
    machine.write(pinned, requirements())
    by_hash = ("--require-hashes", "--only-binary", ":all:", "--no-deps", "-r", str(pinned))
    _pip(machine, own, by_hash)
    _pip(machine, own, ("--no-deps", "--no-index", "--force-reinstall", str(what.wheel)))
    machine.write(what.mark, what.wheel_sha256 + "\n")


def requirements() -> str:
    """Give the packages of the agent with their hashes, as they were locked for this release."""
    found = pkgutil.get_data("ktms.node", "requirements.txt")
    assert found is not None, "the wheel holds it"
    return found.decode()


def _pip(machine: Machine, python: str, words: tuple[str, ...]) -> None:
    _expect(
        machine.run((*PLAIN, python, *PIP, *words), within_s=INSTALL_S), "the agent's packages are not to be had"
    )


def _expect(ran: Ran, what: str) -> None:
    if ran.code != 0:
        said = [line for line in ran.err.strip().splitlines() if line]
        why = next((line for line in said if line.startswith("ERROR")), said[-1] if said else f"code {ran.code}")
        raise Refused(f"{what}: {why}", "run this again where the package registry is reached")
