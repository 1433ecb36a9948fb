"""llama.cpp's `timings`: how long it read and wrote, by its own clock.

Rules: all four numbers or none; what cannot be (negative, beyond a day, tokens in no time) is as good as absent,
for a speed would be made of it. `cache_n` is not asked: `prompt_n` is what was read anew.
"""

from ktms.dialects.json import BadJson, parsed
from ktms.dialects.openai_chat.usage import MAX_TOKENS_COUNTED
from ktms.domain.capacity.speed import EngineTimings

MAX_MS = 86_400_000.0
"""A day: no answer takes as long."""


def read_timings(raw: bytes) -> EngineTimings | None:
    """Read a `timings` value (JSON text); None where it is no object or holds something that cannot be."""
    try:
        fields = parsed(raw)
    except BadJson:
        return None
    if not isinstance(fields, dict):
        return None
    read = _part(fields.get("prompt_n"), fields.get("prompt_ms"))
    written = _part(fields.get("predicted_n"), fields.get("predicted_ms"))
    return None if read is None or written is None else EngineTimings(*read, *written)


def _part(tokens: object, ms: object) -> tuple[int, float] | None:
    if type(tokens) is not int or not 0 <= tokens <= MAX_TOKENS_COUNTED:  # a bool is an int for isinstance
        return None
    if type(ms) is not int and type(ms) is not float:
        return None
    if not 0 <= ms <= MAX_MS or (tokens > 0 and ms == 0):
        return None
    return tokens, float(ms)
