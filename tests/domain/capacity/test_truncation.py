"""N24: a prompt that was shortened in silence is noticed, and hardly anything else is taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.capacity.truncation import looks_truncated


@pytest.mark.parametrize(
    ("window", "told", "text_bytes"),
    [
        (4096, 2050, 31_600),  # 7,900 tokens of English
        (4096, 2051, 31_600),
        (None, 2050, 31_600),
        (32_768, 2050, 31_600),  # it was started anew with a smaller window than it is known for
        (8192, 4098, 60_000),
        (12_000, 6002, 80_000),
        (262_144, 131_074, 2_000_000),
        (4096, 2060, 31_600),  # 24 tokens kept
        (4096, 2048, 31_600),  # none kept
    ],
)
def test_n24_half_a_window_against_a_far_longer_prompt_is_a_cut(
    window: int | None, told: int, text_bytes: int
) -> None:
    assert looks_truncated(window=window, told_prompt_tokens=told, least_prompt_tokens=text_bytes // 8)


@pytest.mark.parametrize(
    ("window", "told", "text_bytes"),
    [
        (4096, 2050, 8200),  # English, just so long
        (4096, 2050, 12_000),  # Chinese: three bytes a sign, less than two signs a token
        (4096, 2050, 2600),  # base64: hardly more than a byte a token
        (4096, 2050, 20_000),  # long words of a dense script: near ten bytes a token
        (4096, 900, 100_000),  # spaces without end: many in one token, but no half window
        (4096, 4000, 100_000),
        (4096, 2047, 31_600),
        (4096, 2065, 31_600),
        (None, 1500, 31_600),
        (12_000, 0, 31_600),
        (4096, 0, 0),
    ],
)
def test_n24_a_count_that_another_reason_explains_is_no_cut(
    window: int | None, told: int, text_bytes: int
) -> None:
    assert not looks_truncated(window=window, told_prompt_tokens=told, least_prompt_tokens=text_bytes // 8)


@given(st.integers(64, 1_000_000), st.integers(0, 24), st.integers(1, 1_000_000))
def test_every_cut_of_a_prompt_that_is_long_enough_is_seen(window: int, keep: int, more: int) -> None:
    told = window - (window - keep) // 2

    least = (5 * told + 3) // 4 + more
    assert looks_truncated(window=window, told_prompt_tokens=told, least_prompt_tokens=least)


@given(st.none() | st.integers(1, 1_000_000), st.integers(0, 1_000_000), st.integers(0, 1_000_000))
def test_a_count_that_is_no_less_than_the_least_is_never_a_cut(window: int | None, told: int, less: int) -> None:
    least = max(0, told - less)

    assert not looks_truncated(window=window, told_prompt_tokens=told, least_prompt_tokens=least) or told == 0
