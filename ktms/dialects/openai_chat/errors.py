"""What we ourselves write in OpenAI's shapes: errors, in-stream errors, keep-alives, and the list of models.

Not here: statuses and headers (api), whose fault it is and in which words (domain/errors).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ktms.dialects.json import as_json
from ktms.domain.errors import Problem
from ktms.domain.placement import Placement

KEEPALIVE = b": keep-alive\n\n"
"""A comment: clients skip it, proxies see that the connection lives (P06)."""


def error_body(problem: Problem) -> bytes:
    """Write the body of an error answer."""
    fields = {"message": problem.message, "type": problem.type, "param": problem.param, "code": problem.code}
    return as_json({"error": fields})


def error_event(problem: Problem) -> bytes:
    """Write the one event that ends a stream which cannot go on; no end mark follows it."""
    return b"data: %b\n\n" % error_body(problem)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model, alias or chain. `created` is in Unix seconds, `context_window` in tokens (None: unknown)."""

    id: str
    created: int
    owned_by: str
    context_window: int | None
    placement: Placement


def model_body(entry: ModelEntry) -> bytes:
    """Write the answer to `GET /v1/models/{id}`."""
    return as_json(_model(entry))


def models_body(entries: Sequence[ModelEntry]) -> bytes:
    """Write the answer to `GET /v1/models`, in the order given."""
    return as_json({"object": "list", "data": [_model(entry) for entry in entries]})


def _model(entry: ModelEntry) -> dict[str, object]:
    return {
        "id": entry.id,
        "object": "model",
        "created": entry.created,
        "owned_by": entry.owned_by,
        "context_window": entry.context_window,
        "placement": entry.placement.value,
    }
