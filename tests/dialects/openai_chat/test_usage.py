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


def test_the_names_of_the_responses_api_are_known() -> None:
    assert usage(
        input_tokens=1000,
        output_tokens=12,
        total_tokens=1012,
        input_tokens_details={"cached_tokens": 900},
        output_tokens_details={"reasoning_tokens": 7},
    ) == Usage(1000, 12, cached_tokens=900, reasoning_tokens=7)


def test_anthropics_cached_tokens_come_on_top_of_its_input() -> None:
    assert usage(
        input_tokens=50, output_tokens=12, cache_read_input_tokens=900, cache_creation_input_tokens=50
    ) == Usage(1000, 12, cached_tokens=900, cache_write_tokens=50)


@pytest.mark.parametrize(
    ("name", "counted"),
    [
        ("cache_read_input_tokens", Usage(70, 12, cached_tokens=20)),
        ("cache_creation_input_tokens", Usage(70, 12, cache_write_tokens=20)),
    ],
)
def test_reading_from_its_cache_or_writing_to_it_alone_comes_on_top_too(name: str, counted: Usage) -> None:
    assert usage(input_tokens=50, output_tokens=12, **{name: 20}) == counted


def test_input_and_output_alone_are_prompt_and_completion() -> None:
    assert usage(input_tokens=50, output_tokens=12) == Usage(50, 12)


def test_a_vendor_that_tells_input_of_both_families_counts_the_cache_inside() -> None:
    assert usage(
        input_tokens=1000, output_tokens=1, input_tokens_details={}, cache_read_input_tokens=900
    ) == Usage(1000, 1, cached_tokens=900)


@pytest.mark.parametrize("total", [{"total_tokens": 1012}, {}])
def test_anthropics_cache_under_chats_names_is_part_of_the_prompt(total: dict[str, int]) -> None:
    assert usage(prompt_tokens=1000, completion_tokens=12, cache_read_input_tokens=900, **total) == Usage(
        1000, 12, cached_tokens=900
    )


@pytest.mark.parametrize("total", [{"total_tokens": 1012}, {}])
def test_it_comes_on_top_where_the_total_says_so_or_it_is_more_than_the_prompt(total: dict[str, int]) -> None:
    cache = {"cache_read_input_tokens": 850, "cache_creation_input_tokens": 50}
    assert usage(prompt_tokens=100, completion_tokens=12, **cache, **total) == Usage(
        1000, 12, cached_tokens=850, cache_write_tokens=50
    )


def test_a_total_tells_on_which_side_a_small_cache_is() -> None:
    cache = {"cache_read_input_tokens": 200}
    inside, beside = Usage(1000, 12, cached_tokens=200), Usage(1200, 12, cached_tokens=200)
    assert usage(prompt_tokens=1000, completion_tokens=12, total_tokens=1012, **cache) == inside
    assert usage(prompt_tokens=1000, completion_tokens=12, total_tokens=1212, **cache) == beside


def test_a_prompt_that_was_cached_to_the_last_token_is_no_more_than_that() -> None:
    cached = usage(prompt_tokens=100, completion_tokens=12, cache_read_input_tokens=100)
    assert cached == Usage(100, 12, cached_tokens=100)


def test_the_details_of_chat_win_over_anthropics_names_beside_them() -> None:
    assert usage(
        prompt_tokens=1000,
        completion_tokens=12,
        prompt_tokens_details={"cached_tokens": 900, "cache_write_tokens": 10},
        cache_read_input_tokens=700,
        cache_creation_input_tokens=70,
    ) == Usage(1000, 12, cached_tokens=900, cache_write_tokens=10)


def test_where_both_families_are_named_that_of_chat_counts() -> None:
    assert usage(prompt_tokens=5, completion_tokens=1, input_tokens=7, output_tokens=9) == Usage(5, 1)


@pytest.mark.parametrize("bad", [-1, 1.5, 7.0, True, "7", None, 2**53 + 1, [], {}])
def test_a_senseless_count_of_any_family_is_ignored(bad: object) -> None:
    assert usage(input_tokens=bad, output_tokens=3) is None
    assert usage(input_tokens=7, output_tokens=bad) is None
    assert usage(input_tokens=7, output_tokens=3, cache_read_input_tokens=bad) == Usage(7, 3)
    assert usage(input_tokens=7, output_tokens=3, cache_creation_input_tokens=bad) == Usage(7, 3)
    assert usage(input_tokens=7, output_tokens=3, output_tokens_details={"reasoning_tokens": bad}) == Usage(7, 3)


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


NAMES = (
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cached_tokens",
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(NAMES),
        st.integers(-5, 10**12) | st.floats() | st.none() | st.text(max_size=3) | st.booleans(),
    )
)
def test_counts_are_whole_and_in_range_or_there_are_none(fields: dict[str, object]) -> None:
    read = usage(**fields)
    if read is not None:
        assert 0 <= read.prompt_tokens <= 3 * MAX_TOKENS_COUNTED  # fresh, read from the cache and written to it
        assert 0 <= read.completion_tokens <= MAX_TOKENS_COUNTED
        assert 0 <= read.cached_tokens + read.cache_write_tokens <= read.prompt_tokens
