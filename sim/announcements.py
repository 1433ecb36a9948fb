"""What the agents of machines that join say, as HTTP requests.

Not here: what a machine answers to calls (`sim/fakes/engines/agent.py`), the keys of nodes (the operator's), when
an agent announces (`sim/actors/agent.py`).
"""

import json

from sim.actors.request import Request
from sim.catalogue import ENGINES, TARGET_PORT
from sim.draft import AgentDraft, NodeDraft, vendor_model_of
from sim.fakes.clock import WALL_AT_START

PATH = "/node/v1/announce"


def epoch_ms_of(agent: AgentDraft) -> int:
    """Give the start of an agent as it says it."""
    return round((WALL_AT_START + agent.started_s) * 1000)


def announcement_of(agent: AgentDraft, machine: NodeDraft, token: str, host: str) -> Request:
    """Write what an agent sends; `host` is its machine's name, or its address."""
    said = {
        "url": f"http://{host}:{TARGET_PORT}",
        "token": f"canary-token-of-{machine.name}",
        "engine": ENGINES[machine.engine].value,
        "epoch": epoch_ms_of(agent),
        "draining": agent.draining,
        "slots": machine.slots,
        "models": [
            {"name": vendor_model_of(model), "context_window": machine.window, "loaded": True}
            for model in machine.serves
        ],
    }
    headers = (
        (b"Host", b"gateway"),
        (b"Content-Type", b"application/json"),
        (b"Authorization", b"Bearer " + token.encode()),
    )
    return Request("PUT", PATH, headers, json.dumps(said).encode())
