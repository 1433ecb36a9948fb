"""Token counts as vendors of OpenAI's dialect write them, brought into one normal form.

Three families are met behind one dialect: chat's own names, those of the Responses API, and Anthropic's, which
count cached tokens beside the prompt instead of inside. Rules: only whole numbers in a sane range count, all else
is as good as absent; a count that is missing or senseless is taken from the total where that allows it; where the
prompt or the completion cannot be known the answer has no usage, and the caller estimates. Cumulative usage is the
caller's affair: the last one wins.
"""

from dataclasses import dataclass

import msgspec

from ktms.dialects.json import mended
from ktms.domain.conversation.usage import Usage

MAX_TOKENS_COUNTED = 100_000_000
"""More than any window and any answer: a larger number is a vendor's bug, and it would be somebody's money."""

Fields = dict[str, object]


@dataclass(frozen=True, slots=True)
class _Family:
    """How one family names prompt and completion, and the objects with their parts."""

    prompt: str
    completion: str
    prompt_details: str
    completion_details: str


_CHAT = _Family("prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details")
_RESPONSES = _Family("input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details")

_READ_BESIDE = "cache_read_input_tokens"
_WRITTEN_BESIDE = "cache_creation_input_tokens"


def read_usage(raw: bytes) -> Usage | None:
    """Read a `usage` value (JSON text); None where it is no object or tells nothing sure."""
    try:
        fields = msgspec.json.decode(mended(raw))
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    family = _CHAT if _CHAT.prompt in fields or _CHAT.completion in fields else _RESPONSES
    total = _count(fields.get("total_tokens"))
    prompt = _count(fields.get(family.prompt))
    completion = _count(fields.get(family.completion))
    if completion is None and family.completion not in fields:
        completion = 0  # embeddings have none
    if prompt is None:
        prompt = _difference(total, completion)
    if completion is None:
        completion = _difference(total, prompt)
    if prompt is None or completion is None:
        return None
    return _normal(fields, family, prompt, completion, total)


def _normal(fields: Fields, family: _Family, prompt: int, completion: int, total: int | None) -> Usage:
    details = _object(fields.get(family.prompt_details))
    reasoning = _count(_object(fields.get(family.completion_details)).get("reasoning_tokens")) or 0
    if reasoning and total == prompt + completion + reasoning:
        completion += reasoning  # xAI counts reasoning beside the completion
    read, made = _count(fields.get(_READ_BESIDE)) or 0, _count(fields.get(_WRITTEN_BESIDE)) or 0
    if (read or made) and _counts_beside(fields, family, prompt, completion, total, read + made):
        return Usage.cache_beside(prompt, completion, cached=read, written=made, reasoning=reasoning)
    cached = (
        _count(details.get("cached_tokens"))
        or _count(fields.get("prompt_cache_hit_tokens"))  # DeepSeek
        or _count(fields.get("cached_tokens"))  # Moonshot
        or read
    )
    written = _count(details.get("cache_write_tokens")) or made  # OpenRouter
    return Usage.cache_inside(prompt, completion, cached=cached, written=written, reasoning=reasoning)


def _counts_beside(
    fields: Fields, family: _Family, prompt: int, completion: int, total: int | None, beside: int
) -> bool:
    """Whether Anthropic's cache counts come on top of the prompt.

    With Anthropic's own names they do. Where somebody translated them to chat's, the total tells; without one only
    a cache larger than the prompt does.
    """
    if family is _RESPONSES:
        return family.prompt_details not in fields
    return beside > prompt or total == prompt + completion + beside


def _count(value: object) -> int | None:
    if type(value) is int and 0 <= value <= MAX_TOKENS_COUNTED:  # a bool is an int for isinstance
        return value
    return None


def _difference(total: int | None, part: int | None) -> int | None:
    if total is None or part is None or total < part:
        return None
    return total - part


def _object(value: object) -> Fields:
    return value if isinstance(value, dict) else {}
