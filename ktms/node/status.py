"""What the running agent knows of itself, as a file that `ktms-node status` and the doctor read.

It holds nothing secret, and is written whenever something is news. Not here: what is done about it (`doctor/`).
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from ktms.node.plain_json import from_json
from ktms.node.said import Place
from ktms.node.settings import NodeSettings
from ktms.node.state import NodeState
from ktms.node.tunnel import TunnelState


@dataclass(frozen=True, slots=True)
class Known:
    """All of it. `problem` is what the last announcement, `said`, met; None: it was taken."""

    settings: NodeSettings
    state: NodeState
    place: Place | None
    tunnel: TunnelState | None
    problem: str | None
    accepted: tuple[str, ...]
    ignored: tuple[str, ...]
    pid: int
    version: str
    said: dict[str, object] | None = None


def status_of(known: Known) -> dict[str, object]:
    """Give it as plain members."""
    engine, tunnel = known.state.engine, known.tunnel
    return {
        "pid": known.pid,
        "version": known.version,
        "state": "draining" if known.state.leaving or known.state.draining else "serving",
        "gateway": known.settings.gateway,
        "url": None if known.place is None else known.place.url,
        "announced": known.problem is None,
        "problem": known.problem,
        "accepted": list(known.accepted),
        "ignored": list(known.ignored),
        "epoch": None if known.said is None else known.said.get("epoch"),
        "said": None if known.said is None else {key: one for key, one in known.said.items() if key != "token"},
        "tunnel": None if tunnel is None else {"ready": tunnel.ready, "hostname": tunnel.hostname},
        "engine": {
            "kind": engine.kind.value,
            "answers": engine.answers,
            "version": engine.version,
            "slots": engine.slots,
            "busy": engine.busy,
            "models": [
                {
                    "name": model.name,
                    "context_window": model.context_window,
                    "loaded": model.loaded,
                    "on_gpu": model.on_gpu,
                    "tokens_per_second": model.tokens_per_s,
                }
                for model in engine.models
            ],
        },
    }


def write_status(path: Path, status: dict[str, object]) -> None:
    """Replace the file whole, so that nobody reads half of it.

    Raises:
        OSError: the folder cannot be written to.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(status, indent=1) + "\n", encoding="utf-8")
    beside.chmod(0o600)
    os.replace(beside, path)  # noqa: PTH105 - as the system call is named


def read_status(path: Path) -> dict[str, object] | None:
    """Read what an agent wrote last; None where none has."""
    try:
        found = from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
