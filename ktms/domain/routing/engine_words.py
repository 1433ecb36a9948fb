"""What engines mean by an error, where neither its status nor a well-known code says it.

Rules: predicates over words, each with the engine whose habit it is; a status is looked at by the caller. Prompts
are quoted in some messages, so a text decides only together with a type or status that fits. Not here: what
follows from it (`outcome.py`).
"""

import re
from typing import Protocol


class Words(Protocol):
    """An error as it was told: a `VendorError`, or what a dialect read."""

    @property
    def code(self) -> str | None:
        """Its code, if it is a word."""
        ...

    @property
    def type(self) -> str | None:
        """Its type."""
        ...

    @property
    def message(self) -> str:
        """Its text."""
        ...

    @property
    def param(self) -> str | None:
        """The member of the request that it is about."""
        ...


def is_loading(error: Words) -> bool:
    """Whether a 503 says that the weights are still being loaded: cold, not broken (N17).

    llama.cpp answers so to everything, its health path included.
    """
    return error.type == "unavailable_error" and _LOADING.search(error.message) is not None


def is_busy(error: Words) -> bool:
    """Whether a 503 (or 429) says that no more is taken now: full or draining, not broken (FN2, FN3).

    Ollama's words for it mean that loads pile up, not that slots are taken; it is no better a choice then.
    """
    if {_lower(error.code), _lower(error.type)} & _BUSY_NAMES:
        return True
    return _BUSY.search(error.message) is not None


def is_too_long(error: Words) -> bool:
    """Whether an error of any status is about a request that no slot of the engine holds.

    llama.cpp has a type for it, with a 500 in older builds. It is not the "Context size has been exceeded." with
    which running generations die of others' prompts: that is the engine's affair (N20).
    """
    return _TOO_LONG_TYPE in {_lower(error.code), _lower(error.type)}


def may_be_too_long(error: Words) -> bool:
    """Whether a 400 or 422 without a code of its own is about the length of the request.

    vLLM has no code, a param for the prompt and swapped texts (vllm#33418); Ollama a text; TGI a type for all it
    does not like, and a text.
    """
    return error.code is None and (error.param == "input_tokens" or _TOO_LONG.search(error.message) is not None)


def is_generation_failed(error: Words) -> bool:
    """Whether the engine failed while it generated: TGI says so with a 424, which is no fault of the request."""
    return _lower(error.type) in _GENERATION_TYPES


_LOADING = re.compile(r"(?i)\bloading\b")
_BUSY_NAMES = frozenset({"busy", "draining", "engine_overloaded", "overloaded", "overloaded_error"})
_BUSY = re.compile(r"(?i)^server busy\b|\bmaximum pending requests exceeded\b|^model is overloaded\b")
_TOO_LONG_TYPE = "exceed_context_size_error"
_TOO_LONG = re.compile(
    r"(?i)\bprompt is longer than the context length\b"  # Ollama, where it does not shorten
    r"|\bexceeds the available context size\b"  # llama.cpp before it had a type
    r"|\bmaximum context length is\b"  # vLLM
    r"|`inputs` must have less than|`max_new_tokens` must be <="  # TGI
)
_GENERATION_TYPES = frozenset({"generation", "incomplete_generation"})


def _lower(name: str | None) -> str:
    return "" if name is None else name.lower()
