"""Whether an engine shortened a prompt in silence: its own count against the least that the prompt can be.

Ollama cuts a prompt beyond its window to `ctx - (ctx - keep) / 2` tokens, where `keep` is a handful (4096 gives
2050), and answers as if nothing had happened (N24). Nothing else tells of it. A wrong alarm costs a node its
window and a call its place, a missed one only what happens without this: so both signs are asked for.
"""

KEPT_MAX_TOKENS = 32
"""Tokens kept from the front at most: 4 by default, 24 in widespread model files, and the text's opening mark."""

USUAL_WINDOWS_TOKENS = (2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144)
"""What engines have where nobody chose: a node that was started anew may have another window than is known."""


def looks_truncated(*, window: int | None, told_prompt_tokens: int, least_prompt_tokens: int) -> bool:
    """Whether fewer tokens were counted than the prompt has, and as many as a cut in half leaves.

    `least_prompt_tokens` is a lower bound (an eighth of the text's bytes), but dense scripts and long runs of one
    letter come near it or below: the count must be beyond it by a quarter.
    """
    if 4 * least_prompt_tokens < 5 * told_prompt_tokens:
        return False
    windows = USUAL_WINDOWS_TOKENS if window is None else (window, *USUAL_WINDOWS_TOKENS)
    return any(0 <= told_prompt_tokens - one // 2 <= KEPT_MAX_TOKENS // 2 for one in windows)
