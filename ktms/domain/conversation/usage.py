"""Token counts of one answer, in one normal form for all vendors.

Vendors count cached tokens inside those of the prompt (OpenAI) or beside them (Anthropic); a constructor each
makes the same of both. Not here: the names of counts on the wire (dialects), what they cost (`access/pricing.py`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer: `cached` and `cache_write` are part of `prompt`, `reasoning` is part of `completion`.

    `estimated` marks counts that were derived from bytes because the vendor gave none.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """Prompt and completion together, which is what a limit on tokens counts."""
        return self.prompt_tokens + self.completion_tokens

    def plus(self, other: "Usage") -> "Usage":
        """Add the tokens of another answer; a sum is estimated where a part of it is."""
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.estimated or other.estimated,
        )

    @classmethod
    def cache_inside(
        cls, prompt: int, completion: int, *, cached: int = 0, written: int = 0, reasoning: int = 0
    ) -> "Usage":
        """Take counts whose prompt includes what was cached; a part is never more than its whole."""
        cached = min(cached, prompt)
        return cls(prompt, completion, cached, min(written, prompt - cached), min(reasoning, completion))

    @classmethod
    def cache_beside(
        cls, fresh: int, completion: int, *, cached: int = 0, written: int = 0, reasoning: int = 0
    ) -> "Usage":
        """Take counts whose prompt is only what was neither read from the cache nor written to it."""
        prompt = fresh + cached + written
        return cls.cache_inside(prompt, completion, cached=cached, written=written, reasoning=reasoning)


NO_USAGE = Usage()
