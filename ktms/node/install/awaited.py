"""Waits until the gateway has taken the agent's announcement, as the agent itself tells in its status file.

Not here: having the gateway call back (`commands/verify.py`).
"""

from collections.abc import Callable
from pathlib import Path

from ktms.node.install.refused import Refused
from ktms.node.machine import Machine
from ktms.node.plain_json import from_json

LOOK_EVERY_S = 0.25

HOPELESS = ("the gateway refuses the node key", "nothing takes announcements there")
"""Beginnings of problems that waiting does not cure; `answered.py` says them."""


def await_announced(
    machine: Machine,
    status: Path,
    within_s: float,
    pause: Callable[[float], None],
    *,
    ended: Callable[[], bool],
    is_its_own: Callable[[], bool],
) -> tuple[str, ...]:
    """Wait; gives the models that are served.

    `ended`: the agent has; `is_its_own`: the file is of one that runs. An agent that drained before this one began
    wrote as its last word that all was well.

    Raises:
        Refused: it will not be announced, or not in time.
    """
    problem = "the agent has said nothing yet"
    for _ in range(int(within_s / LOOK_EVERY_S)):
        said = _read(machine.read(status))
        if said.get("announced") is True and is_its_own():
            accepted = said.get("accepted")
            return tuple(map(str, accepted)) if isinstance(accepted, list) else ()
        problem = str(said.get("problem") or problem)
        if problem.startswith(HOPELESS):
            break
        if ended():
            raise Refused("the agent has ended", "look why: ktms-node doctor")
        pause(LOOK_EVERY_S)
    raise Refused(problem, "look why: ktms-node doctor")


def _read(text: str | None) -> dict[str, object]:
    try:
        said = from_json(text or "")
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
