"""Token counts of one answer, in one normal form for all vendors."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer: `cached` is part of `prompt`, `reasoning` is part of `completion`.

    `estimated` marks counts that were derived from bytes because the vendor gave none.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False


NO_USAGE = Usage()
