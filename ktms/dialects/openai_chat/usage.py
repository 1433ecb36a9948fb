"""Token counts as OpenAI-type vendors write them, brought into one normal form.

Rules: only whole numbers in a sane range count, everything else is as good as absent; a count that is missing or
senseless is taken from the total where that allows it; where the prompt or the completion cannot be known the
answer has no usage, and the caller estimates. Cumulative usage is the caller's affair: the last one wins.
"""

import msgspec

from ktms.dialects.json import mended
from ktms.domain.conversation.usage import Usage

MAX_TOKENS_COUNTED = 100_000_000
"""More than any window and any answer: a larger number is a vendor's bug, and it would be somebody's money."""


def read_usage(raw: bytes) -> Usage | None:
    """Read a `usage` value (JSON text); None where it is no object or tells nothing sure."""
    try:
        fields = msgspec.json.decode(mended(raw))
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    total = _count(fields.get("total_tokens"))
    prompt = _count(fields.get("prompt_tokens"))
    completion = _count(fields.get("completion_tokens"))
    if completion is None and "completion_tokens" not in fields:
        completion = 0  # embeddings have none
    if prompt is None:
        prompt = _difference(total, completion)
    if completion is None:
        completion = _difference(total, prompt)
    if prompt is None or completion is None:
        return None
    return _normal(fields, prompt, completion, total)


def _normal(fields: dict[str, object], prompt: int, completion: int, total: int | None) -> Usage:
    details = _object(fields.get("prompt_tokens_details"))
    reasoning = _count(_object(fields.get("completion_tokens_details")).get("reasoning_tokens")) or 0
    if reasoning and total == prompt + completion + reasoning:
        completion += reasoning  # xAI counts reasoning beside the completion
    cached = (
        _count(details.get("cached_tokens"))
        or _count(fields.get("prompt_cache_hit_tokens"))  # DeepSeek
        or _count(fields.get("cached_tokens"))  # Moonshot
        or 0
    )
    cached = min(cached, prompt)
    written = _count(details.get("cache_write_tokens")) or 0  # OpenRouter
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached,
        cache_write_tokens=min(written, prompt - cached),
        reasoning_tokens=min(reasoning, completion),
    )


def _count(value: object) -> int | None:
    if type(value) is int and 0 <= value <= MAX_TOKENS_COUNTED:  # a bool is an int for isinstance
        return value
    return None


def _difference(total: int | None, part: int | None) -> int | None:
    if total is None or part is None or total < part:
        return None
    return total - part


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
