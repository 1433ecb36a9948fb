"""The window of an Ollama model that is not in memory: Modelfile, else environment, else memory of the GPUs.

Pure; the doctor tells with it which of them decided. Rules: no model gets more than it was trained for; an
automatic window may still be lowered when the model is loaded, and then `/api/ps` tells.
"""

from dataclasses import dataclass
from enum import StrEnum

GIB = 1 << 30

TIERS = ((23 * GIB, 4096), (47 * GIB, 32_768))
"""Below so much memory of GPUs in all, a call gets so many tokens by default."""

TOP_TIER_TOKENS = 262_144


class DecidedBy(StrEnum):
    """What decided about a window."""

    LOADED = "the model in memory"
    MODELFILE = "num_ctx of the Modelfile"
    ENVIRONMENT = "OLLAMA_CONTEXT_LENGTH"
    GPU_MEMORY = "the memory of the GPUs"
    TRAINED = "what the model was trained for"


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens that a call gets, and why."""

    tokens: int
    decided_by: DecidedBy


@dataclass(frozen=True, slots=True)
class Serving:
    """How `ollama serve` was started. None: not known; 0: it was surely not told."""

    parallel: int | None = None
    context: int | None = None
    gpu_bytes: int | None = None


def window_of(
    *, loaded: int | None, modelfile: int | None, serving: Serving, trained: int | None
) -> Window | None:
    """Decide; None where the first that may decide is not known."""
    if loaded is not None:
        return Window(loaded, DecidedBy.LOADED)
    asked = _asked(modelfile, serving)
    if asked is not None and trained is not None and trained < asked.tokens:
        return Window(trained, DecidedBy.TRAINED)
    return asked


def _asked(modelfile: int | None, serving: Serving) -> Window | None:
    if modelfile is not None:
        return Window(modelfile, DecidedBy.MODELFILE)
    if serving.context is None:
        return None
    if serving.context:
        return Window(serving.context, DecidedBy.ENVIRONMENT)
    if serving.gpu_bytes is None:
        return None
    tokens = next((tokens for below, tokens in TIERS if serving.gpu_bytes < below), TOP_TIER_TOKENS)
    return Window(tokens, DecidedBy.GPU_MEMORY)
