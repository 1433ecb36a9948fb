"""What the tests of this folder declare in their `gateway.yaml`."""

import json
from pathlib import Path

from ktms.domain.access.key_form import KeyKind, make_key
from tests.e2e.engine.llama_process import LlamaServer
from tests.world.events import VENDOR_MODEL

APP_KEY = make_key(KeyKind.CLIENT, lambda count: bytes(range(count)))
NARROW_KEY = make_key(KeyKind.CLIENT, lambda count: bytes(range(1, count + 1)))
"""Client keys of the right form, the same in every run; the second may use CLOUD alone."""

HOUSE = "house"
"""The model on llama.cpp, then in the cloud."""

ALIAS = "default"
EMBEDDER = "house-embed"
CLOUD = "cloud-only-model"
FRAGILE = "fragile"
"""On a node of its own, which a test may break; then in the cloud."""

VENDOR_KEY = "sk-vendor-credential-of-the-tests"


def write_gateway(path: Path, **parts: object) -> Path:
    """Write a `gateway.yaml` (JSON is YAML)."""
    path.write_text(json.dumps({"version": 1, **parts}, indent=1))
    return path


def vendor(url: str) -> dict[str, object]:
    """Declare the mock as a private OpenAI-compatible vendor."""
    keys = [{"value": VENDOR_KEY}]
    return {"name": "cloud", "kind": "openai", "base_url": url, "keys": keys, "private": True}


def node(name: str, engine: LlamaServer) -> dict[str, object]:
    """Declare a llama.cpp as a bare engine."""
    models = [{"name": engine.model, "context_window": engine.slot_context_tokens}]
    return {"name": name, "url": engine.url, "engine": "llamacpp", "slots": engine.slots, "models": models}


def model(name: str, *targets: tuple[str, str], aliases: tuple[str, ...] = ()) -> dict[str, object]:
    """Declare a model; a target is vendor and model there."""
    listed = [{"vendor": vendor, "model": model} for vendor, model in targets]
    return {"name": name, "targets": listed, "aliases": list(aliases)}


def cloud_model(name: str = CLOUD) -> dict[str, object]:
    """Declare a model of the mock."""
    return model(name, ("cloud", VENDOR_MODEL))


def client_key(name: str, token: str, models: list[str] | None = None) -> dict[str, object]:
    """Declare a client key."""
    return {"name": name, "secret": {"value": token}, "models": models}
