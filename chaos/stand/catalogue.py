"""The `gateway.yaml` of a stand: two engines of ours in front, two vendors behind them, one model on all four.

JSON is YAML. Client keys are made by commands, so that their tokens are the product's. Not here: its environment.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from chaos.services.service import Address
from chaos.stand.settings import MODEL, VENDOR_MODEL, WINDOW_TOKENS, StandSettings

PRICES_USD = {"input": "0.50", "output": "2.00"}
"""Per million tokens, the same at each vendor."""


def vendor_key(cloud: str, nth: int = 0) -> str:
    """Give one of the credentials that a vendor has handed out."""
    return f"sk-chaos-credential-of-{cloud}" + (f"-{nth}" if nth else "")


def catalogue(settings: StandSettings, at: Mapping[str, Address]) -> dict[str, object]:
    """Declare all of it; `at` is where each target is to be reached."""
    return {
        "version": 1,
        "vendors": [_vendor(name, at[name], settings) for name in settings.clouds],
        "nodes": [_node(name, at[name], settings) for name in settings.nodes if name not in settings.agents],
        "models": [
            {
                "name": MODEL,
                "queue_timeout_ms": settings.queue_timeout_ms,
                "targets": [
                    {"vendor": vendor, "model": VENDOR_MODEL}
                    for vendor in (*(("local",) if settings.nodes else ()), *settings.clouds)
                ],
            }
        ],
        "prices": [{"vendor": name, "model": VENDOR_MODEL, **PRICES_USD} for name in settings.clouds],
        "policy": {"placement": "nodes_first", "retry": {"attempts_max": settings.attempts_max}},
    }


def write_catalogue(path: Path, declared: Mapping[str, object]) -> Path:
    """Write it as a file."""
    path.write_text(json.dumps(declared, indent=1))
    return path


def _vendor(name: str, at: Address, settings: StandSettings) -> dict[str, object]:
    timeouts = {
        "connect_s": settings.connect_timeout_s,
        "first_token_s": settings.first_token_timeout_s,
        "idle_s": settings.idle_timeout_s,
        "total_s": settings.total_timeout_s,
    }
    return {
        "name": name,
        "kind": "openai",
        "base_url": f"http://{at}/v1",
        "keys": [{"value": vendor_key(name, nth)} for nth in range(settings.keys_of(name))],
        "timeouts": timeouts,
        "private": True,
    }


def _node(name: str, at: Address, settings: StandSettings) -> dict[str, object]:
    models = [{"name": VENDOR_MODEL, "context_window": WINDOW_TOKENS}]
    return {"name": name, "url": f"http://{at}", "engine": "vllm", "slots": settings.slots, "models": models}
