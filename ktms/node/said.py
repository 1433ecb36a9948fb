"""What an agent says about its node, as the gateway reads it (`PUT /node/v1/announce`).

Pure. Nothing is said before the engine was seen, or while nobody knows where the node is to be reached: a node
that cannot be dialled only costs calls. Not here: when it is said (`announcer.py`).
"""

from dataclasses import dataclass

from ktms.domain.announcement import VERSION_LENGTH_MAX
from ktms.domain.catalogue import ANY_CERTIFICATE, EngineKind
from ktms.node.filter.own_models import own_models
from ktms.node.settings import NodeSettings, Tls
from ktms.node.state import NodeState


@dataclass(frozen=True, slots=True)
class Place:
    """Where the node is reached. `certificate`: SHA-256 in hex of the one that the filter shows."""

    url: str
    certificate: str | None = None


def said_of(
    settings: NodeSettings, state: NodeState, place: Place | None, epoch_ms: int
) -> dict[str, object] | None:
    """Give the members of an announcement; None while there is nothing to say."""
    engine = state.engine
    if place is None or (not engine.models and not engine.answers):
        return None
    slots = settings.slots or engine.slots or 1
    models = [
        {"name": model.name, "context_window": model.context_window, "loaded": model.loaded}
        for model in own_models(engine, settings.models)
    ]
    said: dict[str, object] = {
        "url": place.url,
        "token": settings.node_token.reveal(),
        "engine": EngineKind.AGENT.value,
        "engine_version": f"{engine.kind.value} {engine.version or '?'}"[:VERSION_LENGTH_MAX],
        "epoch": epoch_ms,
        "draining": state.leaving or state.draining,
        "slots": slots,
        "models": models,
    }
    certificate = _certificate(settings.tls, place)
    return said if certificate is None else said | {"certificate": certificate}


def _certificate(tls: Tls, place: Place) -> str | None:
    if not place.url.startswith("https:"):
        return None
    return ANY_CERTIFICATE if tls is Tls.INSECURE else place.certificate
