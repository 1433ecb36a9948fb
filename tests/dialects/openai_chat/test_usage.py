"""Usage in one normal form, whatever a vendor writes."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktms.dialects.openai_chat.usage import MAX_TOKENS_COUNTED, read_usage
from ktms.domain.conversation.usage import Usage


def usage(**fields: object) -> Usage | None:
    return read_usage(json.dumps(fields).encode())


def test_all_the_details_are_read() -> None:
    assert usage(
        prompt_tokens=1000,
        completion_tokens=12,
        total_tokens=1012,
        prompt_tokens_details={"cached_tokens": 900, "cache_write_tokens": 50},
        completion_tokens_details={"reasoning_tokens": 7},
    ) == Usage(1000, 12, cached_tokens=900, cache_write_tokens=50, reasoning_tokens=7)


def test_embeddings_have_no_completion() -> None:
    assert usage(prompt_tokens=5, total_tokens=5) == Usage(prompt_tokens=5)


@pytest.mark.parametrize("fields", [{"prompt_cache_hit_tokens": 4}, {"cached_tokens": 4}])
def test_other_spellings_of_cached_tokens_are_known(fields: dict[str, int]) -> None:
    assert usage(prompt_tokens=5, completion_tokens=1, **fields) == Usage(5, 1, cached_tokens=4)


def test_reasoning_beside_the_completion_is_put_into_it() -> None:
    details = {"reasoning_tokens": 30}
    assert usage(
        prompt_tokens=10, completion_tokens=5, total_tokens=45, completion_tokens_details=details
    ) == Usage(10, 35, reasoning_tokens=30)


@pytest.mark.parametrize("bad", [-1, 1.5, True, "7", None, MAX_TOKENS_COUNTED + 1, 10**30, [], {}])
def test_a_senseless_count_is_ignored(bad: object) -> None:
    assert usage(prompt_tokens=bad, completion_tokens=3) is None
    assert usage(prompt_tokens=3, completion_tokens=bad) is None
    assert usage(prompt_tokens=bad, completion_tokens=3, total_tokens=10) == Usage(7, 3)
    assert usage(prompt_tokens=7, completion_tokens=bad, total_tokens=10) == Usage(7, 3)
    assert usage(prompt_tokens=7, completion_tokens=bad, total_tokens=5) is None
    assert usage(prompt_tokens=7, completion_tokens=3, total_tokens=bad) == Usage(7, 3)
    assert usage(prompt_tokens=7, completion_tokens=3, prompt_tokens_details={"cached_tokens": bad}) == Usage(7, 3)
    assert usage(prompt_tokens=7, completion_tokens=3, prompt_tokens_details=bad) == Usage(7, 3)


def test_parts_are_never_more_than_the_whole() -> None:
    assert usage(
        prompt_tokens=7,
        completion_tokens=3,
        prompt_tokens_details={"cached_tokens": 9, "cache_write_tokens": 9},
        completion_tokens_details={"reasoning_tokens": 9},
    ) == Usage(7, 3, cached_tokens=7, cache_write_tokens=0, reasoning_tokens=3)


COUNTED = b'{"prompt_tokens":7,"completion_tokens":3,"extra":%b}'


@pytest.mark.parametrize(
    "raw",
    [b"null", b"[]", b"7", b'"x"', b"{", b"{}", b"[" * 5000, COUNTED % b"1e999", COUNTED % b'"\xff"'],
    ids=lambda raw: repr(raw[:70]),
)
def test_what_is_no_usage_gives_none(raw: bytes) -> None:
    assert read_usage(raw) is None


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens"]),
        st.integers(-5, 10**12) | st.floats() | st.none() | st.text(max_size=3) | st.booleans(),
    )
)
def test_counts_are_whole_and_in_range_or_there_are_none(fields: dict[str, object]) -> None:
    read = usage(**fields)
    if read is not None:
        assert 0 <= read.prompt_tokens <= MAX_TOKENS_COUNTED
        assert 0 <= read.completion_tokens <= MAX_TOKENS_COUNTED
        assert read.cached_tokens <= read.prompt_tokens
