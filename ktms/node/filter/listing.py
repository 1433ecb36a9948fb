"""The answer to `GET /v1/models`: what the node serves, and beside each model what is known of it.

The gateway reads it every 5 s; what is not known is null. Not here: how it was found out (`engines/`).
"""

import json

from ktms.domain.errors import ErrorCode
from ktms.node.filter.own_models import own_models
from ktms.node.filter.refused import Refused, refused
from ktms.node.settings import NodeSettings
from ktms.node.state import ModelState, NodeState

STATE_HEADER = "X-KTMS-Node-State"

WHOLLY = 0.999
"""Shares are quotients of bytes: what is this near to all of a model is all of it."""


def state_header(state: NodeState) -> tuple[str, str]:
    """Say whether new calls are taken."""
    return STATE_HEADER, "draining" if state.draining else "ready"


def listing(settings: NodeSettings, state: NodeState) -> bytes | Refused:
    """Write the list; an engine that does not answer has none, however much is remembered of it."""
    if not state.engine.answers:
        return refused(ErrorCode.NO_NODE_AVAILABLE, "The engine of this node does not answer.")
    entries = [_entry(model, settings, state) for model in own_models(state.engine, settings.models)]
    return json.dumps({"object": "list", "data": entries}, separators=(",", ":")).encode()


def _entry(model: ModelState, settings: NodeSettings, state: NodeState) -> dict[str, object]:
    engine = state.engine
    told = {
        "loaded": model.loaded,
        "context_window": model.context_window,
        "slots": engine.slots if settings.slots is None else settings.slots,
        "busy": max(state.under_way, engine.busy or 0),  # an engine that was left may still be at it (N23)
        "engine": engine.kind.value,
        "engine_version": engine.version,
        "on_gpu": None if model.on_gpu is None else model.on_gpu >= WHOLLY,
        "tokens_per_second": model.tokens_per_s,
    }
    return {"id": model.name, "object": "model", "created": 0, "owned_by": engine.kind.value, "ktms": told}
